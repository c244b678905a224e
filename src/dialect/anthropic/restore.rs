//! Calls that the client does not know, put back into its copy of an answer, with their results behind it.
use super::block::Block;
use super::legs::result;
use crate::context::{RequestView, Restored, Stands};
use crate::dialect::object::{Object, slice};
use crate::dialect::plan::{Plan, listens};
use crate::dialect::rewrite::{Rewrite, edited};
use crate::dialect::{LowerError, history};
use crate::json::{Doc, Span, Splice, raw};

/// Puts the calls of the plan into the answers that are not taken apart.
pub(super) fn restore(doc: &Doc, view: &RequestView, plan: &Plan<'_>, splice: &mut Splice) {
    let elements = doc.get("messages").map(|messages| messages.elements.as_slice()).unwrap_or_default();
    for (index, calls) in plan.restored.iter().filter(|(index, _)| !plan.splits.contains_key(index)) {
        let Some(item) = view.items.get(*index) else { continue };
        let spans = elements.get(item.elements.clone()).unwrap_or_default();
        let Some(messages) = restored(&history::texts(doc, elements, item), calls) else { continue };
        for (span, message) in spans.iter().zip(messages) {
            if doc.text(*span) != message {
                splice.replace(*span, message);
            }
        }
    }
}

/// The results that go with the calls, by the item that they stand in; none of calls that have no place.
///
/// # Errors
/// [`LowerError::NoPlace`] for a delta that brings nothing that could hold them.
pub(super) fn results(doc: &Doc, view: &RequestView, plan: &Plan<'_>) -> Result<Vec<(usize, Vec<String>)>, LowerError> {
    let elements = doc.get("messages").map(|messages| messages.elements.as_slice()).unwrap_or_default();
    let of = |(item, calls): (&usize, &Vec<&Restored>)| {
        let told: Vec<String> = calls.iter().filter_map(|call| call.result.as_ref()).map(result).collect();
        let has_place = || restored(&history::texts(doc, elements, view.items.get(*item)?), calls);
        if told.is_empty() {
            return None;
        }
        view.next_speech(*item).filter(|_| has_place().is_some()).map(|next| (next, told))
    };
    let mut results: Vec<_> = plan.restored.iter().filter_map(of).collect();
    if !plan.owed.is_empty() {
        let first = (0..view.items.len()).find(|index| listens(view, *index));
        let first = first.ok_or(LowerError::NoPlace { item: 0 })?;
        results.push((first, plan.owed.iter().copied().map(result).collect()));
    }
    Ok(results)
}

/// The messages of an answer with these calls in it; `None` when it has no place for one of them.
pub(super) fn restored<S: AsRef<str>>(messages: &[S], calls: &[&Restored]) -> Option<Vec<String>> {
    let known: Vec<(usize, String, Span)> =
        messages.iter().enumerate().flat_map(|(at, message)| calls_of(at, message.as_ref())).collect();
    let place = |id: &str| known.iter().find(|(_, other, _)| other == id).map(|(at, _, span)| (*at, *span));
    let mut splices: Vec<Splice> = messages.iter().map(|_| Splice::new()).collect();
    for call in calls {
        match &call.stands {
            Stands::Before(id) => {
                let (at, span) = place(id)?;
                splices.get_mut(at)?.insert(span.start, format!("{},", call.native));
            }
            Stands::Last => {
                let (at, _, span) = known.last()?;
                splices.get_mut(*at)?.insert(span.end, format!(",{}", call.native));
            }
            Stands::Instead(id) => {
                let (at, span) = place(id)?;
                let block = with_marker(&call.native, slice(messages.get(at)?.as_ref(), span));
                splices.get_mut(at)?.replace(span, block);
            }
        }
    }
    messages.iter().zip(splices).map(|(message, splice)| edited(message.as_ref(), splice).ok()).collect()
}

/// The calls of a message: its place, their ids and places.
fn calls_of(at: usize, message: &str) -> Vec<(usize, String, Span)> {
    let Some(content) = Object::parse(message).ok().and_then(|object| object.span("content")) else { return vec![] };
    let blocks = raw::array(slice(message, content)).unwrap_or_default();
    let spans = blocks.into_iter().map(|span| span.offset(content.start));
    let call = |span: Span| {
        let block = Block::parse(slice(message, span)).ok()?;
        (block.kind == "tool_use").then(|| (at, block.string("id").into_owned(), span))
    };
    spans.filter_map(call).collect()
}

/// The block, with the cache marker that the client put on its own copy.
fn with_marker(native: &str, copy: &str) -> String {
    let marker = Block::parse(copy).ok().and_then(|block| block.get("cache_control"));
    match (marker, Rewrite::of(native)) {
        (Some(marker), Ok(mut block)) => {
            block.set("cache_control", marker);
            block.finish()
        }
        _ => native.to_owned(),
    }
}
