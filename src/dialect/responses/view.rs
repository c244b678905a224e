//! Reads a request: see `Dialect::view`.
use super::element;
use crate::context::{Delta, Item, RequestView, Role};
use crate::dialect::object::Object;
use crate::dialect::openai::history::{self, Grammar, Interjection, Read};
use crate::dialect::openai::{self, count_of, set, text_of};
use crate::dialect::{Endpoint, Reading, ViewError};
use crate::json::{Doc, Kind, ScanError, Span};
use std::borrow::Cow;

/// The history as the request carries it.
pub(super) struct Input<'a> {
    /// The value of `input`, unless there is none.
    pub(super) value: Option<Span>,
    /// Whether it is a string, which stands for one user message.
    pub(super) is_string: bool,
    /// Its items; the string itself is one.
    pub(super) items: Cow<'a, [Span]>,
    /// Reads one of them.
    pub(super) read: Read,
}

impl<'a> Input<'a> {
    /// The input; `None` if it is neither a list nor a string. It may be absent: a stored prompt or conversation can
    /// hold everything.
    pub(super) fn of(doc: &'a Doc) -> Option<Self> {
        let Some(member) = set(doc, "input") else {
            return Some(Self { value: None, is_string: false, items: Cow::default(), read: element::read });
        };
        let (items, read): (_, Read) = match member.kind {
            Kind::String => (Cow::Owned(vec![member.value]), element::read_prompt),
            Kind::Array => (Cow::Borrowed(member.elements.as_slice()), element::read),
            _ => return None,
        };
        Some(Self { value: Some(member.value), is_string: member.kind == Kind::String, items, read })
    }
}

pub(super) fn view(doc: &Doc, endpoint: &Endpoint, reading: &Reading<'_>) -> Result<RequestView, ViewError> {
    let input = Input::of(doc).ok_or(ViewError::Shape { member: "input" })?;
    let grammar = Grammar { read: input.read, hosted_results: true, interjection: Interjection::SameTurn };
    let items = history::items(doc, &input.items, grammar, reading).map_err(|error| match error {
        ScanError::NotAnObject => ViewError::Shape { member: "input" },
        other => ViewError::Scan(other),
    })?;
    let instructions = Instructions::of(doc);
    Ok(RequestView {
        operation: endpoint.operation,
        model: openai::model(doc, endpoint),
        form: openai::form(doc),
        system: match instructions {
            Instructions::Text(span) => vec![span],
            _ => leading_texts(doc, &input, &items)?,
        },
        system_open: instructions != Instructions::Foreign,
        step: history::step(&items, grammar.interjection),
        has_tools: has_tools(doc, &input, &items)?,
        max_tokens: count_of(doc, "max_output_tokens"),
        asks_reasoning: asks_reasoning(doc)?,
        structured: is_structured(doc)?,
        markers: openai::markers(&items),
        delta: delta(doc)?,
        protected: 0,
        choices: 1,
        items,
    })
}

/// The top-level `instructions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instructions {
    /// No such member, and where one may be put in.
    Absent,
    /// Null or an empty string.
    Empty(Span),
    /// The client's text.
    Text(Span),
    /// Something else.
    Foreign,
}

impl Instructions {
    pub(super) fn of(doc: &Doc) -> Self {
        let Some(member) = doc.get("instructions") else { return Self::Absent };
        match member.kind {
            Kind::Null => Self::Empty(member.value),
            Kind::String if doc.text(member.value) == r#""""# => Self::Empty(member.value),
            Kind::String => Self::Text(member.value),
            _ => Self::Foreign,
        }
    }
}

/// The instruction messages at the start of the input, as indexes into the items. Codex puts items with tools between
/// them.
pub(super) fn leading(items: &[Item]) -> impl Iterator<Item = usize> {
    let start = items.iter().take_while(|i| matches!(i.role(), Role::System | Role::Other));
    start.enumerate().filter(|(_, item)| item.role() == Role::System).map(|(index, _)| index)
}

fn leading_texts(doc: &Doc, input: &Input<'_>, items: &[Item]) -> Result<Vec<Span>, ScanError> {
    let mut blocks = Vec::new();
    for item in leading(items).filter_map(|index| items.get(index)) {
        let element = (input.read)(doc.text(item.span))?;
        blocks.extend(element.texts.iter().map(|t| t.span.offset(item.span.start)));
    }
    Ok(blocks)
}

/// Tools stand at the top level, or in an input item (Codex with its default model).
fn has_tools(doc: &Doc, input: &Input<'_>, items: &[Item]) -> Result<bool, ScanError> {
    if doc.get("tools").is_some_and(|m| !m.elements.is_empty()) {
        return Ok(true);
    }
    for item in items.iter().filter(|i| i.role() == Role::Other) {
        if (input.read)(doc.text(item.span))?.defines_tools {
            return Ok(true);
        }
    }
    Ok(false)
}

fn delta(doc: &Doc) -> Result<Option<Delta>, ScanError> {
    if let Some(id) = text_of(doc, "previous_response_id") {
        return Ok(Some(Delta::PreviousResponse(id)));
    }
    let Some(member) = set(doc, "conversation") else { return Ok(None) };
    let id = match member.kind {
        Kind::Object => Object::parse(doc.text(member.value))?.string("id").map(Cow::into_owned),
        _ => text_of(doc, "conversation"),
    };
    Ok(id.map(Delta::Conversation))
}

fn asks_reasoning(doc: &Doc) -> Result<bool, ScanError> {
    match doc.get("reasoning").filter(|m| m.kind == Kind::Object) {
        Some(reasoning) => Ok(Object::parse(doc.text(reasoning.value))?.string("effort").as_deref() != Some("none")),
        None => Ok(false),
    }
}

fn is_structured(doc: &Doc) -> Result<bool, ScanError> {
    let Some(text) = doc.get("text").filter(|m| m.kind == Kind::Object) else { return Ok(false) };
    let text = Object::parse(doc.text(text.value))?;
    match text.get("format") {
        Some(format) if format.starts_with('{') => Ok(openai::is_json_format(&Object::parse(format)?)),
        _ => Ok(false),
    }
}
