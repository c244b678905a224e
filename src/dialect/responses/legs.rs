//! What the model is sent of answers that were not the last, now and in every later request. Both ways write the same
//! bytes (invariant I6).
use super::view::Input;
use super::{element, restore};
use crate::context::{Delta, Leg, LegReply, LegResult, RequestView, Restored, Role};
use crate::dialect::object::Object;
use crate::dialect::openai::copy::{self, Left};
use crate::dialect::openai::element::{Element, Text};
use crate::dialect::openai::set;
use crate::dialect::rewrite::{Rewrite, edited};
use crate::dialect::split::Border;
use crate::dialect::{LowerError, blocks};
use crate::json::{Doc, ScanError, Splice, raw};
use std::collections::HashSet;

/// The request of the next leg: see `Dialect::extend`. What goes on behind a stored response or in a conversation carries
/// only the reply. With `store: false` there is no stored response to go on behind.
pub(super) fn extend(doc: &Doc, view: &RequestView, leg: &Leg) -> Result<Splice, LowerError> {
    let no_place = LowerError::NoPlace { item: view.items.len() };
    let mut splice = Splice::new();
    match &view.delta {
        Some(Delta::PreviousResponse(_)) if is_stored(doc) => {
            go_on_behind(&mut splice, doc, leg.id.as_deref().ok_or(no_place)?);
            put_input(&mut splice, doc, &reply(leg));
        }
        Some(Delta::Conversation(_)) => put_input(&mut splice, doc, &reply(leg)),
        _ => append(&mut splice, doc, &items_of(doc, leg)).ok_or(no_place)?,
    }
    Ok(splice)
}

/// Names the response that a delta goes on behind.
pub(super) fn go_on_behind(splice: &mut Splice, doc: &Doc, id: &str) {
    if let Some(member) = set(doc, "previous_response_id") {
        splice.replace(member.value, raw::quote(id));
    }
}

fn put_input(splice: &mut Splice, doc: &Doc, items: &[String]) {
    let list = format!("[{}]", items.join(","));
    match doc.get("input") {
        Some(input) => splice.replace(input.value, list),
        None => blocks::append_member(splice, doc, "input", &list),
    }
}

fn append(splice: &mut Splice, doc: &Doc, items: &[String]) -> Option<()> {
    let input = Input::of(doc)?;
    match input.value {
        None => put_input(splice, doc, items),
        // The string stands for this message.
        Some(value) if input.is_string => {
            blocks::wrap(splice, value, (r#"{"type":"message","role":"user","content":"#, "}"), &[], items);
        }
        Some(value) => blocks::extend(splice, value, &input.items, input.items.len(), &[], items),
    }
    Some(())
}

/// Whether the provider keeps what it answers: it does unless it is told not to.
fn is_stored(doc: &Doc) -> bool {
    set(doc, "store").is_none_or(|member| doc.text(member.value) != "false")
}

/// A leg as input items: the answer, and what the model was told.
fn items_of(doc: &Doc, leg: &Leg) -> Vec<String> {
    let stored = is_stored(doc);
    let answer = leg.answer.iter().filter_map(|item| if stored { Some(item.clone()) } else { unstored(item) });
    answer.chain(reply(leg)).collect()
}

/// Calls as items of this request.
pub(super) fn natives(doc: &Doc, calls: &[&Restored]) -> Vec<String> {
    let bare = |call: &&Restored| unstored(&call.native).unwrap_or_else(|| call.native.clone());
    match is_stored(doc) {
        true => calls.iter().map(|call| call.native.clone()).collect(),
        false => calls.iter().map(bare).collect(),
    }
}

/// An item of an answer that the provider does not keep: an id would name nothing, and reasoning that is not in the item
/// itself is lost.
fn unstored(item: &str) -> Option<String> {
    let is_reasoning = raw::get_str(item, "type").as_deref() == Some("reasoning");
    if is_reasoning && raw::get_str(item, "encrypted_content").is_none_or(|content| content.is_empty()) {
        return None;
    }
    let mut bare = Rewrite::of(item).ok()?;
    bare.retain(|key| key != "id");
    Some(bare.finish())
}

fn reply(leg: &Leg) -> Vec<String> {
    match &leg.reply {
        LegReply::Message(text) => vec![format!(
            r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":{}}}]}}"#,
            raw::quote(text)
        )],
        LegReply::Results(results) => results.iter().map(result).collect(),
    }
}

/// Whether a call of this type has results that the gateway can give: a screenshot it can't, nor what it does not know.
pub(super) fn takes_words(kind: &str) -> bool {
    const WORDS: [&str; 6] =
        ["function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call"];
    WORDS.contains(&kind)
}

/// What the model is told of a call. Each kind of tool has results of its own; a search that was not made found nothing, and
/// has no place for why.
pub(super) fn result(result: &LegResult) -> String {
    let [id, text] = [&result.id, &result.text].map(|text| raw::quote(text));
    match result.kind.as_str() {
        "custom_tool_call" => format!(r#"{{"type":"custom_tool_call_output","call_id":{id},"output":{text}}}"#),
        "local_shell_call" => format!(r#"{{"type":"local_shell_call_output","id":{id},"output":{text}}}"#),
        "shell_call" => format!(
            r#"{{"type":"shell_call_output","call_id":{id},"output":[{{"stdout":"","stderr":{text},"outcome":{{"type":"exit","exit_code":1}}}}]}}"#
        ),
        "apply_patch_call" => {
            format!(r#"{{"type":"apply_patch_call_output","call_id":{id},"status":"failed","output":{text}}}"#)
        }
        "tool_search_call" => format!(
            r#"{{"type":"tool_search_output","call_id":{id},"execution":"client","status":"completed","tools":[]}}"#
        ),
        _ => format!(r#"{{"type":"function_call_output","call_id":{id},"output":{text}}}"#),
    }
}

/// The items of the legs, and what is left of the client's `copy` of all, with these calls in it again; `None` if the copy
/// is not theirs. Whether the calls found their place is said beside it.
///
/// # Errors
/// [`ScanError`] if an item can't be read.
pub(super) fn apart<'a>(
    doc: &Doc,
    copy: impl Iterator<Item = &'a str>,
    legs: &[Leg],
    calls: &[&Restored],
) -> Result<Option<(String, bool)>, ScanError> {
    let answers = || legs.iter().flat_map(|leg| &leg.answer);
    let elements: Vec<Element<'_>> = answers().map(|item| element::read(item)).collect::<Result<_, _>>()?;
    let mut border = Border::behind(elements.iter().flat_map(|element| &element.texts).map(Text::value));
    let mut known = HashSet::new();
    for item in answers() {
        known.extend(marks(item)?);
    }
    let mut rest: Vec<String> = vec![];
    for item in copy {
        let element = element::read(item)?;
        if element.role.0 == Role::Assistant && element.body.is_some() {
            let mut splice = Splice::new();
            match copy::cut(&mut splice, item, &element, &mut border) {
                Some(Left::Some) => rest.extend(edited(item, splice)),
                Some(Left::Nothing) => {}
                None => return Ok(None),
            }
        } else if marks(item)?.is_disjoint(&known) {
            rest.push(item.to_owned());
        }
    }
    if !border.is_reached() {
        return Ok(None);
    }
    let slots = restore::slots(&rest, calls);
    let found = slots.is_some();
    let rest = match slots {
        Some(slots) => restore::restored(rest, &slots, &natives(doc, calls)),
        None => rest,
    };
    let apart: Vec<String> = legs.iter().flat_map(|leg| items_of(doc, leg)).chain(rest).collect();
    Ok(Some((apart.join(","), found)))
}

/// What tells an item without text from all others. Clients drop ids, or all but them.
fn marks(item: &str) -> Result<HashSet<String>, ScanError> {
    let object = Object::parse(item)?;
    let mark = |key: &str| object.string(key).filter(|mark| !mark.is_empty()).map(|mark| format!("{key}:{mark}"));
    Ok(["id", "call_id", "encrypted_content"].into_iter().filter_map(mark).collect())
}
