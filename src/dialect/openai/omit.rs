//! Takes items out of the history.
use crate::context::{Item, Place, RequestView, Role};
use crate::json::{Doc, Span};
use std::collections::HashSet;

/// The elements that omitted items cover. Instructions and messages of reminders alone stay where they are: the client
/// needs the model to see them, and neither API minds them in any place.
pub(in crate::dialect) fn omitted(view: &RequestView, places: &[Place]) -> HashSet<usize> {
    let ranges = places.iter().filter_map(|place| match place {
        Place::Omit { items } => Some(items.clone()),
        _ => None,
    });
    let items = ranges.flat_map(|range| view.items.get(range).unwrap_or_default());
    let leaves = |item: &&Item| match item.role() {
        Role::System | Role::Other => false,
        Role::User => item.facts.link.is_some(),
        Role::Assistant | Role::Tool => true,
    };
    items.filter(leaves).flat_map(|item| item.elements.clone()).collect()
}

/// Where the first element of the list `key` begins, or would.
pub(in crate::dialect) fn list_start(doc: &Doc, key: &str, elements: &[Span]) -> Option<usize> {
    elements.first().map(|e| e.start).or_else(|| doc.get(key).map(|m| m.value.start + 1))
}
