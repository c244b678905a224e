//! OpenAI Responses.
use super::super::script::{ARGUMENTS, FOUND, SYSTEM, Said, TOOL, TOOL_DESCRIPTION};
use super::{MODEL, named_stream, tool_schema};
use crate::context::{Answer, Call};
use bytes::Bytes;
use serde_json::{Value, json};

pub(super) fn body(history: &[Said]) -> Value {
    json!({
        "model": MODEL,
        "instructions": SYSTEM,
        "input": history.iter().flat_map(items).collect::<Vec<_>>(),
        "tools": [{
            "type": "function", "name": TOOL, "description": TOOL_DESCRIPTION, "parameters": tool_schema(),
        }],
        "store": false,
        "stream": true,
    })
}

fn items(said: &Said) -> Vec<Value> {
    match said {
        Said::User(text) => vec![json!({ "type": "message", "role": "user", "content": text })],
        Said::Model(answer) => output(answer),
        Said::Tool(id) => vec![json!({ "type": "function_call_output", "call_id": id, "output": FOUND })],
    }
}

fn output(answer: &Answer) -> Vec<Value> {
    let text = Some(&answer.text).filter(|text| !text.is_empty()).map(
        |text| json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] }),
    );
    let call = |call: &Call| json!({ "type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.input.get() });
    text.into_iter().chain(answer.calls.iter().map(call)).collect()
}

pub(super) fn call() -> Bytes {
    let response = |status: &str, output: Vec<Value>| {
        json!({
            "id": "resp_demo1", "object": "response", "created_at": 0, "model": MODEL, "status": status,
            "output": output, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
        })
    };
    let item = |status: &str, arguments: &str| {
        json!({
            "id": "fc_demo1", "type": "function_call", "call_id": "call_demo1", "name": TOOL, "arguments": arguments,
            "status": status,
        })
    };
    let done = item("completed", ARGUMENTS);
    let events = [
        json!({ "type": "response.created", "response": response("in_progress", vec![]) }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("in_progress", "") }),
        json!({
            "type": "response.function_call_arguments.delta", "item_id": "fc_demo1", "output_index": 0,
            "delta": ARGUMENTS,
        }),
        json!({
            "type": "response.function_call_arguments.done", "item_id": "fc_demo1", "output_index": 0,
            "arguments": ARGUMENTS,
        }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": done }),
        json!({ "type": "response.completed", "response": response("completed", vec![done.clone()]) }),
    ];
    named_stream((0..).zip(events).map(|(number, mut event)| {
        event["sequence_number"] = Value::from(number);
        event
    }))
}
