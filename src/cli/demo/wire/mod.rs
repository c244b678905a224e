//! The four dialects as the demo's client and provider write them. Text answers are the dialect room's own; a call of the
//! tool is written here.
mod anthropic;
mod chat;
mod gemini;
mod responses;

use super::script::Said;
use crate::dialect::DialectId;
use bytes::Bytes;
use serde_json::{Value, json};

/// The model that the client asks for.
pub(super) const MODEL: &str = "demo-model";

/// Where the client posts to: path and query.
pub(super) const fn target(dialect: DialectId) -> &'static str {
    match dialect {
        DialectId::Anthropic => "/v1/messages",
        DialectId::Chat => "/v1/chat/completions",
        DialectId::Responses => "/v1/responses",
        DialectId::Gemini => "/v1beta/models/demo-model:streamGenerateContent?alt=sse",
    }
}

/// The body of a request with this history.
pub(super) fn body(dialect: DialectId, history: &[Said]) -> Value {
    match dialect {
        DialectId::Anthropic => anthropic::body(history),
        DialectId::Chat => chat::body(history),
        DialectId::Responses => responses::body(history),
        DialectId::Gemini => gemini::body(history),
    }
}

/// A streamed answer that calls the tool.
pub(super) fn call(dialect: DialectId) -> Bytes {
    match dialect {
        DialectId::Anthropic => anthropic::call(),
        DialectId::Chat => chat::call(),
        DialectId::Responses => responses::call(),
        DialectId::Gemini => gemini::call(),
    }
}

/// JSON schema of the tool's arguments.
fn tool_schema() -> Value {
    json!({ "type": "object", "properties": { "suite": { "type": "string" } }, "required": ["suite"] })
}

/// Events whose `data` alone says what they are.
fn stream(events: impl IntoIterator<Item = Value>) -> Bytes {
    events.into_iter().map(|data| format!("data: {data}\n\n")).collect::<String>().into()
}

/// Events that are named by their `type`.
fn named_stream(events: impl IntoIterator<Item = Value>) -> Bytes {
    let event = |data: Value| {
        let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
        format!("event: {name}\ndata: {data}\n\n")
    };
    events.into_iter().map(event).collect::<String>().into()
}
