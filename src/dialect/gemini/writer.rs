//! What the gateway says itself in this dialect. Python's SDK reads nothing but lines that begin with `data: `, so there
//! are no `event:` lines and no comments.
use crate::context::AnswerForm;
use crate::dialect::{Reply, WireError, frame};
use bytes::Bytes;
use serde_json::{Value, json};

/// A complete response that cost nothing.
pub(super) fn reply(reply: &Reply, form: AnswerForm) -> Bytes {
    let response = json!({
        "candidates": [{
            "content": {"parts": [{"text": reply.text}], "role": "model"}, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0},
        "modelVersion": reply.model, "responseId": reply.id,
    });
    match form {
        AnswerForm::Sse => frame::event(None, &response.to_string()),
        AnswerForm::Json => response.to_string(),
        AnswerForm::JsonArray => format!("[{response}]"),
    }
    .into()
}

/// The body of an error answer.
pub(super) fn error(error: &WireError, form: AnswerForm) -> Bytes {
    let body = error_value(error);
    match form {
        AnswerForm::Sse | AnswerForm::Json => body.to_string(),
        AnswerForm::JsonArray => format!("[{body}]"),
    }
    .into()
}

fn error_value(error: &WireError) -> Value {
    let said = error.said.as_ref().and_then(|said| said.kind.as_deref());
    json!({"error": {
        "code": error.status, "message": error.message, "status": said.unwrap_or(status(error.status)),
        "details": [{"@type": "type.googleapis.com/google.rpc.RequestInfo", "requestId": error.request_id}],
    }})
}

/// The canonical status of an HTTP status (google.rpc.Code); where there is none, the nearest.
fn status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        426 => "FAILED_PRECONDITION",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        502 | 503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        400..=498 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    }
}

/// The end of a stream that can't go on. In an array it is the next element; a JSON body has no such end.
pub(super) fn stream_error(wire: &WireError, form: AnswerForm, open: bool) -> Bytes {
    let error = error_value(wire);
    match form {
        AnswerForm::Sse => {
            let end_of_frame = if open { "\n\n" } else { "" };
            format!("{end_of_frame}{}", frame::event(None, &error.to_string())).into()
        }
        AnswerForm::JsonArray => format!(",{error}]").into(),
        AnswerForm::Json => Bytes::new(),
    }
}

/// A blank line between events, white space between elements.
pub(super) fn keep_alive(_form: AnswerForm) -> Bytes {
    Bytes::from_static(b"\n")
}
