//! Gemini generateContent.
use super::super::script::{ARGUMENTS, FOUND, SYSTEM, Said, TOOL, TOOL_DESCRIPTION};
use super::{MODEL, stream, tool_schema};
use crate::context::{Answer, Call};
use bytes::Bytes;
use serde_json::{Value, json};

pub(super) fn body(history: &[Said]) -> Value {
    let function = json!({ "name": TOOL, "description": TOOL_DESCRIPTION, "parametersJsonSchema": tool_schema() });
    json!({
        "systemInstruction": { "parts": [{ "text": SYSTEM }] },
        "contents": history.iter().map(content).collect::<Vec<_>>(),
        "tools": [{ "functionDeclarations": [function] }],
    })
}

fn content(said: &Said) -> Value {
    match said {
        Said::User(text) => json!({ "role": "user", "parts": [{ "text": text }] }),
        Said::Model(answer) => json!({ "role": "model", "parts": parts(answer) }),
        Said::Tool(id) => {
            let mut response = json!({ "name": TOOL, "response": { "output": FOUND } });
            if !id.is_empty() {
                response["id"] = id.as_str().into();
            }
            json!({ "role": "user", "parts": [{ "functionResponse": response }] })
        }
    }
}

fn parts(answer: &Answer) -> Vec<Value> {
    let text = Some(&answer.text).filter(|text| !text.is_empty()).map(|text| json!({ "text": text }));
    let call = |call: &Call| json!({ "functionCall": { "id": call.id, "name": call.name, "args": call.input } });
    text.into_iter().chain(answer.calls.iter().map(call)).collect()
}

pub(super) fn call() -> Bytes {
    let arguments: Value = serde_json::from_str(ARGUMENTS).unwrap_or_default();
    let call = json!({ "functionCall": { "id": "call_demo1", "name": TOOL, "args": arguments } });
    stream([json!({
        "candidates": [{ "content": { "role": "model", "parts": [call] }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 40, "candidatesTokenCount": 12, "totalTokenCount": 52 },
        "modelVersion": MODEL,
        "responseId": "demo1",
    })])
}
