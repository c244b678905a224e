//! The request in neutral words.
use super::view::{self, Input, Instructions};
use crate::context::{RequestView, Role};
use crate::dialect::openai::element::Element;
use crate::dialect::openai::neutral::{self, params, value};
use crate::dialect::{NeutralRequest, NeutralTool};
use crate::json::{Doc, raw};
use serde_json::Value;

/// The items that an item of the view covers.
pub(super) fn elements<'a>(doc: &'a Doc, view: &RequestView, item: usize) -> Vec<Element<'a>> {
    match (Input::of(doc), view.items.get(item)) {
        (Some(input), Some(item)) => neutral::elements(doc, &input.items, item, input.read),
        _ => Vec::new(),
    }
}

pub(super) fn request(doc: &Doc, view: &RequestView) -> NeutralRequest {
    let leading: Vec<usize> = match Instructions::of(doc) {
        // Then the messages at the start are part of the history.
        Instructions::Text(_) => Vec::new(),
        _ => view::leading(&view.items).collect(),
    };
    NeutralRequest {
        kind: "",
        system: neutral::system(doc, view),
        messages: (0..view.items.len())
            .filter(|item| !leading.contains(item))
            .filter_map(|item| neutral::message(&elements(doc, view, item)))
            .collect(),
        tools: tools(doc, view),
        tool_choice: Some(value(doc, "tool_choice")).filter(|v| !v.is_null()),
        params: params([
            ("max_tokens", value(doc, "max_output_tokens")),
            ("temperature", value(doc, "temperature")),
            ("top_p", value(doc, "top_p")),
            // This API has no stop sequences.
            ("stop", Value::Null),
            ("reasoning_effort", member(&value(doc, "reasoning"), "effort")),
            ("response_format", member(&value(doc, "text"), "format")),
        ]),
    }
}

fn member(object: &Value, key: &str) -> Value {
    object.get(key).cloned().unwrap_or_default()
}

/// Tools at the top level and in input items; a namespace holds further ones.
fn tools(doc: &Doc, view: &RequestView) -> Vec<NeutralTool> {
    let mut tools = Vec::new();
    collect(&value(doc, "tools"), &mut tools);
    for item in view.items.iter().filter(|i| i.role() == Role::Other) {
        let item = doc.text(item.span);
        let list = raw::get(item, "tools").and_then(|s| serde_json::from_str::<Value>(item.get(s.start..s.end)?).ok());
        collect(&list.unwrap_or_default(), &mut tools);
    }
    tools
}

fn collect(list: &Value, tools: &mut Vec<NeutralTool>) {
    for tool in list.as_array().into_iter().flatten() {
        match tool.get("tools") {
            Some(members) if tool.get("type").and_then(Value::as_str) == Some("namespace") => collect(members, tools),
            _ => tools.push(neutral::tool(tool)),
        }
    }
}
