//! `tools.remove` and `tools.keep`.
use super::definition::Definition;
use super::judge::{Judge, List, Verdict, all_go, judged};
use super::{Body, Holder, choice};
use crate::dialect::edit::{Changes, Fields, Keys, Sieve};
use crate::dialect::{EditError, blocks};
use crate::json::{Doc, ScanError, Span, Splice};
use std::collections::HashSet;

/// Leaves only the tools that the sieve lets through, and no choice of another one.
pub(super) fn sift(body: &Body<'_>, sieve: Sieve<'_>) -> Result<Splice, EditError> {
    let mut judge = Judge::new(Some(sieve));
    let carriers = body.carriers();
    let lists = judged(body, &carriers, &mut judge);
    judge.is_clear()?;
    let (mut splice, mut changes) = (Splice::new(), Changes::default());
    let mut items = HashSet::new();
    for (carrier, list) in carriers.iter().zip(&lists).filter(|(_, list)| !list.is_empty()) {
        match carrier.holder {
            Holder::Member(key) if all_go(list) => changes.remove(&[key]),
            Holder::Item(index) if all_go(list) => drop(items.insert(index)),
            _ => write(&mut splice, body.doc, list)?,
        }
    }
    if items.len() == body.list.len() && !items.is_empty() {
        // There is no input without items: their lists are emptied instead.
        for (_, list) in carriers.iter().zip(&lists).filter(|(c, _)| matches!(c.holder, Holder::Item(_))) {
            write(&mut splice, body.doc, list)?;
        }
    } else {
        blocks::remove(&mut splice, &body.list, |index| items.contains(&index));
    }
    for (key, names) in body.form.options {
        if body.doc.get(key).is_some() && !sieve.passes(names.iter().copied()) {
            changes.remove(&[key]);
        }
    }
    let is_emptied = lists.iter().any(|list| !list.is_empty()) && lists.iter().all(all_go);
    if is_emptied {
        choice::remove(&mut changes);
    } else {
        choice::repair(body, &judge, &mut changes, &mut splice)?;
    }
    changes.apply(&Fields::body(body.doc, Keys::Exact)?, &mut splice)?;
    Ok(splice)
}

fn write(splice: &mut Splice, doc: &Doc, list: &List) -> Result<(), ScanError> {
    let spans: Vec<Span> = list.iter().map(|(span, _)| *span).collect();
    blocks::remove(splice, &spans, |index| {
        list.get(index).is_some_and(|(_, verdict)| matches!(verdict, Verdict::Goes))
    });
    for (_, verdict) in list {
        if let Verdict::Partly(inner) = verdict {
            write(splice, doc, inner)?;
        }
    }
    move_markers(splice, doc, list)
}

/// The cache marker of a tool that goes stands on the one before it from then on, so that the client's breakpoint is kept.
/// Where that has one there is none to move, and where no tool is left before it nothing is there to be cached.
fn move_markers(splice: &mut Splice, doc: &Doc, list: &List) -> Result<(), ScanError> {
    let read = |span: Span| Definition::read(doc.text(span), None);
    let mut before: Option<Span> = None;
    let mut lost: Option<Span> = None;
    let end = (Span::at(0), Verdict::Stays);
    for (span, verdict) in list.iter().chain([&end]) {
        if matches!(verdict, Verdict::Goes) {
            if read(*span).is_ok_and(|definition| !definition.markers.is_empty()) {
                lost = Some(*span);
            }
            continue;
        }
        if let (Some(lost), Some(heir)) = (lost.take(), before)
            && read(heir)?.markers.is_empty()
        {
            let mut changes = Changes::default();
            let lost = read(lost)?;
            lost.markers.iter().take(1).for_each(|(key, value)| changes.set(&[key.as_str()], value));
            changes.apply(&Fields::at(doc, heir, Keys::Exact)?, splice)?;
        }
        before = Some(*span);
    }
    Ok(())
}
