//! Placements to edits of a Messages body.
//!
//! Text goes behind the client's own blocks, never before a tool result; a string becomes an array whose first block
//! keeps the client's bytes, so that the model sees the same whether the client sent a string or one text block.
use super::view::content;
use super::{legs, restore, results};
use crate::context::{Place, RequestView, Role};
use crate::dialect::history::server_waits;
use crate::dialect::object::{Object, slice};
use crate::dialect::plan::{Omission, Plan, ResultEdits};
use crate::dialect::{LowerError, blocks};
use crate::json::{Doc, Kind, Span, Splice, raw};
use std::collections::BTreeMap;

/// What changes in one message.
#[derive(Debug, Default)]
struct Around<'a> {
    front: Vec<String>,
    back: Vec<String>,
    /// Texts for the last tool result.
    result: Vec<String>,
    /// Edits of single results.
    results: ResultEdits<'a>,
}

/// Lowers all placements of a request.
pub(super) fn lower(doc: &Doc, view: &RequestView, places: &[Place]) -> Result<Splice, LowerError> {
    let mut plan = Plan::new(places, view)?;
    let mut splice = Splice::new();
    system(doc, view, &plan, &mut splice)?;
    let mut edits: BTreeMap<usize, Around<'_>> = BTreeMap::new();
    for (item, results) in std::mem::take(&mut plan.results) {
        edits.entry(item).or_default().results = results;
    }
    omit(doc, view, &plan, &mut edits, &mut splice)?;
    for (item, texts) in &plan.tails {
        let around = edits.entry(*item).or_default();
        let blocks = texts.iter().map(|text| text_block(text));
        match view.items.get(*item).map(|found| found.role()) {
            Some(Role::User) => around.back.extend(blocks),
            Some(Role::Tool) if !server_waits(&view.items, *item) => around.result.extend(blocks),
            _ => return Err(LowerError::NoPlace { item: *item }),
        }
    }
    for (item, results) in restore::restore(doc, view, &plan, &mut splice)? {
        edits.entry(item).or_default().front.splice(0..0, results);
    }
    for (item, around) in &edits {
        message(doc, view, *item, around, &mut splice)?;
    }
    legs::split(doc, view, &plan, &mut splice);
    if let Some(id) = plan.goes_on_behind {
        legs::goes_on_behind(doc, id, &mut splice)?;
    }
    Ok(splice)
}

/// A block of nothing but text.
pub(super) fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, raw::quote(text))
}

/// A string stays a string and an array an array; where there is none, a string is made.
fn system(doc: &Doc, view: &RequestView, plan: &Plan<'_>, splice: &mut Splice) -> Result<(), LowerError> {
    let (front, end) = (&plan.front, &plan.end);
    if front.is_empty() && end.is_empty() {
        return Ok(());
    }
    if !view.system_open {
        return Err(LowerError::NoSystem);
    }
    let all = || raw::quote(&[front.as_slice(), end].concat().join("\n\n"));
    let Some(member) = doc.get("system") else {
        blocks::append_member(splice, doc, "system", &all());
        return Ok(());
    };
    match member.kind {
        Kind::Null => splice.replace(member.value, all()),
        Kind::String if doc.text(member.value) == r#""""# => splice.replace(member.value, all()),
        Kind::String => system_string(member.value, plan, splice),
        Kind::Array => {
            let at = blocks::behind(&member.elements, &view.system, plan.after);
            let made = |texts: &[&str]| texts.iter().map(|text| text_block(text)).collect::<Vec<_>>();
            blocks::extend(splice, member.value, &member.elements, at, &made(front), &made(end));
        }
        _ => return Err(LowerError::NoSystem),
    }
    Ok(())
}

fn system_string(value: Span, plan: &Plan<'_>, splice: &mut Splice) {
    let joined = |texts: &[&str]| texts.iter().map(|text| format!("\n\n{text}")).collect::<String>();
    let close = value.end.saturating_sub(1);
    if plan.after == 0 {
        let front: String = plan.front.iter().map(|text| format!("{text}\n\n")).collect();
        splice.insert(value.start + 1, raw::escape(&front));
    } else {
        splice.insert(close, raw::escape(&joined(&plan.front)));
    }
    splice.insert(close, raw::escape(&joined(&plan.end)));
}

/// Leaves items out. Reminder blocks move to the front of the next user message (behind the results, where it has some),
/// system messages right behind it: first or behind an answer they would be refused.
fn omit(
    doc: &Doc,
    view: &RequestView,
    plan: &Plan<'_>,
    edits: &mut BTreeMap<usize, Around<'_>>,
    splice: &mut Splice,
) -> Result<(), LowerError> {
    let Some(messages) = doc.get("messages") else { return Ok(()) };
    for omission in &plan.omissions {
        let (reminders, instructions) = left_behind(doc, view, omission);
        if reminders.is_empty() && instructions.is_empty() {
            continue;
        }
        let no_place = LowerError::NoPlace { item: omission.items.start };
        let heir = omission.heir.ok_or(no_place.clone())?;
        let item = view.items.get(heir).ok_or(no_place)?;
        if !instructions.is_empty() {
            splice.insert(item.span.end, format!(",{}", instructions.join(",")));
        }
        let around = edits.entry(heir).or_default();
        let side = if item.role() == Role::User { &mut around.front } else { &mut around.back };
        side.extend(reminders);
    }
    plan.remove_omitted(splice, &messages.elements, view);
    Ok(())
}

/// Reminder blocks and system messages among omitted items, as the client wrote them.
fn left_behind(doc: &Doc, view: &RequestView, omission: &Omission) -> (Vec<String>, Vec<String>) {
    let (mut reminders, mut instructions) = (vec![], vec![]);
    for item in view.items.get(omission.items.clone()).unwrap_or_default() {
        let message = doc.text(item.span);
        if item.role() == Role::System {
            instructions.push(message.to_owned());
            continue;
        }
        if item.facts.reminders.is_empty() {
            continue;
        }
        let content = content(message).unwrap_or_default();
        match raw::array(content) {
            Some(elements) => {
                let spans = item.facts.reminders.iter().filter_map(|index| elements.get(*index));
                reminders.extend(spans.map(|span| slice(content, *span).to_owned()));
            }
            None => reminders.push(format!(r#"{{"type":"text","text":{content}}}"#)),
        }
    }
    (reminders, instructions)
}

fn message(
    doc: &Doc,
    view: &RequestView,
    item: usize,
    around: &Around<'_>,
    splice: &mut Splice,
) -> Result<(), LowerError> {
    let no_place = LowerError::NoPlace { item };
    let Some(found) = view.items.get(item) else { return Err(no_place) };
    let text = doc.text(found.span);
    let object = Object::parse(text)?;
    let Some(content) = object.span("content") else { return Err(no_place) };
    let content = content.offset(found.span.start);
    if !around.result.is_empty() || !around.results.is_empty() {
        results::edit(doc, content, &around.results, &around.result, splice)?.ok_or(no_place.clone())?;
    }
    if !around.front.is_empty() || !around.back.is_empty() {
        extend(doc.text(content), content, &around.front, &around.back, splice).ok_or(no_place)?;
    }
    Ok(())
}

/// Puts blocks around a content. `None`: it is neither a string nor an array.
pub(super) fn extend(raw: &str, content: Span, front: &[String], back: &[String], splice: &mut Splice) -> Option<()> {
    match raw::kind(raw)? {
        Kind::Array => {
            let elements = raw::array(raw)?;
            let elements: Vec<Span> = elements.into_iter().map(|span| span.offset(content.start)).collect();
            blocks::extend(splice, content, &elements, 0, front, back);
        }
        Kind::String if raw != r#""""# => {
            blocks::wrap(splice, content, (r#"{"type":"text","text":"#, "}"), front, back);
        }
        Kind::String | Kind::Null => splice.replace(content, format!("[{}]", [front, back].concat().join(","))),
        _ => return None,
    }
    Some(())
}
