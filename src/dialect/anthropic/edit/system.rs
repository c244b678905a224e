//! `system.replace`: a string stays a string, an array an array; cache markers stay.
use super::super::lower::lower;
use super::changed;
use super::messages::{Block, Blocks, text_block};
use crate::context::edit::Pattern;
use crate::context::{Place, RequestView};
use crate::dialect::edit::Changes;
use crate::dialect::{EditError, LowerError};
use crate::json::{Doc, Kind, Splice, raw};

/// Puts `text` in the place of all instruction blocks, or of those that `matching` matches. What the client needs first stays.
pub(super) fn replace(
    doc: &Doc,
    view: &RequestView,
    text: &str,
    matching: Option<&Pattern>,
) -> Result<Splice, EditError> {
    if !view.system_open {
        return Err(LowerError::NoSystem.into());
    }
    let is_meant =
        |said: Option<&str>| matching.is_none_or(|pattern| said.is_some_and(|said| pattern.0.is_match(said)));
    let Some(member) = doc.get("system").filter(|member| member.kind != Kind::Null) else {
        return if matching.is_none() { set(doc, text) } else { Ok(Splice::new()) };
    };
    let behind = || Ok(lower(doc, view, &[Place::SystemEnd { texts: vec![text.to_owned()] }])?);
    match member.kind {
        Kind::Array => {
            let mut blocks = Blocks::at(doc, member.value, &member.elements)?;
            let is_protected = |block: &Block<'_>| block.fields.get("text").is_some_and(|said| view.is_protected(said));
            let protected = blocks.list.iter().rposition(is_protected).map_or(0, |last| last + 1);
            blocks.list.drain(..protected);
            let mut splice = Splice::new();
            if matching.is_none() && protected > 0 && blocks.list.is_empty() {
                return behind();
            }
            if matching.is_none() {
                blocks.retext(text, true, &mut splice);
                return Ok(splice);
            }
            for block in blocks.list.iter().filter(|block| is_meant(block.fields.string("text").as_deref())) {
                splice.replace(block.fields.span, text_block(text, block.fields.text("cache_control")));
            }
            Ok(splice)
        }
        Kind::String if view.is_protected(member.value) => {
            if matching.is_none() {
                behind()
            } else {
                Ok(Splice::new())
            }
        }
        Kind::String if is_meant(raw::string(doc.text(member.value)).as_deref()) => set(doc, text),
        Kind::String => Ok(Splice::new()),
        _ => Err(LowerError::NoSystem.into()),
    }
}

fn set(doc: &Doc, text: &str) -> Result<Splice, EditError> {
    let mut changes = Changes::default();
    changes.set(&["system"], raw::quote(text));
    changed(doc, &changes)
}
