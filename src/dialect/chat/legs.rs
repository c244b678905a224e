//! What the model is sent of answers that were not the last, now and in every later request. Both ways write the same
//! bytes (invariant I6).
use super::restore::restored;
use super::{element, view};
use crate::context::{Leg, LegReply, LegResult, RequestView, Restored};
use crate::dialect::object::{Object, slice};
use crate::dialect::openai::copy::{self, Left};
use crate::dialect::openai::element::{Element, Text};
use crate::dialect::rewrite::edited;
use crate::dialect::split::Border;
use crate::dialect::{LowerError, blocks};
use crate::json::{Doc, ScanError, Span, Splice, raw};
use std::collections::HashSet;

/// The request of the next leg: see `Dialect::extend`.
pub(super) fn extend(doc: &Doc, view: &RequestView, leg: &Leg) -> Result<Splice, LowerError> {
    let messages = view::messages(doc).ok_or(LowerError::NoPlace { item: view.items.len() })?;
    let mut splice = Splice::new();
    let end = messages.elements.len();
    blocks::extend(&mut splice, messages.value, &messages.elements, end, &[], &messages_of(leg));
    Ok(splice)
}

/// A leg as messages: the answer, and what the model was told.
fn messages_of(leg: &Leg) -> Vec<String> {
    let reply = match &leg.reply {
        LegReply::Message(text) => vec![format!(r#"{{"role":"user","content":{}}}"#, raw::quote(text))],
        LegReply::Results(results) => results.iter().map(result).collect(),
    };
    leg.answer.iter().cloned().chain(reply).collect()
}

/// What the model is told of a call.
pub(super) fn result(result: &LegResult) -> String {
    let [id, text] = [&result.id, &result.text].map(|text| raw::quote(text));
    format!(r#"{{"role":"tool","tool_call_id":{id},"content":{text}}}"#)
}

/// The messages of the legs, and what is left of the client's `copy` of all, with these calls in it again; `None` if the
/// copy is not theirs. Whether the calls found their place is said beside it.
///
/// # Errors
/// [`ScanError`] if a message can't be read.
pub(super) fn apart<'a>(
    copy: impl Iterator<Item = &'a str>,
    legs: &[Leg],
    calls: &[&Restored],
) -> Result<Option<(String, bool)>, ScanError> {
    let answers: Vec<Element<'_>> =
        legs.iter().flat_map(|leg| &leg.answer).map(|answer| element::read(answer)).collect::<Result<_, _>>()?;
    let mut border = Border::behind(answers.iter().flat_map(|answer| &answer.texts).map(Text::value));
    let known: HashSet<&str> = answers.iter().flat_map(|answer| &answer.calls).map(|call| call.id.as_ref()).collect();
    let mut rest = vec![];
    for message in copy {
        if !add_rest(&mut rest, message, &mut border, &known)? {
            return Ok(None);
        }
    }
    if !border.is_reached() {
        return Ok(None);
    }
    let whole = restored(&rest, calls);
    let found = whole.is_some();
    let apart: Vec<String> = legs.iter().flat_map(messages_of).chain(whole.unwrap_or(rest)).collect();
    Ok(Some((apart.join(","), found)))
}

/// Adds what is left of one message of the copy; false if its text is not the legs'. `known` are the ids of their calls.
fn add_rest(
    apart: &mut Vec<String>,
    message: &str,
    border: &mut Border,
    known: &HashSet<&str>,
) -> Result<bool, ScanError> {
    let element = element::read(message)?;
    let mut splice = Splice::new();
    let Some(left) = copy::cut(&mut splice, message, &element, border) else { return Ok(false) };
    let is_known = |index: usize| element.calls.get(index).is_some_and(|call| known.contains(call.id.as_ref()));
    let theirs = (0..element.calls.len()).filter(|index| is_known(*index)).count();
    let own_calls = theirs < element.calls.len();
    if (left == Left::Nothing || theirs > 0) && !own_calls && !has_own_words(message, &element, left)? {
        return Ok(true);
    }
    if let Some(content) = element.body.filter(|_| left == Left::Nothing) {
        splice.replace(content, "null");
    }
    match Object::parse(message)?.value_span("tool_calls") {
        Some(calls) if own_calls => {
            let list = raw::array(slice(message, calls)).unwrap_or_default();
            let list: Vec<Span> = list.into_iter().map(|call| call.offset(calls.start)).collect();
            blocks::remove(&mut splice, &list, is_known);
        }
        // An empty list of calls is refused.
        Some(_) if theirs > 0 => {
            blocks::remove_members(&mut splice, 0, &raw::object(message)?, |key| key == "tool_calls")
        }
        _ => {}
    }
    let rest = edited(message, splice).ok();
    let found = rest.is_some();
    apart.extend(rest);
    Ok(found)
}

/// Whether the message says something besides calls, when this is `left` of its content.
fn has_own_words(message: &str, element: &Element<'_>, left: Left) -> Result<bool, ScanError> {
    let text = left == Left::Some && element.texts.iter().any(|text| !text.value().is_empty());
    let other = element.refused || !element.attachments.is_empty();
    Ok(text || other || Object::parse(message)?.get("audio").is_some())
}
