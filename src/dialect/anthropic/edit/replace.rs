//! `messages.replace`: another text; calls, results and images stay.
use super::messages::{Blocks, Content, messages, text as text_of};
use crate::context::edit::Selector;
use crate::context::{RequestView, Role};
use crate::dialect::edit::{Fields, selected};
use crate::dialect::{EditError, blocks};
use crate::json::{Doc, Span, Splice};
use std::collections::HashSet;

/// Puts `text` in the place of the text of messages.
pub(super) fn replace(doc: &Doc, view: &RequestView, which: &Selector, text: &str) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    let mut gone: HashSet<Span> = HashSet::new();
    for index in selected(view, which, &|item| text_of(doc, view, item)) {
        let Some(item) = view.items.get(index) else { continue };
        if item.facts.signed || item.facts.compaction {
            return Err(EditError::Signed { index });
        }
        let messages = messages(doc, view, index)?;
        match item.role() {
            Role::Tool => messages.iter().try_for_each(|message| results(doc, message, text, &mut splice))?,
            Role::Assistant => gone.extend(answer(doc, &messages, text, &mut splice)?),
            Role::User | Role::System | Role::Other => {
                for message in &messages {
                    Content::of(doc, message)?.retext(message, text, false, &mut splice);
                }
            }
        }
    }
    if let Some(list) = doc.get("messages").filter(|_| !gone.is_empty()) {
        blocks::remove(&mut splice, &list.elements, |index| {
            list.elements.get(index).is_some_and(|element| gone.contains(element))
        });
    }
    Ok(splice)
}

/// The text of a message with results is theirs: each says `text`, and what was said beside them is gone.
fn results(doc: &Doc, message: &Fields<'_>, text: &str, splice: &mut Splice) -> Result<(), EditError> {
    let Content::Blocks(blocks) = Content::of(doc, message)? else { return Ok(()) };
    for block in blocks.list.iter().filter(|block| block.kind == "tool_result") {
        Content::of(doc, &block.fields)?.retext(&block.fields, text, false, splice);
    }
    blocks.remove(&|index| blocks.list.get(index).is_some_and(|block| block.kind == "text"), splice);
    Ok(())
}

/// An answer may stand in several messages: the first with text, or the first of all, says `text`; those that said nothing
/// else are returned, to be left out.
fn answer(doc: &Doc, messages: &[Fields<'_>], text: &str, splice: &mut Splice) -> Result<Vec<Span>, EditError> {
    let contents = messages.iter().map(|message| Content::of(doc, message)).collect::<Result<Vec<_>, _>>()?;
    let speaker = contents.iter().position(has_text).unwrap_or(0);
    let mut gone = vec![];
    for (index, (message, content)) in messages.iter().zip(&contents).enumerate() {
        match content {
            _ if index == speaker => content.retext(message, text, true, splice),
            Content::Text(_) => gone.push(message.span),
            Content::Blocks(blocks) if blocks.list.iter().all(|block| block.kind == "text") => gone.push(message.span),
            Content::Blocks(blocks) => without_text(blocks, splice),
            Content::Absent => {}
        }
    }
    Ok(gone)
}

fn has_text(content: &Content<'_>) -> bool {
    match content {
        Content::Absent => false,
        Content::Text(_) => true,
        Content::Blocks(blocks) => blocks.list.iter().any(|block| block.kind == "text"),
    }
}

fn without_text(blocks: &Blocks<'_>, splice: &mut Splice) {
    blocks.remove(&|index| blocks.list.get(index).is_some_and(|block| block.kind == "text"), splice);
}
