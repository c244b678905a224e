//! Writes what the gateway says itself: a whole reply, and errors.
use crate::dialect::frame;
use crate::dialect::openai::error;
use crate::dialect::{AnswerForm, Reply, WireError};
use bytes::Bytes;
use serde_json::{Value, json};

/// A complete assistant message.
pub(super) fn reply(reply: &Reply, form: AnswerForm) -> Bytes {
    match form {
        AnswerForm::Sse => stream(reply),
        AnswerForm::Json | AnswerForm::JsonArray => json!({
            "id": id(reply), "object": "chat.completion", "created": reply.created, "model": reply.model,
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": reply.text, "refusal": null},
                "logprobs": null,
                "finish_reason": "stop",
            }],
            // No model was asked, so nothing was used.
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        })
        .to_string()
        .into(),
    }
}

fn stream(reply: &Reply) -> Bytes {
    let role = json!({"role": "assistant", "content": "", "refusal": null});
    let chunks = [
        chunk(reply, role, Value::Null),
        chunk(reply, json!({"content": reply.text}), Value::Null),
        chunk(reply, json!({}), json!("stop")),
    ];
    let frames: String = chunks.iter().map(|chunk| frame::event(None, &chunk.to_string())).collect();
    (frames + &frame::event(None, "[DONE]")).into()
}

fn chunk(reply: &Reply, delta: Value, finish_reason: Value) -> Value {
    json!({
        "id": id(reply), "object": "chat.completion.chunk", "created": reply.created, "model": reply.model,
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason}],
    })
}

fn id(reply: &Reply) -> String {
    format!("chatcmpl-{}", reply.id)
}

/// The end of a stream that can't go on: an error chunk, and no `[DONE]`, which would make it a normal end.
pub(super) fn stream_error(wire: &WireError, form: AnswerForm, open: bool) -> Bytes {
    match form {
        AnswerForm::Sse => {
            let end_of_open_frame = if open { "\n\n" } else { "" };
            let error = json!({"error": error::object(wire)}).to_string();
            format!("{end_of_open_frame}{}", frame::event(None, &error)).into()
        }
        AnswerForm::Json | AnswerForm::JsonArray => error::body(wire),
    }
}
