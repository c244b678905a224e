//! `system.replace`.
use super::Body;
use super::members::Members;
use super::texts::{self, Piece};
use crate::context::edit::Pattern;
use crate::dialect::{EditError, blocks};
use crate::json::{Splice, raw};
use std::collections::BTreeSet;

/// Puts one text in the place of the client's instructions, or of those that a pattern matches: one of them becomes the
/// text, the others go. `None`: there are no instructions to be replaced, and the text is to be added.
pub(super) fn replace(body: &Body<'_>, text: &str, matching: Option<&Pattern>) -> Result<Option<Splice>, EditError> {
    let mut pieces = pieces(body)?;
    if pieces.is_empty() {
        return Ok(if matching.is_some() { Some(Splice::new()) } else { None });
    }
    if let Some(pattern) = matching {
        pieces.retain(|piece| raw::string(body.doc.text(piece.span)).is_some_and(|text| pattern.0.is_match(&text)));
    }
    let mut splice = Splice::new();
    let Some(heir) = heir(body, &pieces) else { return Ok(Some(splice)) };
    let heir = pieces.remove(heir);
    splice.replace(heir.span, raw::quote(text));
    let mut gone = BTreeSet::new();
    for index in pieces.iter().filter_map(|piece| piece.element).collect::<BTreeSet<_>>() {
        let Some(span) = body.list.get(index) else { continue };
        let theirs: Vec<Piece> = pieces.iter().filter(|piece| piece.element == Some(index)).copied().collect();
        let raw = body.doc.text(*span);
        if texts::take_out(&mut splice, raw, span.start, &(body.read)(raw)?, &theirs) {
            gone.insert(index);
        }
    }
    blocks::remove(&mut splice, &body.list, |index| gone.contains(&index));
    if pieces.iter().any(|piece| piece.element.is_none()) {
        let mut members = Members::default();
        members.remove("instructions");
        members.write(&mut splice, body.doc);
    }
    Ok(Some(splice))
}

/// The blocks of the client's instructions.
fn pieces(body: &Body<'_>) -> Result<Vec<Piece>, EditError> {
    let mut pieces: Vec<Piece> =
        body.instructions.iter().map(|span| Piece { element: None, span: *span, part: None }).collect();
    for item in body.leading.iter().filter_map(|index| body.view.items.get(*index)) {
        for index in item.elements.clone() {
            let Some(span) = body.list.get(index) else { continue };
            pieces.extend(texts::pieces(&(body.read)(body.doc.text(*span))?, index, span.start));
        }
    }
    Ok(pieces)
}

/// The block that stays: never the one beside the history where nothing would be left in that.
fn heir(body: &Body<'_>, pieces: &[Piece]) -> Option<usize> {
    let heir = texts::heir(body.doc, pieces)?;
    let in_history: BTreeSet<usize> = pieces.iter().filter_map(|piece| piece.element).collect();
    let is_beside = pieces.get(heir).is_some_and(|piece| piece.element.is_none());
    if is_beside && !in_history.is_empty() && in_history.len() == body.list.len() {
        return pieces.iter().position(|piece| piece.element.is_some());
    }
    Some(heir)
}
