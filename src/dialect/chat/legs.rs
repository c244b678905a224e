//! What the model is sent of answers that were not the last, now and in every later request. Both ways write the same
//! bytes (invariant I6).
use super::{element, view};
use crate::context::{Leg, LegReply, RequestView};
use crate::dialect::object::{Object, slice};
use crate::dialect::openai::copy::{self, Left};
use crate::dialect::openai::element::{Element, Text};
use crate::dialect::openai::frame::edited;
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
        LegReply::Results(results) => results
            .iter()
            .map(|result| {
                let [id, text] = [&result.id, &result.text].map(|text| raw::quote(text));
                format!(r#"{{"role":"tool","tool_call_id":{id},"content":{text}}}"#)
            })
            .collect(),
    };
    leg.answer.iter().cloned().chain(reply).collect()
}

/// The messages of the legs, and what is left of the client's `copy` of all; `None` if the copy is not theirs.
///
/// # Errors
/// [`ScanError`] if a message can't be read.
pub(super) fn apart<'a>(copy: impl Iterator<Item = &'a str>, legs: &[Leg]) -> Result<Option<String>, ScanError> {
    let answers: Vec<Element<'_>> =
        legs.iter().flat_map(|leg| &leg.answer).map(|answer| element::read(answer)).collect::<Result<_, _>>()?;
    let mut border = Border::behind(answers.iter().flat_map(|answer| &answer.texts).map(Text::value));
    let calls: HashSet<&str> = answers.iter().flat_map(|answer| &answer.calls).map(|call| call.id.as_ref()).collect();
    let mut apart: Vec<String> = legs.iter().flat_map(messages_of).collect();
    for message in copy {
        match rest(message, &mut border, &calls)? {
            Some(rest) => apart.extend(rest),
            None => return Ok(None),
        }
    }
    Ok(border.is_reached().then(|| apart.join(",")))
}

/// What is left of one message of the copy, if anything; `None` if its text is not the legs'.
fn rest(message: &str, border: &mut Border, known: &HashSet<&str>) -> Result<Option<Option<String>>, ScanError> {
    let element = element::read(message)?;
    let object = Object::parse(message)?;
    let mut splice = Splice::new();
    let Some(left) = copy::cut(&mut splice, message, &element, border) else { return Ok(None) };
    let is_known = |index: usize| element.calls.get(index).is_some_and(|call| known.contains(call.id.as_ref()));
    let own_calls = (0..element.calls.len()).any(|index| !is_known(index));
    let own_text = left == Left::Some && (element.texts.iter().any(|text| !text.value().is_empty()));
    let attached = object.get("audio").is_some() || !element.attachments.is_empty();
    let taken = left == Left::Nothing || (!element.calls.is_empty() && !own_calls);
    if taken && !own_calls && !own_text && !attached {
        return Ok(Some(None));
    }
    if left == Left::Nothing
        && let Some(content) = element.body
    {
        splice.replace(content, "null");
    }
    if let Some(calls) = object.value_span("tool_calls") {
        if own_calls {
            let list = raw::array(slice(message, calls)).unwrap_or_default();
            let list: Vec<Span> = list.into_iter().map(|call| call.offset(calls.start)).collect();
            blocks::remove(&mut splice, &list, is_known);
        } else if (0..element.calls.len()).any(is_known) {
            without(&mut splice, message, "tool_calls")?;
        }
    }
    Ok(edited(message, splice).ok().map(Some))
}

/// Takes a member out: an empty list of calls is refused.
fn without(splice: &mut Splice, object: &str, key: &str) -> Result<(), ScanError> {
    let fields = raw::object(object)?;
    let members: Vec<Span> = fields.iter().map(|field| Span::new(field.key_span.start, field.value.end)).collect();
    blocks::remove(splice, &members, |index| fields.get(index).is_some_and(|field| field.key == key));
    Ok(())
}
