//! `tools.remove` and `tools.keep`: out of every place, with what would refer to them.
use super::super::body;
use super::super::messages::{Block, Blocks, Content};
use super::carrier::{contents, instructions, listed, mentioned};
use crate::context::{RequestView, Role};
use crate::dialect::edit::{Changes, Fields, Sieve};
use crate::dialect::{EditError, blocks};
use crate::json::{Doc, Span, Splice};
use std::borrow::Cow;
use std::collections::HashSet;

/// What the sieve changes.
pub(super) fn cut(doc: &Doc, view: &RequestView, sieve: Sieve<'_>) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    definitions(doc, sieve, &mut splice)?;
    changes_of_tools(doc, view, sieve, &mut splice)?;
    for (_, blocks) in contents(doc, view, Role::Tool)? {
        for result in blocks.list.iter().filter(|block| block.kind == "tool_result") {
            if let Content::Blocks(blocks) = Content::of(doc, &result.fields)? {
                mentions(&blocks, sieve, &mut splice)?;
            }
        }
    }
    Ok(splice)
}

/// `tools`, and the choice among them. Neither may be there without a tool.
fn definitions(doc: &Doc, sieve: Sieve<'_>, splice: &mut Splice) -> Result<(), EditError> {
    let tools = listed(doc)?;
    let mut gone = Vec::with_capacity(tools.len());
    for tool in &tools {
        let names: Vec<Cow<'_, str>> = tool.names().collect();
        gone.push(!sieve.passes(names.iter().map(AsRef::as_ref)));
    }
    if !gone.contains(&true) {
        return Ok(());
    }
    let body = body(doc)?;
    let mut changes = Changes::default();
    if gone.iter().all(|gone| *gone) {
        changes.remove(&["tools"]);
        changes.remove(&["tool_choice"]);
        return Ok(changes.apply(&body, splice)?);
    }
    let chosen = body.object("tool_choice")?.and_then(|choice| choice.string("name"));
    let is_left = |name: &str| tools.iter().zip(&gone).any(|(tool, gone)| !gone && tool.name == name);
    if chosen.is_some_and(|name| !is_left(&name)) {
        changes.set(&["tool_choice", "type"], r#""auto""#);
        changes.remove(&["tool_choice", "name"]);
        changes.apply(&body, splice)?;
    }
    let markable: Vec<(&Fields<'_>, bool)> = tools.iter().map(|tool| (&tool.fields, tool.takes_marker())).collect();
    take_out(&markable, &gone, splice)
}

/// Additions and removals of tools in the course of the messages. An instruction that says nothing else goes.
fn changes_of_tools(doc: &Doc, view: &RequestView, sieve: Sieve<'_>, splice: &mut Splice) -> Result<(), EditError> {
    let mut empty: HashSet<Span> = HashSet::new();
    for (item, blocks) in instructions(doc, view)? {
        let gone = blocks.list.iter().map(|block| is_gone(block, sieve)).collect::<Result<Vec<_>, _>>()?;
        match gone.iter().all(|gone| *gone) && !gone.is_empty() {
            true => empty.extend(view.items.get(item).map(|item| item.span)),
            false => mentions(&blocks, sieve, splice)?,
        }
    }
    if let Some(messages) = doc.get("messages").filter(|_| !empty.is_empty()) {
        let is_empty = |index: usize| messages.elements.get(index).is_some_and(|element| empty.contains(element));
        blocks::remove(splice, &messages.elements, is_empty);
    }
    Ok(())
}

/// Takes out the blocks that bring up a tool that is gone.
fn mentions(blocks: &Blocks<'_>, sieve: Sieve<'_>, splice: &mut Splice) -> Result<(), EditError> {
    let gone = blocks.list.iter().map(|block| is_gone(block, sieve)).collect::<Result<Vec<_>, _>>()?;
    if !gone.contains(&true) {
        return Ok(());
    }
    let markable: Vec<(&Fields<'_>, bool)> = blocks.list.iter().map(|block| (&block.fields, true)).collect();
    take_out(&markable, &gone, splice)
}

fn is_gone(block: &Block<'_>, sieve: Sieve<'_>) -> Result<bool, EditError> {
    let names = mentioned(block)?;
    Ok(!names.is_empty() && !sieve.passes(names.iter().map(AsRef::as_ref)))
}

/// Takes elements out. A cache marker on one moves to the nearest before it that stays and takes one: what the client wanted
/// to be remembered up to there still is.
fn take_out(elements: &[(&Fields<'_>, bool)], gone: &[bool], splice: &mut Splice) -> Result<(), EditError> {
    let mut marks: Vec<(usize, &str)> = vec![];
    let mut heir: Option<usize> = None;
    for (index, ((fields, takes_marker), gone)) in elements.iter().zip(gone).enumerate() {
        let marker = fields.text("cache_control");
        match (gone, marker, heir) {
            (false, _, _) if *takes_marker => heir = Some(index),
            (true, Some(marker), Some(heir)) => marks.push((heir, marker)),
            _ => {}
        }
    }
    // Of several markers that meet, the last one covers most.
    marks.reverse();
    marks.dedup_by_key(|(heir, _)| *heir);
    for (heir, marker) in marks {
        let Some((fields, _)) = elements.get(heir).filter(|(fields, _)| fields.get("cache_control").is_none()) else {
            continue;
        };
        let mut changes = Changes::default();
        changes.set(&["cache_control"], marker);
        changes.apply(fields, splice)?;
    }
    let spans: Vec<Span> = elements.iter().map(|(fields, _)| fields.span).collect();
    blocks::remove(splice, &spans, |index| gone.get(index).copied().unwrap_or(false));
    Ok(())
}
