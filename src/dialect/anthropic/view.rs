//! Reading a Messages request.
use super::facts::{facts, marker_facts};
use crate::context::{AnswerForm, Delta, Operation, RequestView, Step};
use crate::dialect::object::{Object, slice};
use crate::dialect::{Endpoint, Reading, ViewError, history};
use crate::json::{Doc, Kind, Member, Span, raw};

/// The view of a Messages or count_tokens body. A batch carries many requests and is not looked into.
pub(super) fn view(doc: &Doc, endpoint: &Endpoint, reading: &Reading<'_>) -> Result<RequestView, ViewError> {
    let mut view = RequestView {
        operation: endpoint.operation,
        model: string(doc, "model"),
        form: if flag(doc, "stream") { AnswerForm::Sse } else { AnswerForm::Json },
        system: vec![],
        system_open: endpoint.operation != Operation::Batch,
        items: vec![],
        step: Step::Empty,
        has_tools: doc.get("tools").is_some_and(|tools| !tools.elements.is_empty()),
        max_tokens: present(doc, "max_tokens").and_then(|limit| doc.text(limit.value).parse().ok()),
        asks_reasoning: asks_reasoning(doc)?,
        structured: structured(doc)?,
        markers: 0,
        delta: delta(doc)?,
        protected: 0,
        choices: 1,
    };
    if endpoint.operation == Operation::Batch {
        return Ok(view);
    }
    view.system = system(doc)?;
    if let Some(messages) = present(doc, "messages") {
        if messages.kind != Kind::Array {
            return Err(ViewError::Shape { member: "messages" });
        }
        view.items = history::items(doc, &messages.elements, "messages", reading, facts)?;
    }
    view.step = history::step(&view.items);
    view.markers = markers(doc, &view, reading)?;
    Ok(view)
}

/// A member that is there and not null.
fn present<'a>(doc: &'a Doc, key: &str) -> Option<&'a Member> {
    doc.get(key).filter(|member| member.kind != Kind::Null)
}

fn string(doc: &Doc, key: &str) -> Option<String> {
    raw::string(doc.text(doc.get(key)?.value)).map(|text| text.into_owned())
}

fn flag(doc: &Doc, key: &str) -> bool {
    doc.get(key).is_some_and(|member| doc.text(member.value) == "true")
}

/// A member that holds an object.
fn object<'a>(doc: &'a Doc, key: &'static str) -> Result<Option<Object<'a>>, ViewError> {
    let Some(member) = present(doc, key) else { return Ok(None) };
    let object = Object::parse(doc.text(member.value)).map_err(|error| history::view_error(error, key))?;
    Ok(Some(object))
}

fn system(doc: &Doc) -> Result<Vec<Span>, ViewError> {
    let Some(member) = present(doc, "system") else { return Ok(vec![]) };
    match member.kind {
        Kind::String => Ok(vec![member.value]),
        Kind::Array => {
            let mut texts = Vec::with_capacity(member.elements.len());
            for element in &member.elements {
                let block = Object::parse(doc.text(*element)).map_err(|error| history::view_error(error, "system"))?;
                let text = block.span("text").map(|span| span.offset(element.start));
                texts.extend(text.filter(|span| doc.text(*span).starts_with('"')));
            }
            Ok(texts)
        }
        _ => Err(ViewError::Shape { member: "system" }),
    }
}

/// The markers of `tools` and `system` are counted like facts, so that a large tool list is not read on every request.
/// The top-level one stands for the automatic breakpoint and counts with the four.
fn markers(doc: &Doc, view: &RequestView, reading: &Reading<'_>) -> Result<usize, ViewError> {
    let mut markers = usize::from(present(doc, "cache_control").is_some());
    for key in ["tools", "system"] {
        let Some(member) = doc.get(key).filter(|member| member.kind == Kind::Array) else { continue };
        let array = doc.text(member.value);
        let facts = reading.cache.facts(array, &|| marker_facts(array));
        if let Some(error) = &facts.broken {
            return Err(history::view_error(error.clone(), key));
        }
        markers += usize::from(facts.markers);
    }
    Ok(markers + view.items.iter().map(|item| usize::from(item.facts.markers)).sum::<usize>())
}

fn asks_reasoning(doc: &Doc) -> Result<bool, ViewError> {
    let thinking = object(doc, "thinking")?;
    Ok(thinking.is_some_and(|thinking| thinking.string("type").is_some_and(|kind| kind != "disabled")))
}

/// `output_config.format`; `output_format` is its name from the beta.
fn structured(doc: &Doc) -> Result<bool, ViewError> {
    let config = object(doc, "output_config")?;
    Ok(config.is_some_and(|config| config.get("format").is_some()) || present(doc, "output_format").is_some())
}

/// Threads (beta): with `continue` only the new messages are there.
fn delta(doc: &Doc) -> Result<Option<Delta>, ViewError> {
    let Some(thread) = object(doc, "thread")? else { return Ok(None) };
    Ok(match thread.string("type").as_deref() {
        Some("create") => Some(Delta::ThreadCreate),
        Some("continue") => {
            Some(Delta::ThreadContinue(thread.string("previous_message_id").unwrap_or_default().into_owned()))
        }
        _ => None,
    })
}

/// The raw content of one message.
pub(super) fn content(message: &str) -> Option<&str> {
    let object = Object::parse(message).ok()?;
    object.span("content").map(|span| slice(message, span)).filter(|content| *content != "null")
}
