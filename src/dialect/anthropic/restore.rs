//! Calls that the client does not know, put back into its copy of an answer, with their results behind it.
use super::block::Block;
use super::legs::result;
use crate::context::{RequestView, Restored};
use crate::dialect::object::{Object, slice};
use crate::dialect::plan::{Plan, listens};
use crate::dialect::rewrite::Rewrite;
use crate::dialect::{LowerError, history, restore};
use crate::json::{Doc, Span, Splice, raw};

/// Puts the calls of the plan into their answers; of those that are taken apart only the last part gets them, elsewhere.
/// The results that go with the calls, by the item that they stand in; none of calls that have no place.
///
/// # Errors
/// [`LowerError::NoPlace`] for a delta that brings nothing that could hold what the provider is owed.
pub(super) fn restore(
    doc: &Doc,
    view: &RequestView,
    plan: &Plan<'_>,
    splice: &mut Splice,
) -> Result<Vec<(usize, Vec<String>)>, LowerError> {
    let elements = doc.get("messages").map(|messages| messages.elements.as_slice()).unwrap_or_default();
    let mut results = vec![];
    for (index, calls) in &plan.restored {
        let Some(item) = view.items.get(*index) else { continue };
        let Some(messages) = restored(&history::texts(doc, elements, item), calls) else { continue };
        let told: Vec<String> = calls.iter().filter_map(|call| call.result.as_ref()).map(result).collect();
        if !told.is_empty() {
            results.extend(view.next_speech(*index).map(|next| (next, told)));
        }
        if plan.splits.contains_key(index) {
            continue;
        }
        for (span, message) in elements.get(item.elements.clone()).unwrap_or_default().iter().zip(messages) {
            if doc.text(*span) != message {
                splice.replace(*span, message);
            }
        }
    }
    if !plan.owed.is_empty() {
        let first = (0..view.items.len()).find(|index| listens(view, *index));
        let first = first.ok_or(LowerError::NoPlace { item: 0 })?;
        results.push((first, plan.owed.iter().copied().map(result).collect()));
    }
    Ok(results)
}

/// The messages of an answer with these calls in it; `None` when it has no place for one of them.
pub(super) fn restored<S: AsRef<str>>(messages: &[S], calls: &[&Restored]) -> Option<Vec<String>> {
    restore::restored(messages, calls, calls_of, with_marker)
}

/// The calls of a message: their ids and places.
fn calls_of(message: &str) -> Vec<(String, Span)> {
    let Some(content) = Object::parse(message).ok().and_then(|object| object.span("content")) else { return vec![] };
    let blocks = raw::array(slice(message, content)).unwrap_or_default();
    let spans = blocks.into_iter().map(|span| span.offset(content.start));
    let call = |span: Span| {
        let block = Block::parse(slice(message, span)).ok()?;
        (block.kind == "tool_use").then(|| (block.string("id").into_owned(), span))
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
