//! The request in neutral words.
use super::view;
use crate::context::RequestView;
use crate::dialect::openai::element::Element;
use crate::dialect::openai::neutral::{self, params, value};
use crate::dialect::{NeutralRequest, NeutralTool};
use crate::json::Doc;
use serde_json::Value;

/// The messages that an item covers.
pub(super) fn elements<'a>(doc: &'a Doc, view: &RequestView, item: usize) -> Vec<Element<'a>> {
    match (view::messages(doc), view.items.get(item)) {
        (Some(messages), Some(item)) => neutral::elements(doc, &messages.elements, item, view::GRAMMAR.read),
        _ => Vec::new(),
    }
}

pub(super) fn request(doc: &Doc, view: &RequestView) -> NeutralRequest {
    let history = view::leading(&view.items)..view.items.len();
    NeutralRequest {
        kind: "",
        system: neutral::system(doc, view),
        messages: history.filter_map(|item| neutral::message(&elements(doc, view, item))).collect(),
        tools: tools(doc),
        tool_choice: Some(value(doc, "tool_choice")).filter(|v| !v.is_null()),
        params: params([
            ("max_tokens", view.max_tokens.map_or(Value::Null, Value::from)),
            ("temperature", value(doc, "temperature")),
            ("top_p", value(doc, "top_p")),
            ("stop", value(doc, "stop")),
            ("reasoning_effort", value(doc, "reasoning_effort")),
            ("response_format", value(doc, "response_format")),
        ]),
    }
}

/// `tools`, whose definitions stand in a member named like their type, and the old `functions`, which are bare.
fn tools(doc: &Doc) -> Vec<NeutralTool> {
    let wrapped = value(doc, "tools");
    let bare = value(doc, "functions");
    let wrapped = wrapped.as_array().into_iter().flatten().map(|tool| {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or("function");
        neutral::tool(tool.get(kind).unwrap_or(tool))
    });
    wrapped.chain(bare.as_array().into_iter().flatten().map(neutral::tool)).collect()
}
