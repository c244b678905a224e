//! Anthropic Messages.
use super::super::script::{ARGUMENTS, FOUND, SYSTEM, Said, TOOL, TOOL_DESCRIPTION};
use super::{MODEL, named_stream, tool_schema};
use crate::context::{Answer, Call};
use bytes::Bytes;
use serde_json::{Value, json};

pub(super) fn body(history: &[Said]) -> Value {
    json!({
        "model": MODEL,
        "max_tokens": 1024,
        "system": SYSTEM,
        "tools": [{ "name": TOOL, "description": TOOL_DESCRIPTION, "input_schema": tool_schema() }],
        "messages": history.iter().map(message).collect::<Vec<_>>(),
        "stream": true,
    })
}

fn message(said: &Said) -> Value {
    match said {
        Said::User(text) => json!({ "role": "user", "content": text }),
        Said::Model(answer) => json!({ "role": "assistant", "content": blocks(answer) }),
        Said::Tool(id) => json!({
            "role": "user",
            "content": [{ "type": "tool_result", "tool_use_id": id, "content": FOUND }],
        }),
    }
}

fn blocks(answer: &Answer) -> Vec<Value> {
    let text = Some(&answer.text).filter(|text| !text.is_empty()).map(|text| json!({ "type": "text", "text": text }));
    let call = |call: &Call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.input });
    text.into_iter().chain(answer.calls.iter().map(call)).collect()
}

pub(super) fn call() -> Bytes {
    let message = json!({
        "id": "msg_demo1", "type": "message", "role": "assistant", "model": MODEL, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 40, "output_tokens": 1 },
    });
    let block = json!({ "type": "tool_use", "id": "toolu_demo1", "name": TOOL, "input": {} });
    let arguments = json!({ "type": "input_json_delta", "partial_json": ARGUMENTS });
    let end = json!({ "stop_reason": "tool_use", "stop_sequence": null });
    named_stream([
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": arguments }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 12 } }),
        json!({ "type": "message_stop" }),
    ])
}
