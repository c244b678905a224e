//! What the gateway says itself in this dialect. The SDKs drop a frame without an `event:` line.
use crate::context::AnswerForm;
use crate::dialect::{Reply, WireError, frame};
use bytes::Bytes;
use serde_json::{Value, json};

/// A complete message that cost nothing.
pub(super) fn reply(reply: &Reply, form: AnswerForm) -> Bytes {
    let id = format!("msg_{}", reply.id);
    match form {
        AnswerForm::Sse => stream(reply, &id),
        AnswerForm::Json | AnswerForm::JsonArray => {
            let content = json!([{"type": "text", "text": reply.text}]);
            message(reply, &id, content, "end_turn".into()).to_string().into()
        }
    }
}

fn message(reply: &Reply, id: &str, content: Value, stop_reason: Value) -> Value {
    json!({
        "id": id, "type": "message", "role": "assistant", "model": reply.model, "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0},
    })
}

fn stream(reply: &Reply, id: &str) -> Bytes {
    let events = [
        json!({"type": "message_start", "message": message(reply, id, json!([]), Value::Null)}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": reply.text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }),
        json!({"type": "message_stop"}),
    ];
    events.iter().map(named).collect::<String>().into()
}

fn named(event: &Value) -> String {
    frame::event(event["type"].as_str(), &event.to_string())
}

/// The body of an error answer. Codes of the thread beta go where clients look for them: they then send the whole
/// history.
pub(super) fn error(error: &WireError) -> Value {
    let said = error.said.as_ref().and_then(|said| said.kind.as_deref());
    let mut inner = json!({"type": said.unwrap_or(kind(error.status)), "message": error.message});
    if error.code.starts_with("thread_") {
        inner["details"] = json!({"error_code": error.code});
    }
    json!({"type": "error", "error": inner, "request_id": error.request_id})
}

/// The error type of a status, by the platform's page on errors; where it names none, the nearest.
fn kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        503 | 529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

/// The end of a stream that can't go on. A JSON body has no such end.
pub(super) fn stream_error(wire: &WireError, form: AnswerForm, open: bool) -> Bytes {
    match form {
        AnswerForm::Sse => {
            let end_of_frame = if open { "\n\n" } else { "" };
            format!("{end_of_frame}{}", named(&error(wire))).into()
        }
        AnswerForm::Json | AnswerForm::JsonArray => Bytes::new(),
    }
}

/// A ping is allowed anywhere in a stream, before `message_start` too; white space before a JSON body.
pub(super) fn keep_alive(form: AnswerForm) -> Bytes {
    match form {
        AnswerForm::Sse => Bytes::from_static(b"event: ping\ndata: {\"type\":\"ping\"}\n\n"),
        AnswerForm::Json | AnswerForm::JsonArray => Bytes::from_static(b"\n"),
    }
}
