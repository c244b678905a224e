//! Legs in a history of contents: written behind it for the next request, and put back into it in later ones. Both write
//! the same bytes.
//!
//! Roles alternate strictly, so a reply that follows no answer becomes a part of the user content before it, and a reply
//! that no part of an answer follows goes to the front of the user content behind it.
use super::lower::{Around, text_part};
use super::restore::{self, respond, restored};
use super::split::taken_apart;
use super::view::{contents, member};
use crate::context::{Leg, LegReply, LegResult, RequestView, Role};
use crate::dialect::plan::Plan;
use crate::dialect::{LowerError, blocks, history};
use crate::json::{Doc, Kind, Splice, raw};
use std::collections::BTreeMap;

/// The body with the leg behind its history.
pub(super) fn extend(doc: &Doc, view: &RequestView, leg: &Leg) -> Result<Splice, LowerError> {
    let mut splice = Splice::new();
    let no_place = LowerError::NoPlace { item: view.items.len() };
    let last = view.items.last().ok_or(no_place.clone())?;
    if leg.answer.is_empty() && is_users(last.role()) {
        super::lower::extend(doc, last.span, |_| 0, &[], &parts(&leg.reply), &mut splice)?.ok_or(no_place)?;
        return Ok(splice);
    }
    let elements = elements(leg);
    match member(doc, "contents") {
        Some(contents) if contents.kind == Kind::Array => {
            blocks::extend(&mut splice, contents.value, &contents.elements, 0, &[], &elements);
        }
        Some(single) if single.kind == Kind::Object => {
            blocks::wrap(&mut splice, single.value, ("", ""), &[], &elements);
        }
        _ => return Err(no_place),
    }
    Ok(splice)
}

/// Takes the answers of the plan apart. Parts for user contents beside them go to `edits`.
pub(super) fn split(
    doc: &Doc,
    view: &RequestView,
    plan: &Plan<'_>,
    edits: &mut BTreeMap<usize, Around>,
    splice: &mut Splice,
) {
    let Ok(spans) = contents(doc) else { return };
    for (index, legs) in &plan.splits {
        let Some(item) = view.items.get(*index) else { continue };
        let Some(rest) = taken_apart(&history::texts(doc, spans, item), legs) else {
            restore::whole(doc, view, plan, *index, edits, splice);
            continue;
        };
        let calls = plan.restored.get(index).and_then(|calls| restored(&rest, calls));
        let rest = match calls {
            Some(answer) if respond(doc, view, plan, *index, &answer.responses, edits, splice) => answer.contents,
            _ => rest,
        };
        let is_neighbour =
            |item: usize| plan.stays(item) && view.items.get(item).is_some_and(|found| is_users(found.role()));
        let mut said = joined(legs);
        let before = index.checked_sub(1).filter(|before| is_neighbour(*before));
        let behind = Some(index + 1).filter(|behind| is_neighbour(*behind));
        if let (Some(Turn::User(_)), Some(before)) = (said.first(), before) {
            edits.entry(before).or_default().back.append(&mut said.remove(0).into_parts());
        }
        if rest.is_empty()
            && said.len() > 1
            && let (Some(Turn::User(_)), Some(behind)) = (said.last(), behind)
            && let Some(Turn::User(parts)) = said.pop()
        {
            let around = edits.entry(behind).or_default();
            match view.items.get(behind).map(|item| item.role()) {
                // Never ahead of a function's response.
                Some(Role::Tool) => around.back.extend(parts),
                _ => around.front.splice(0..0, parts).for_each(drop),
            }
        }
        let elements: Vec<String> = said.into_iter().map(Turn::content).chain(rest).collect();
        if !elements.is_empty() {
            splice.replace(item.span, elements.join(","));
        }
    }
}

/// One content that a leg makes.
enum Turn {
    /// The model's, as it was said.
    Model(String),
    /// The parts of a user content.
    User(Vec<String>),
}

impl Turn {
    fn into_parts(self) -> Vec<String> {
        match self {
            Self::Model(_) => vec![],
            Self::User(parts) => parts,
        }
    }

    fn content(self) -> String {
        match self {
            Self::Model(content) => content,
            Self::User(parts) => format!(r#"{{"role":"user","parts":[{}]}}"#, parts.join(",")),
        }
    }
}

/// The contents that legs are together: replies between which nothing was said are one.
fn joined(legs: &[Leg]) -> Vec<Turn> {
    let mut turns = vec![];
    for leg in legs {
        turns.extend(leg.answer.iter().cloned().map(Turn::Model));
        match turns.last_mut() {
            Some(Turn::User(before)) => before.extend(parts(&leg.reply)),
            _ => turns.push(Turn::User(parts(&leg.reply))),
        }
    }
    turns
}

fn elements(leg: &Leg) -> Vec<String> {
    joined(std::slice::from_ref(leg)).into_iter().map(Turn::content).collect()
}

const fn is_users(role: Role) -> bool {
    matches!(role, Role::User | Role::Tool)
}

fn parts(reply: &LegReply) -> Vec<String> {
    match reply {
        LegReply::Message(text) => vec![text_part(text)],
        LegReply::Results(results) => results.iter().map(response).collect(),
    }
}

/// `output` and `error` are the keys that the API's page on function calling names.
pub(super) fn response(result: &LegResult) -> String {
    let id = match result.id.as_str() {
        "" => String::new(),
        id => format!(r#""id":{},"#, raw::quote(id)),
    };
    let key = if result.is_error { "error" } else { "output" };
    let (name, text) = (raw::quote(&result.name), raw::quote(&result.text));
    format!(r#"{{"functionResponse":{{{id}"name":{name},"response":{{"{key}":{text}}}}}}}"#)
}
