//! Writes what the gateway says itself: a whole reply, and errors. The order of events is what the Python SDK's stream
//! helper enforces (`lib/streaming/responses/_responses.py`).
use crate::dialect::openai::error;
use crate::dialect::{AnswerForm, Reply, WireError, frame};
use bytes::Bytes;
use serde_json::{Value, json};

/// A complete response with one assistant message.
pub(super) fn reply(reply: &Reply, form: AnswerForm) -> Bytes {
    match form {
        AnswerForm::Sse => stream(reply),
        AnswerForm::Json | AnswerForm::JsonArray => completed(reply).to_string().into(),
    }
}

fn stream(reply: &Reply) -> Bytes {
    let mut stream = Stream::default();
    let id = message_id(reply);
    let begun = response(reply, "in_progress", json!([]), Value::Null);
    stream.event("response.created", json!({"response": begun}));
    stream.event("response.in_progress", json!({"response": begun}));
    let item = json!({"id": id, "type": "message", "role": "assistant", "status": "in_progress", "content": []});
    stream.event("response.output_item.added", json!({"output_index": 0, "item": item}));
    let place = |extra: Value| {
        let mut fields = json!({"item_id": id, "output_index": 0, "content_index": 0});
        merge(&mut fields, extra);
        fields
    };
    stream.event("response.content_part.added", place(json!({"part": part("")})));
    stream.event("response.output_text.delta", place(json!({"delta": reply.text, "logprobs": []})));
    stream.event("response.output_text.done", place(json!({"text": reply.text, "logprobs": []})));
    stream.event("response.content_part.done", place(json!({"part": part(&reply.text)})));
    stream.event("response.output_item.done", json!({"output_index": 0, "item": message(reply)}));
    stream.event("response.completed", json!({"response": completed(reply)}));
    stream.frames.into()
}

/// Frames whose sequence numbers run on from zero.
#[derive(Default)]
struct Stream {
    frames: String,
    sequence_number: u64,
}

impl Stream {
    fn event(&mut self, kind: &str, fields: Value) {
        let mut data = json!({"type": kind});
        merge(&mut data, fields);
        merge(&mut data, json!({"sequence_number": self.sequence_number}));
        self.frames += &frame::event(Some(kind), &data.to_string());
        self.sequence_number += 1;
    }
}

fn merge(into: &mut Value, fields: Value) {
    if let (Value::Object(into), Value::Object(fields)) = (into, fields) {
        into.extend(fields);
    }
}

fn message_id(reply: &Reply) -> String {
    format!("msg_{}", reply.id)
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn message(reply: &Reply) -> Value {
    json!({
        "id": message_id(reply), "type": "message", "role": "assistant", "status": "completed",
        "content": [part(&reply.text)],
    })
}

fn completed(reply: &Reply) -> Value {
    // No model was asked, so nothing was used.
    let usage = json!({
        "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
    });
    response(reply, "completed", json!([message(reply)]), usage)
}

/// The members that SDKs' types require. `store` is false: the provider does not know this response.
fn response(reply: &Reply, status: &str, output: Value, usage: Value) -> Value {
    json!({
        "id": format!("resp_{}", reply.id), "object": "response", "created_at": reply.created, "status": status,
        "background": false, "error": null, "incomplete_details": null, "instructions": null,
        "max_output_tokens": null, "metadata": {}, "model": reply.model, "output": output,
        "parallel_tool_calls": true, "previous_response_id": null, "reasoning": {"effort": null, "summary": null},
        "store": false, "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [],
        "top_p": 1.0, "truncation": "disabled", "usage": usage, "user": null,
    })
}

/// The end of a stream that can't go on: an `error` event in both known shapes at once. SDKs raise on the nested one, the
/// documented one is flat. What the last number was is not known here; a gap does no harm, a missing number does.
pub(super) fn stream_error(wire: &WireError, form: AnswerForm, open: bool) -> Bytes {
    if form != AnswerForm::Sse {
        return error::body(wire);
    }
    let data = json!({
        "type": "error", "code": error::code(wire), "message": wire.message, "param": null,
        "error": error::object(wire), "sequence_number": 0,
    });
    let end_of_open_frame = if open { "\n\n" } else { "" };
    format!("{end_of_open_frame}{}", frame::event(Some("error"), &data.to_string())).into()
}
