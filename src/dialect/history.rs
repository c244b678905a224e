//! From the elements of a native history to [`Item`]s, and what its end says.
use super::{Reading, ViewError};
use crate::context::{Item, ItemFacts, Role, Step};
use crate::json::{Doc, ScanError, Span};

/// Computes the facts of a run of elements that form one item; errors go to [`ItemFacts::broken`].
pub(super) type FactsOf = fn(&[&str], &dyn Fn(&str) -> bool) -> ItemFacts;

/// Most elements that are looked at: Anthropic's own limit for `messages`. A body of tiny elements would otherwise take
/// many times its size in memory.
const MAX_ELEMENTS: usize = 100_000;

/// The items of a history. Neighbouring assistant elements become one: a provider sees one answer in them, and clients
/// cut an answer differently from request to request.
///
/// # Errors
/// The first element that can't be read, or too many of them; `member` names the history.
pub(super) fn items(
    doc: &Doc,
    elements: &[Span],
    member: &'static str,
    reading: &Reading<'_>,
    facts_of: FactsOf,
) -> Result<Vec<Item>, ViewError> {
    if elements.len() > MAX_ELEMENTS {
        return Err(ViewError::Shape { member });
    }
    let mut items: Vec<Item> = Vec::with_capacity(elements.len());
    for (index, span) in elements.iter().enumerate() {
        let raw = doc.text(*span);
        let facts = reading.cache.facts(raw, &|| facts_of(&[raw], reading.is_reminder));
        if let Some(error) = &facts.broken {
            return Err(view_error(error.clone(), member));
        }
        match items.last_mut() {
            Some(last) if last.role() == Role::Assistant && facts.role.0 == Role::Assistant => {
                last.span.end = span.end;
                last.elements.end = index + 1;
            }
            _ => items.push(Item { span: *span, elements: index..index + 1, facts }),
        }
    }
    for item in items.iter_mut().filter(|item| item.elements.len() > 1) {
        let run = texts(doc, elements, item);
        item.facts = reading.cache.facts(doc.text(item.span), &|| facts_of(&run, reading.is_reminder));
    }
    Ok(items)
}

/// The texts of the elements of one item.
pub(super) fn texts<'a>(doc: &'a Doc, elements: &[Span], item: &Item) -> Vec<&'a str> {
    let run = elements.get(item.elements.clone()).unwrap_or_default();
    run.iter().map(|span| doc.text(*span)).collect()
}

/// An element that is no object is a shape that the provider refuses; the rest is ambiguous.
pub(super) fn view_error(error: ScanError, member: &'static str) -> ViewError {
    match error {
        ScanError::NotAnObject => ViewError::Shape { member },
        error => ViewError::Scan(error),
    }
}

/// What the request is, seen from its end. Instructions and messages of nothing but reminders say nothing and are passed
/// over: behind a tool result the tool step goes on, behind an answer there is nothing to answer.
pub(super) fn step(items: &[Item]) -> Step {
    for (index, item) in items.iter().enumerate().rev() {
        match item.role() {
            Role::System | Role::Other => {}
            Role::Assistant => return Step::Resume,
            Role::Tool if server_waits(items, index) => return Step::Resume,
            Role::Tool => return Step::Tool { item: index },
            Role::User if item.facts.prompt.is_some() => return Step::Prompt { item: index },
            Role::User => {}
        }
    }
    Step::Empty
}

/// Whether the answer before this item holds an unresolved server tool use: the reply may then carry nothing but results.
pub(super) fn server_waits(items: &[Item], index: usize) -> bool {
    let before = items.get(..index).unwrap_or_default();
    before.iter().rev().find(|item| item.role() == Role::Assistant).is_some_and(|item| item.facts.server_pending)
}
