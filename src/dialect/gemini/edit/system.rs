//! `system.replace`: the instruction's parts.
use super::super::lower::text_part;
use super::contents::Content;
use super::{body, changed};
use crate::context::RequestView;
use crate::context::edit::Pattern;
use crate::dialect::edit::{Changes, Fields};
use crate::dialect::{EditError, LowerError};
use crate::json::{Doc, Splice};

/// Puts `text` in the place of all instruction parts, or of those that `matching` matches. What the client needs first stays.
pub(super) fn replace(
    doc: &Doc,
    view: &RequestView,
    text: &str,
    matching: Option<&Pattern>,
) -> Result<Splice, EditError> {
    if !view.system_open {
        return Err(LowerError::NoSystem.into());
    }
    let is_protected = |part: &Fields<'_>| part.get("text").is_some_and(|said| view.is_protected(said));
    let mut splice = Splice::new();
    match (body(doc)?.get("systemInstruction"), matching) {
        (None, Some(_)) => {}
        (None, None) => {
            let mut changes = Changes::default();
            changes.set(&["systemInstruction"], format!(r#"{{"parts":[{}]}}"#, text_part(text)));
            return changed(doc, &changes);
        }
        (Some(span), None) => {
            let mut content = Content::at(doc, span)?;
            content.parts.retain(|part| !is_protected(part));
            content.retext(doc, text, &mut splice)?;
        }
        (Some(span), Some(pattern)) => {
            for part in Content::at(doc, span)?.parts {
                if !is_protected(&part) && part.string("text").is_some_and(|said| pattern.0.is_match(&said)) {
                    splice.replace(part.span, text_part(text));
                }
            }
        }
    }
    Ok(splice)
}
