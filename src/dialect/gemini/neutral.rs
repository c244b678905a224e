//! A generateContent request in neutral words.
use super::part::{FunctionCall, PartKind, parts};
use super::view::{contents, member};
use crate::context::{Call, Item, RequestView, Role};
use crate::dialect::object::Object;
use crate::dialect::transcript::arguments;
use crate::dialect::{NeutralMessage, NeutralRequest, NeutralResult, NeutralTool, Reading, history};
use crate::json::{Doc, raw};
use serde_json::{Map, Value};

/// The whole request.
pub(super) fn neutral(doc: &Doc, view: &RequestView) -> NeutralRequest {
    NeutralRequest {
        kind: "",
        system: view.system.iter().filter_map(|span| raw::string(doc.text(*span))).map(Into::into).collect(),
        messages: view.items.iter().map(|item| message(doc, item)).collect(),
        tools: member(doc, "tools").map_or_else(Vec::new, |tools| {
            tools.elements.iter().flat_map(|element| tools_of(doc.text(*element))).collect()
        }),
        tool_choice: member(doc, "toolConfig").and_then(|choice| json(doc.text(choice.value))),
        params: params(doc),
    }
}

/// The user's own words of one item.
pub(super) fn prompt_text(doc: &Doc, view: &RequestView, item: usize, reading: &Reading<'_>) -> String {
    let mut texts = vec![];
    if let Some(item) = view.items.get(item) {
        each_part(doc, item, |part| {
            if let PartKind::Text(text) = part {
                texts.push(text.into_owned());
            }
        });
    }
    texts.retain(|text| !text.is_empty() && !(reading.is_reminder)(text));
    texts.join("\n")
}

/// Text and calls of one model item; its text as the reader of the answer collected it.
pub(super) fn said(doc: &Doc, view: &RequestView, item: usize) -> (String, Vec<Call>) {
    let (mut said, mut calls) = (String::new(), vec![]);
    if let Some(item) = view.items.get(item) {
        each_part(doc, item, |part| match part {
            PartKind::Text(text) => said.push_str(&text),
            PartKind::Call(function) => calls.push(call(&function)),
            PartKind::Thought | PartKind::Response(_) | PartKind::Other => {}
        });
    }
    (said, calls)
}

/// Calls `each` for the parts of one item; what can't be read is passed over.
fn each_part<'a>(doc: &'a Doc, item: &Item, mut each: impl FnMut(PartKind<'a>)) {
    for content in history::texts(doc, contents(doc).unwrap_or_default(), item) {
        let Ok(content) = Object::parse_proto(content) else { continue };
        parts(&content).flatten().for_each(|part| each(part.kind));
    }
}

/// One content.
pub(super) fn message(doc: &Doc, item: &Item) -> NeutralMessage {
    let role = match item.role() {
        Role::System | Role::Other => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut out = NeutralMessage { role, ..NeutralMessage::default() };
    let mut texts = vec![];
    each_part(doc, item, |part| match part {
        PartKind::Text(text) if !text.is_empty() => texts.push(text.into_owned()),
        PartKind::Call(function) => out.tool_calls.push(call(&function)),
        PartKind::Response(response) => out.tool_results.push(NeutralResult {
            id: response.id.into_owned(),
            text: response.text.into_owned(),
            is_error: response.is_error,
        }),
        PartKind::Text(_) | PartKind::Thought | PartKind::Other => {}
    });
    out.text = texts.join("\n");
    out
}

fn call(function: &FunctionCall<'_>) -> Call {
    Call {
        id: function.id.clone().into_owned(),
        name: function.name.clone().into_owned(),
        input: arguments(function.args.to_owned()),
    }
}

/// The declarations of one element of `tools`; a provider's own tool is named by its key.
fn tools_of(raw: &str) -> Vec<NeutralTool> {
    let Ok(object) = Object::parse_proto(raw) else { return vec![] };
    let mut tools = vec![];
    for (key, value) in object.entries() {
        if key == "functionDeclarations" {
            let declarations: Vec<&serde_json::value::RawValue> = serde_json::from_str(value).unwrap_or_default();
            tools.extend(declarations.iter().filter_map(|declaration| tool(declaration.get())));
        } else {
            tools.push(NeutralTool { name: key.to_owned(), ..NeutralTool::default() });
        }
    }
    tools
}

fn tool(raw: &str) -> Option<NeutralTool> {
    let object = Object::parse_proto(raw).ok()?;
    let schema = object.get("parameters").or(object.get("parametersJsonSchema"));
    Some(NeutralTool {
        name: object.string("name").unwrap_or_default().into_owned(),
        description: object.string("description").unwrap_or_default().into_owned(),
        input_schema: schema.and_then(json).unwrap_or_default(),
    })
}

fn params(doc: &Doc) -> Map<String, Value> {
    let config = member(doc, "generationConfig").and_then(|m| Object::parse_proto(doc.text(m.value)).ok());
    let setting = |key| config.as_ref().and_then(|config| config.get(key));
    let thinking = setting("thinkingConfig").and_then(|raw| Object::parse_proto(raw).ok());
    let format = ["responseFormat", "responseJsonSchema", "responseSchema"].into_iter().find_map(setting);
    let params = [
        ("max_tokens", setting("maxOutputTokens")),
        ("temperature", setting("temperature")),
        ("top_p", setting("topP")),
        ("stop", setting("stopSequences")),
        ("reasoning_effort", thinking.as_ref().and_then(|thinking| thinking.get("thinkingLevel"))),
        ("response_format", format),
    ];
    params.into_iter().map(|(name, raw)| (name.to_owned(), raw.and_then(json).unwrap_or_default())).collect()
}

fn json(raw: &str) -> Option<Value> {
    serde_json::from_str(raw).ok()
}
