//! Legs in a Messages history: written behind it for the next request, and put back into it in later ones. Both write the
//! same bytes: signed thinking of the later answers is bound to them.
use super::restore::restored;
use super::split::taken_apart;
use crate::context::{Delta, Leg, LegReply, LegResult, RequestView, Role};
use crate::dialect::object::Object;
use crate::dialect::plan::Plan;
use crate::dialect::{LowerError, blocks, history};
use crate::json::{Doc, Kind, Splice, raw};

/// The body with the leg behind its history, or, in a thread, with the reply alone.
pub(super) fn extend(doc: &Doc, view: &RequestView, leg: &Leg) -> Result<Splice, LowerError> {
    let no_place = LowerError::NoPlace { item: view.items.len() };
    let Some(messages) = doc.get("messages").filter(|messages| messages.kind == Kind::Array) else {
        return Err(no_place);
    };
    let mut splice = Splice::new();
    if matches!(view.delta, Some(Delta::ThreadContinue(_))) {
        goes_on_behind(doc, leg.id.as_deref().ok_or(no_place)?, &mut splice)?;
        splice.replace(messages.value, format!("[{}]", reply(&leg.reply)));
        return Ok(splice);
    }
    match before_instructions(view, view.items.len()).filter(|_| leg.answer.is_empty()) {
        Some(at) => splice.insert(at, format!("{},", reply(&leg.reply))),
        None => blocks::extend(&mut splice, messages.value, &messages.elements, 0, &[], &elements(leg)),
    }
    Ok(splice)
}

/// Takes the answers of the plan apart.
pub(super) fn split(doc: &Doc, view: &RequestView, plan: &Plan<'_>, splice: &mut Splice) {
    let Some(messages) = doc.get("messages") else { return };
    for (index, legs) in &plan.splits {
        let Some(item) = view.items.get(*index) else { continue };
        let Some(rest) = taken_apart(&history::texts(doc, &messages.elements, item), legs) else { continue };
        let rest = match plan.restored.get(index) {
            Some(calls) => restored(&rest, calls).unwrap_or(rest),
            None => rest,
        };
        let mut legs = *legs;
        if let ([first, later @ ..], Some(at)) = (legs, before_instructions(view, *index))
            && first.answer.is_empty()
            && plan.stays(index - 1)
            && !(later.is_empty() && rest.is_empty())
        {
            splice.insert(at, format!("{},", reply(&first.reply)));
            legs = later;
        }
        let parts: Vec<String> = legs.iter().flat_map(elements).chain(rest).collect();
        splice.replace(item.span, parts.join(","));
    }
}

/// Puts another id in the place of the message that a thread goes on behind.
///
/// # Errors
/// [`LowerError::Scan`] when `thread` can't be read.
pub(super) fn goes_on_behind(doc: &Doc, id: &str, splice: &mut Splice) -> Result<(), LowerError> {
    let Some(thread) = doc.get("thread").filter(|thread| thread.kind == Kind::Object) else { return Ok(()) };
    if let Some(span) = Object::parse(doc.text(thread.value))?.span("previous_message_id") {
        splice.replace(span.offset(thread.value.start), raw::quote(id));
    }
    Ok(())
}

/// Where the instructions begin that stand right before item `end`. A user message that follows no answer goes there:
/// behind an instruction only an answer may stand (the platform's page on mid-conversation system messages).
fn before_instructions(view: &RequestView, end: usize) -> Option<usize> {
    let before = view.items.get(..end)?.iter().rev();
    before.take_while(|item| item.role() == Role::System).last().map(|item| item.span.start)
}

/// The messages that a leg is: what the model said, and what it was told.
fn elements(leg: &Leg) -> Vec<String> {
    leg.answer.iter().cloned().chain([reply(&leg.reply)]).collect()
}

fn reply(reply: &LegReply) -> String {
    let content = match reply {
        LegReply::Message(text) => raw::quote(text),
        LegReply::Results(results) => format!("[{}]", results.iter().map(result).collect::<Vec<_>>().join(",")),
    };
    format!(r#"{{"role":"user","content":{content}}}"#)
}

/// Blank text is refused, no content is not.
pub(super) fn result(result: &LegResult) -> String {
    let content = match result.text.trim().is_empty() {
        true => String::new(),
        false => format!(r#","content":{}"#, raw::quote(&result.text)),
    };
    let error = if result.is_error { r#","is_error":true"# } else { "" };
    format!(r#"{{"type":"tool_result","tool_use_id":{}{content}{error}}}"#, raw::quote(&result.id))
}
