//! Reads a request: see `Dialect::view`.
use super::element;
use crate::context::{Item, RequestView, Role};
use crate::dialect::object::Object;
use crate::dialect::openai::history::{self, Grammar, Interjection};
use crate::dialect::openai::{self, count_of, set};
use crate::dialect::{Endpoint, Reading, ViewError};
use crate::json::{Doc, Kind, Member, ScanError, Span};

/// A user message behind tool messages is an interjection of the user's: a new prompt.
pub(super) const GRAMMAR: Grammar =
    Grammar { read: element::read, hosted_results: false, interjection: Interjection::Prompt };

pub(super) fn view(doc: &Doc, endpoint: &Endpoint, reading: &Reading<'_>) -> Result<RequestView, ViewError> {
    let messages = messages(doc).ok_or(ViewError::Shape { member: "messages" })?;
    let items = history::items(doc, &messages.elements, GRAMMAR, reading).map_err(|error| match error {
        ScanError::NotAnObject => ViewError::Shape { member: "messages" },
        other => ViewError::Scan(other),
    })?;
    Ok(RequestView {
        operation: endpoint.operation,
        model: openai::model(doc, endpoint),
        form: openai::form(doc),
        system: system(doc, &messages.elements)?,
        system_open: true,
        step: history::step(&items, GRAMMAR.interjection),
        has_tools: ["tools", "functions"].iter().any(|key| doc.get(key).is_some_and(|m| !m.elements.is_empty())),
        max_tokens: count_of(doc, "max_completion_tokens").or_else(|| count_of(doc, "max_tokens")),
        asks_reasoning: asks_reasoning(doc),
        structured: is_structured(doc)?,
        markers: openai::markers(&items),
        delta: None,
        protected: 0,
        choices: count_of(doc, "n").unwrap_or(1),
        items,
    })
}

/// The member that holds the history.
pub(super) fn messages(doc: &Doc) -> Option<&Member> {
    doc.get("messages").filter(|m| m.kind == Kind::Array)
}

/// How many messages at the start are instructions.
pub(super) fn leading(items: &[Item]) -> usize {
    items.iter().take_while(|i| i.role() == Role::System).count()
}

fn system(doc: &Doc, messages: &[Span]) -> Result<Vec<Span>, ScanError> {
    let mut blocks = Vec::new();
    for span in messages {
        let element = element::read(doc.text(*span))?;
        if element.role.0 != Role::System {
            break;
        }
        blocks.extend(element.texts.iter().map(|t| t.span.offset(span.start)));
    }
    Ok(blocks)
}

/// `reasoning_effort` is OpenAI's; `reasoning` and `thinking` are what compatible servers take.
fn asks_reasoning(doc: &Doc) -> bool {
    set(doc, "reasoning_effort").is_some_and(|m| doc.text(m.value) != r#""none""#)
        || ["reasoning", "thinking"].iter().any(|key| doc.get(key).is_some_and(|m| m.kind == Kind::Object))
}

fn is_structured(doc: &Doc) -> Result<bool, ScanError> {
    match doc.get("response_format").filter(|m| m.kind == Kind::Object) {
        Some(format) => Ok(openai::is_json_format(&Object::parse(doc.text(format.value))?)),
        None => Ok(false),
    }
}
