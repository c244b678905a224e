//! `messages.remove`.
use super::messages::{Content, messages, text};
use crate::context::edit::Selector;
use crate::context::{RequestView, Role};
use crate::dialect::edit::{Removal, selected};
use crate::dialect::{EditError, LowerError, blocks};
use crate::json::{Doc, Splice};
use std::collections::BTreeSet;
use std::ops::Range;

/// Leaves messages out.
pub(super) fn remove(doc: &Doc, view: &RequestView, which: &Selector) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    let chosen = selected(view, which, &|item| text(doc, view, item));
    let Some(list) = doc.get("messages").filter(|_| !chosen.is_empty()) else { return Ok(splice) };
    let removal = Removal::new(view, &chosen, &|item| says_more(doc, view, item))?;
    for item in &removal.without_results {
        without_results(doc, view, *item, &mut splice)?;
    }
    let moved = move_instructions(doc, view, &removal.left(), &mut splice)?;
    blocks::remove(&mut splice, &list.elements, |element| {
        let item = view.items.partition_point(|item| item.elements.end <= element);
        !removal.stays(item) || moved.contains(&item)
    });
    Ok(splice)
}

fn says_more(doc: &Doc, view: &RequestView, item: usize) -> bool {
    let messages = messages(doc, view, item).unwrap_or_default();
    messages.iter().any(|message| match Content::of(doc, message) {
        Ok(Content::Blocks(blocks)) => blocks.list.iter().any(|block| block.kind != "tool_result"),
        _ => false,
    })
}

fn without_results(doc: &Doc, view: &RequestView, item: usize, splice: &mut Splice) -> Result<(), EditError> {
    for message in messages(doc, view, item)? {
        if let Content::Blocks(blocks) = Content::of(doc, &message)? {
            let is_result = |index: usize| blocks.list.get(index).is_some_and(|block| block.kind == "tool_result");
            blocks.remove(&is_result, splice);
        }
    }
    Ok(())
}

/// Instructions in the history stand right behind a user message, and an answer follows or nothing (the platform's page on
/// mid-conversation system messages). Those that would stand elsewhere now go behind the next user messages.
fn move_instructions(
    doc: &Doc,
    view: &RequestView,
    left: &[usize],
    splice: &mut Splice,
) -> Result<BTreeSet<usize>, EditError> {
    let mut moved = BTreeSet::new();
    let heirs = heirs(view, left);
    for run in runs(view, left) {
        if fits(view, left, &run) {
            continue;
        }
        let items = left.get(run.clone()).unwrap_or_default();
        let no_place = LowerError::NoPlace { item: items.first().copied().unwrap_or(0) };
        let heir = heirs.get(run.start).copied().flatten().ok_or(no_place)?;
        for item in items {
            let text = view.items.get(*item).map_or("", |item| doc.text(item.span));
            splice.insert(heir, format!(",{text}"));
            moved.insert(*item);
        }
    }
    Ok(moved)
}

/// The runs of instructions among the items that are left, as indexes into these.
fn runs(view: &RequestView, left: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = vec![];
    for index in (0..left.len()).filter(|index| role(view, left.get(*index)) == Some(Role::System)) {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

/// Whether a run stands where it may: between the neighbours that it always had, or behind a user and before an answer.
fn fits(view: &RequestView, left: &[usize], run: &Range<usize>) -> bool {
    let before = run.start.checked_sub(1).and_then(|before| left.get(before));
    let behind = left.get(run.end);
    let items = left.get(run.clone()).unwrap_or_default();
    let first = items.first().copied().unwrap_or(0);
    let last = items.last().copied().unwrap_or(0);
    let is_as_ever = before.copied() == first.checked_sub(1)
        && behind.copied() == Some(last + 1).filter(|next| *next < view.items.len())
        && last - first + 1 == items.len();
    let is_legal = matches!(role(view, before), Some(Role::User | Role::Tool))
        && matches!(role(view, behind), None | Some(Role::Assistant));
    is_as_ever || is_legal
}

/// For each of the items that are left: the end of the last of the next user messages that an answer follows, or nothing.
fn heirs(view: &RequestView, left: &[usize]) -> Vec<Option<usize>> {
    let (mut next, mut later) = (None, None);
    let mut heirs: Vec<Option<usize>> = Vec::with_capacity(left.len());
    for item in left.iter().rev() {
        match role(view, Some(item)) {
            Some(Role::Assistant) => later = next.take().or(later),
            Some(Role::User | Role::Tool) => next = next.or(view.items.get(*item).map(|item| item.span.end)),
            _ => {}
        }
        heirs.push(next.or(later));
    }
    heirs.reverse();
    heirs
}

fn role(view: &RequestView, item: Option<&usize>) -> Option<Role> {
    view.items.get(*item?).map(|item| item.role())
}
