//! Which messages an edit is about: those that hooks see, in the order in which they see them.
use super::Body;
use crate::context::edit::{MessageRole, Selector};
use crate::context::{Item, Role};
use crate::dialect::EditError;
use crate::dialect::openai::element::join;
use crate::json::{Span, raw};
use std::collections::BTreeSet;

/// Indexes into the items of the view.
pub(super) fn selected(body: &Body<'_>, which: &Selector) -> Result<Vec<usize>, EditError> {
    let is_message =
        |(index, item): &(usize, &Item)| item.role() != Role::Other && body.leading.binary_search(index).is_err();
    let messages: Vec<(usize, &Item)> = body.view.items.iter().enumerate().filter(is_message).collect();
    let mut selected = Vec::new();
    for (from_end, (index, item)) in messages.iter().rev().enumerate() {
        if which.index.is_some_and(|wanted| wanted != from_end)
            || which.role.is_some_and(|wanted| role(wanted) != item.role())
        {
            continue;
        }
        if let Some(pattern) = &which.regex
            && !pattern.0.is_match(&text(body, item)?)
        {
            continue;
        }
        selected.push(*index);
    }
    selected.reverse();
    Ok(selected)
}

fn role(role: MessageRole) -> Role {
    match role {
        MessageRole::System => Role::System,
        MessageRole::User => Role::User,
        MessageRole::Assistant => Role::Assistant,
        MessageRole::Tool => Role::Tool,
    }
}

/// What the speaker of an item says.
fn text(body: &Body<'_>, item: &Item) -> Result<String, EditError> {
    let mut texts = Vec::new();
    for span in body.list.get(item.elements.clone()).unwrap_or_default() {
        let element = (body.read)(body.doc.text(*span))?;
        if element.role.0 == item.role() {
            texts.push(element.text().into());
        }
    }
    Ok(join(texts.into_iter()))
}

/// That an item holds nothing that is bound to what stands before it: encrypted reasoning, or a compaction of the history.
pub(super) fn must_be_free(body: &Body<'_>, index: usize) -> Result<(), EditError> {
    let bound = body.view.items.get(index).is_some_and(|item| item.facts.signed || item.facts.compaction);
    if bound { Err(EditError::Signed { index }) } else { Ok(()) }
}

/// That elements may be taken out of their runs: not where reasoning stands, which wants the very items behind it.
pub(super) fn must_be_loose(body: &Body<'_>, elements: impl Iterator<Item = usize>) -> Result<(), EditError> {
    let item_of = |element| body.view.items.partition_point(|item| item.elements.end <= element);
    let reasons = |span: &Span| raw::get_str(body.doc.text(*span), "type").is_some_and(|kind| kind == "reasoning");
    for index in elements.map(item_of).collect::<BTreeSet<_>>() {
        must_be_free(body, index)?;
        let run = body.view.items.get(index).and_then(|item| body.list.get(item.elements.clone()));
        if run.unwrap_or_default().iter().any(reasons) {
            return Err(EditError::Signed { index });
        }
    }
    Ok(())
}
