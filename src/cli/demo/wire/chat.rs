//! OpenAI Chat Completions.
use super::super::script::{ARGUMENTS, FOUND, SYSTEM, Said, TOOL, TOOL_DESCRIPTION};
use super::{MODEL, stream, tool_schema};
use crate::context::Call;
use bytes::Bytes;
use serde_json::{Value, json};

pub(super) fn body(history: &[Said]) -> Value {
    let function = json!({ "name": TOOL, "description": TOOL_DESCRIPTION, "parameters": tool_schema() });
    let system = json!({ "role": "system", "content": SYSTEM });
    json!({
        "model": MODEL,
        "messages": std::iter::once(system).chain(history.iter().map(message)).collect::<Vec<_>>(),
        "tools": [{ "type": "function", "function": function }],
        "stream": true,
    })
}

fn message(said: &Said) -> Value {
    match said {
        Said::User(text) => json!({ "role": "user", "content": text }),
        Said::Model(answer) if answer.calls.is_empty() => json!({ "role": "assistant", "content": answer.text }),
        Said::Model(answer) => {
            let call = |call: &Call| {
                let function = json!({ "name": call.name, "arguments": call.input.get() });
                json!({ "id": call.id, "type": "function", "function": function })
            };
            let calls: Vec<_> = answer.calls.iter().map(call).collect();
            json!({ "role": "assistant", "content": null, "tool_calls": calls })
        }
        Said::Tool(id) => json!({ "role": "tool", "tool_call_id": id, "content": FOUND }),
    }
}

pub(super) fn call() -> Bytes {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": "chatcmpl-demo1", "object": "chat.completion.chunk", "created": 0, "model": MODEL,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        })
    };
    let function = json!({ "name": TOOL, "arguments": ARGUMENTS });
    let call = json!({ "index": 0, "id": "call_demo1", "type": "function", "function": function });
    let chunks = stream([
        chunk(json!({ "role": "assistant", "content": null, "tool_calls": [call] }), None),
        chunk(json!({}), Some("tool_calls")),
    ]);
    [&chunks[..], b"data: [DONE]\n\n"].concat().into()
}
