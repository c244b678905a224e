//! Elements in neutral words, for hooks.
use super::element::{Element, Text, ToolCall, join};
use super::history::{Read, own_texts};
use crate::context::{Call, Item, RequestView, Role};
use crate::dialect::{NeutralMessage, NeutralResult, NeutralTool, Reading};
use crate::json::{Doc, Span, raw};
use serde_json::{Map, Value};

/// The elements of an item; what can't be read is left out.
pub(in crate::dialect) fn elements<'a>(doc: &'a Doc, spans: &[Span], item: &Item, read: Read) -> Vec<Element<'a>> {
    spans.get(item.elements.clone()).unwrap_or_default().iter().filter_map(|s| read(doc.text(*s)).ok()).collect()
}

/// The user's own words.
pub(in crate::dialect) fn prompt_text(elements: &[Element<'_>], reading: &Reading<'_>) -> String {
    join(elements.iter().flat_map(|e| own_texts(e, reading)))
}

/// Text and calls of the model.
pub(in crate::dialect) fn said(elements: &[Element<'_>]) -> (String, Vec<Call>) {
    let own = || elements.iter().filter(|e| e.role.0 == Role::Assistant);
    let text = join(own().flat_map(|e| e.texts.iter().map(Text::value)));
    (text, own().flat_map(|e| e.calls.iter().map(ToolCall::call)).collect())
}

/// One item as a message; `None` for items that are nobody's speech.
pub(in crate::dialect) fn message(elements: &[Element<'_>]) -> Option<NeutralMessage> {
    let first = elements.first()?;
    let role = match first.role.0 {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::Other => return None,
    };
    let (text, tool_calls) = match first.role.0 {
        Role::Assistant => said(elements),
        Role::Tool => Default::default(),
        _ => (join(elements.iter().flat_map(|e| e.texts.iter().map(Text::value))), Vec::new()),
    };
    // Neither API says whether a tool failed: `is_error` stays false.
    let tool_results = elements
        .iter()
        .flat_map(|e| e.results.iter().map(|id| NeutralResult { id: id.to_string(), text: e.text(), is_error: false }))
        .collect();
    Some(NeutralMessage { role, text, tool_calls, tool_results })
}

/// The client's own instruction blocks.
pub(in crate::dialect) fn system(doc: &Doc, view: &RequestView) -> Vec<String> {
    view.system.iter().filter_map(|s| raw::string(doc.text(*s))).map(std::borrow::Cow::into_owned).collect()
}

/// The value of a top-level member; null if it is not set.
pub(in crate::dialect) fn value(doc: &Doc, key: &str) -> Value {
    doc.get(key).and_then(|m| serde_json::from_str(doc.text(m.value)).ok()).unwrap_or_default()
}

/// Parameters by their neutral names.
pub(in crate::dialect) fn params<const N: usize>(named: [(&str, Value); N]) -> Map<String, Value> {
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A tool definition: `{name, description, parameters}`. A tool of the provider's own has a type instead of a name.
pub(in crate::dialect) fn tool(definition: &Value) -> NeutralTool {
    let text = |key: &str| definition.get(key).and_then(Value::as_str).map(str::to_owned);
    NeutralTool {
        name: text("name").or_else(|| text("type")).unwrap_or_default(),
        description: text("description").unwrap_or_default(),
        input_schema: definition.get("parameters").cloned().unwrap_or_default(),
    }
}
