//! Takes items out of the history.
use crate::context::{Item, Place, RequestView, Role};
use crate::json::{Doc, Span, Splice};
use std::collections::HashSet;

/// Takes elements out of a list together with their commas: `gone` says which.
pub(in crate::dialect) fn remove(splice: &mut Splice, elements: &[Span], gone: impl Fn(usize) -> bool) {
    let mut kept: Option<Span> = None;
    let mut run: Option<Span> = None;
    for (index, element) in elements.iter().enumerate() {
        if gone(index) {
            let start = run.map_or(element.start, |r| r.start);
            run = Some(Span::new(start, element.end));
            continue;
        }
        if let Some(run) = run.take() {
            splice.remove(Span::new(run.start, element.start));
        }
        kept = Some(*element);
    }
    if let Some(run) = run {
        splice.remove(Span::new(kept.map_or(run.start, |k| k.end), run.end));
    }
}

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
