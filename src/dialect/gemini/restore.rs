//! Calls that the client does not know, put back into its copy of an answer, with their responses among its own.
use super::legs::response;
use super::lower::Around;
use super::part::{Part, PartKind};
use super::view::{contents, parts_span};
use crate::context::answer::call_key;
use crate::context::{RequestView, Restored, Stands};
use crate::dialect::history;
use crate::dialect::object::{Object, slice};
use crate::dialect::plan::Plan;
use crate::dialect::rewrite::edited;
use crate::json::{Doc, Span, Splice, raw};
use std::collections::{BTreeMap, HashSet};

/// An answer with its calls in it again.
pub(super) struct Answer {
    /// Its contents.
    pub(super) contents: Vec<String>,
    /// The responses to the calls that the client does not know, each with the number of its calls that come before.
    pub(super) responses: Vec<(usize, String)>,
}

/// A call of the client's copy.
struct Known {
    key: String,
    content: usize,
    span: Span,
    /// Another one stands in its place.
    is_taken: bool,
}

/// Puts the calls of the plan into the answers that are not taken apart.
pub(super) fn restore(
    doc: &Doc,
    view: &RequestView,
    plan: &Plan<'_>,
    edits: &mut BTreeMap<usize, Around>,
    splice: &mut Splice,
) {
    for index in plan.restored.keys().filter(|index| !plan.splits.contains_key(index)) {
        whole(doc, view, plan, *index, edits, splice);
    }
}

/// Puts the calls of the plan into one answer that stays whole.
pub(super) fn whole(
    doc: &Doc,
    view: &RequestView,
    plan: &Plan<'_>,
    index: usize,
    edits: &mut BTreeMap<usize, Around>,
    splice: &mut Splice,
) {
    let elements = contents(doc).unwrap_or_default();
    let (Some(item), Some(calls)) = (view.items.get(index), plan.restored.get(&index)) else { return };
    let Some(answer) = restored(&history::texts(doc, elements, item), calls) else { return };
    if !respond(doc, view, plan, index, &answer.responses, edits, splice) {
        return;
    }
    let spans = elements.get(item.elements.clone()).unwrap_or_default();
    for (span, content) in spans.iter().zip(answer.contents) {
        if doc.text(*span) != content {
            splice.replace(*span, content);
        }
    }
}

/// The contents of an answer with these calls in it; `None` when it has no place for one of them.
pub(super) fn restored<S: AsRef<str>>(contents: &[S], calls: &[&Restored]) -> Option<Answer> {
    let mut known: Vec<Known> =
        contents.iter().enumerate().flat_map(|(at, content)| calls_of(at, content.as_ref())).collect();
    let mut splices: Vec<Splice> = contents.iter().map(|_| Splice::new()).collect();
    let mut responses = vec![];
    for call in calls {
        // Of calls that are alike, the first that has not been spoken for.
        let find = |key: &str| known.iter().position(|known| known.key == key && !known.is_taken);
        let before = match &call.stands {
            Stands::Before(key) => {
                let at = find(key)?;
                let next = known.get(at)?;
                splices.get_mut(next.content)?.insert(next.span.start, format!("{},", call.native));
                at
            }
            Stands::Last => {
                let last = known.last()?;
                splices.get_mut(last.content)?.insert(last.span.end, format!(",{}", call.native));
                known.len()
            }
            Stands::Instead(key) => {
                let at = find(key)?;
                let copy = known.get_mut(at)?;
                copy.is_taken = true;
                splices.get_mut(copy.content)?.replace(copy.span, call.native.clone());
                continue;
            }
        };
        responses.extend(call.result.as_ref().map(|result| (before, response(result))));
    }
    let made = contents.iter().zip(splices).map(|(content, splice)| edited(content.as_ref(), splice).ok());
    Some(Answer { contents: made.collect::<Option<_>>()?, responses })
}

/// The calls of a content, named as in the facts of its item.
fn calls_of(at: usize, content: &str) -> Vec<Known> {
    let known = |(span, part): (Span, Part<'_>)| match part.kind {
        PartKind::Call(call) => {
            Some(Known { key: call_key("", &call.name, call.args), content: at, span, is_taken: false })
        }
        _ => None,
    };
    parts_of(content).into_iter().filter_map(known).collect()
}

/// The parts of a content that has a list of them, and their places in it.
fn parts_of(content: &str) -> Vec<(Span, Part<'_>)> {
    let Some(parts) = parts_span(content) else { return vec![] };
    let spans = raw::array(slice(content, parts)).unwrap_or_default();
    let spans = spans.into_iter().map(|span| span.offset(parts.start));
    spans.filter_map(|span| Some((span, Part::parse(slice(content, span)).ok()?))).collect()
}

/// Puts responses among those in the content behind an answer: the client's own stand in the order of its calls. False
/// where they have no place.
pub(super) fn respond(
    doc: &Doc,
    view: &RequestView,
    plan: &Plan<'_>,
    index: usize,
    responses: &[(usize, String)],
    edits: &mut BTreeMap<usize, Around>,
    splice: &mut Splice,
) -> bool {
    if responses.is_empty() {
        return true;
    }
    let Some(next) = view.next_speech(index).filter(|next| plan.stays(*next)) else { return false };
    let Some(item) = view.items.get(next) else { return false };
    let content = doc.text(item.span);
    // A client that repeats its responses (Gemini CLI, resumed) has said nothing new with them.
    let mut seen = HashSet::new();
    let parts = parts_of(content);
    let spans = parts.iter().filter(|(_, part)| part.response().is_some_and(|response| seen.insert(response)));
    let theirs: Vec<Span> = spans.map(|(span, _)| span.offset(item.span.start)).collect();
    let is_single = parts_span(content).is_some_and(|parts| Object::parse(slice(content, parts)).is_ok());
    let around = edits.entry(next).or_default();
    let mut front = vec![];
    let mut back = vec![];
    for (before, response) in responses {
        match (theirs.get(*before), theirs.last()) {
            (Some(span), _) => splice.insert(span.start, format!("{response},")),
            (None, Some(last)) => splice.insert(last.end, format!(",{response}")),
            (None, None) if is_single && *before > 0 => back.push(response.clone()),
            (None, None) => front.push(response.clone()),
        }
    }
    around.front.splice(0..0, front);
    around.back.splice(0..0, back);
    true
}
