//! A Messages request in neutral words.
use super::block::{Block, blocks, joined_text};
use super::view::content;
use crate::context::{Call, RequestView, Role};
use crate::dialect::object::{Object, slice};
use crate::dialect::transcript::arguments;
use crate::dialect::{NeutralMessage, NeutralRequest, NeutralResult, NeutralTool, Reading, history};
use crate::json::{Doc, raw};
use serde_json::{Map, Value};

/// The whole request.
pub(super) fn neutral(doc: &Doc, view: &RequestView) -> NeutralRequest {
    NeutralRequest {
        kind: "",
        system: view.system.iter().filter_map(|span| raw::string(doc.text(*span))).map(Into::into).collect(),
        messages: view.items.iter().map(|item| message(&messages(doc, item), item.role())).collect(),
        tools: doc
            .get("tools")
            .map_or_else(Vec::new, |tools| tools.elements.iter().map(|element| tool(doc.text(*element))).collect()),
        tool_choice: value(doc, "tool_choice").filter(|choice| !choice.is_null()),
        params: params(doc),
    }
}

/// The user's own words of one item.
pub(super) fn prompt_text(doc: &Doc, view: &RequestView, item: usize, reading: &Reading<'_>) -> String {
    let Some(item) = view.items.get(item) else { return String::new() };
    let mut texts = vec![];
    for message in messages(doc, item) {
        let blocks = blocks(content(message)).flatten();
        texts.extend(blocks.filter(|block| block.kind == "text").map(|block| block.text()));
    }
    texts.retain(|text| !text.is_empty() && !(reading.is_reminder)(text));
    texts.join("\n")
}

/// Text and calls of one assistant item; its text as the reader of the answer collected it.
pub(super) fn said(doc: &Doc, view: &RequestView, item: usize) -> (String, Vec<Call>) {
    let (mut text, mut calls) = (String::new(), vec![]);
    let Some(item) = view.items.get(item) else { return (text, calls) };
    for message in messages(doc, item) {
        for block in blocks(content(message)).flatten() {
            match block.kind.as_ref() {
                "text" => text.push_str(&block.text()),
                "tool_use" => calls.push(call(&block)),
                _ => {}
            }
        }
    }
    (text, calls)
}

fn messages<'a>(doc: &'a Doc, item: &crate::context::Item) -> Vec<&'a str> {
    doc.get("messages").map_or_else(Vec::new, |messages| history::texts(doc, &messages.elements, item))
}

/// One message.
pub(super) fn message(messages: &[&str], role: Role) -> NeutralMessage {
    let mut out = NeutralMessage { role: role_name(role), ..NeutralMessage::default() };
    let mut texts = vec![];
    for message in messages {
        for block in blocks(content(message)).flatten() {
            match block.kind.as_ref() {
                "text" => texts.push(block.text().into_owned()),
                "tool_use" => out.tool_calls.push(call(&block)),
                "tool_result" => out.tool_results.push(NeutralResult {
                    id: block.string("tool_use_id").into_owned(),
                    text: joined_text(block.get("content")),
                    is_error: block.get("is_error") == Some("true"),
                }),
                _ => {}
            }
        }
    }
    out.text = texts.join("\n");
    out
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::System | Role::Other => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

fn call(block: &Block<'_>) -> Call {
    Call {
        id: block.string("id").into_owned(),
        name: block.string("name").into_owned(),
        input: arguments(block.get("input").unwrap_or("{}").to_owned()),
    }
}

/// Server tools have a `type` and a name, and no schema.
fn tool(raw: &str) -> NeutralTool {
    let Ok(object) = Object::parse(raw) else { return NeutralTool::default() };
    let string = |key| object.string(key).unwrap_or_default().into_owned();
    NeutralTool {
        name: string("name"),
        description: string("description"),
        input_schema: object.get("input_schema").and_then(|s| serde_json::from_str(s).ok()).unwrap_or_default(),
    }
}

fn params(doc: &Doc) -> Map<String, Value> {
    let config = doc.get("output_config").map(|member| doc.text(member.value));
    let configured = |key| {
        let value = config.and_then(|config| Some(slice(config, raw::get(config, key)?)));
        value.and_then(|value| serde_json::from_str(value).ok()).unwrap_or_default()
    };
    let plain = |key| value(doc, key).unwrap_or_default();
    let params = [
        ("max_tokens", plain("max_tokens")),
        ("temperature", plain("temperature")),
        ("top_p", plain("top_p")),
        ("stop", plain("stop_sequences")),
        ("reasoning_effort", configured("effort")),
        ("response_format", configured("format")),
    ];
    params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn value(doc: &Doc, key: &str) -> Option<Value> {
    serde_json::from_str(doc.text(doc.get(key)?.value)).ok()
}
