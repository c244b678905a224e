//! Placements to edits of a generateContent body.
//!
//! Always a text part behind the client's own parts of a content that is there: a new content would break the strict
//! alternation of roles. Parts with a signature are the model's, and are never touched.
use super::view::{contents, parts_span, spelled};
use super::{legs, restore, results};
use crate::context::{Place, RequestView, Role};
use crate::dialect::object::{Object, slice};
use crate::dialect::plan::{Omission, Plan};
use crate::dialect::{LowerError, blocks};
use crate::json::{Doc, Kind, Span, Splice, raw};
use std::collections::BTreeMap;

/// Parts to put around the client's own in one content.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// Parts ahead of them.
    pub(super) front: Vec<String>,
    /// Parts behind them.
    pub(super) back: Vec<String>,
}

/// Lowers all placements of a request.
pub(super) fn lower(doc: &Doc, view: &RequestView, places: &[Place]) -> Result<Splice, LowerError> {
    let plan = Plan::new(places, view)?;
    let mut splice = Splice::new();
    system(doc, view, &plan, &mut splice)?;
    let mut edits: BTreeMap<usize, Around> = BTreeMap::new();
    for omission in &plan.omissions {
        let reminders = left_behind(doc, view, omission);
        if reminders.is_empty() {
            continue;
        }
        let heir = omission.heir.ok_or(LowerError::NoPlace { item: omission.items.start })?;
        let around = edits.entry(heir).or_default();
        let is_user = view.items.get(heir).is_some_and(|item| item.role() == Role::User);
        let side = if is_user { &mut around.front } else { &mut around.back };
        side.extend(reminders);
    }
    for (item, texts) in &plan.tails {
        if !view.items.get(*item).is_some_and(|found| matches!(found.role(), Role::User | Role::Tool)) {
            return Err(LowerError::NoPlace { item: *item });
        }
        edits.entry(*item).or_default().back.extend(texts.iter().map(|text| text_part(text)));
    }
    for (item, results) in &plan.results {
        let no_place = LowerError::NoPlace { item: *item };
        let found = view.items.get(*item).filter(|found| found.role() == Role::Tool).ok_or(no_place.clone())?;
        results::edit(doc, found.span, results, &mut splice)?.ok_or(no_place)?;
    }
    restore::restore(doc, view, &plan, &mut edits, &mut splice);
    legs::split(doc, view, &plan, &mut edits, &mut splice);
    for (item, around) in &edits {
        let Some(found) = view.items.get(*item) else { continue };
        extend(doc, found.span, |_| 0, &around.front, &around.back, &mut splice)?
            .ok_or(LowerError::NoPlace { item: *item })?;
    }
    let elements = contents(doc).map_err(|_| LowerError::NoPlace { item: 0 })?;
    plan.remove_omitted(&mut splice, elements, view);
    Ok(splice)
}

/// A part of nothing but text.
pub(super) fn text_part(text: &str) -> String {
    format!(r#"{{"text":{}}}"#, raw::quote(text))
}

fn system(doc: &Doc, view: &RequestView, plan: &Plan<'_>, splice: &mut Splice) -> Result<(), LowerError> {
    let made = |texts: &[&str]| texts.iter().map(|text| text_part(text)).collect::<Vec<_>>();
    let (front, end) = (made(&plan.front), made(&plan.end));
    if front.is_empty() && end.is_empty() {
        return Ok(());
    }
    if !view.system_open {
        return Err(LowerError::NoSystem);
    }
    let whole = || format!(r#"{{"parts":[{}]}}"#, [front.as_slice(), &end].concat().join(","));
    match spelled(doc, "systemInstruction") {
        None => blocks::append_member(splice, doc, "systemInstruction", &whole()),
        Some(member) if member.kind == Kind::Null => splice.replace(member.value, whole()),
        Some(member) => {
            let at = |elements: &[Span]| blocks::behind(elements, &view.system, plan.after);
            extend(doc, member.value, at, &front, &end, splice)?.ok_or(LowerError::NoSystem)?;
        }
    }
    Ok(())
}

/// Reminder parts among omitted items, as the client wrote them.
fn left_behind(doc: &Doc, view: &RequestView, omission: &Omission) -> Vec<String> {
    let mut reminders = vec![];
    let omitted = view.items.get(omission.items.clone()).unwrap_or_default();
    for item in omitted.iter().filter(|item| !item.facts.reminders.is_empty()) {
        let content = doc.text(item.span);
        let Some(parts) = parts_span(content).map(|span| slice(content, span)) else { continue };
        match raw::array(parts) {
            Some(elements) => {
                let spans = item.facts.reminders.iter().filter_map(|index| elements.get(*index));
                reminders.extend(spans.map(|span| slice(parts, *span).to_owned()));
            }
            None => reminders.push(parts.to_owned()),
        }
    }
    reminders
}

/// Puts parts into a content: `inner` before element `at`, `back` behind the last. `None`: its parts are of no known
/// shape.
pub(super) fn extend(
    doc: &Doc,
    content: Span,
    at: impl Fn(&[Span]) -> usize,
    inner: &[String],
    back: &[String],
    splice: &mut Splice,
) -> Result<Option<()>, LowerError> {
    if inner.is_empty() && back.is_empty() {
        return Ok(Some(()));
    }
    let object = Object::parse_proto(doc.text(content))?;
    let list = || [inner, back].concat().join(",");
    let Some(parts) = object.span("parts").map(|span| span.offset(content.start)) else {
        let comma = if object.entries().next().is_some() { "," } else { "" };
        splice.insert(content.end.saturating_sub(1), format!(r#"{comma}"parts":[{}]"#, list()));
        return Ok(Some(()));
    };
    match raw::kind(doc.text(parts)) {
        Some(Kind::Array) => {
            let elements: Vec<Span> = raw::array(doc.text(parts))
                .unwrap_or_default()
                .into_iter()
                .map(|element| element.offset(parts.start))
                .collect();
            blocks::extend(splice, parts, &elements, at(&elements), inner, back);
        }
        Some(Kind::Object) if at(&[parts]) == 0 => blocks::wrap(splice, parts, ("", ""), inner, back),
        Some(Kind::Object) => blocks::wrap(splice, parts, ("", ""), &[], &[inner, back].concat()),
        Some(Kind::Null) => splice.replace(parts, format!("[{}]", list())),
        _ => return Ok(None),
    }
    Ok(Some(()))
}
