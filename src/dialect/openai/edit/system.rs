//! `system.replace`.
use super::Body;
use super::texts::{self, Piece};
use crate::context::edit::Pattern;
use crate::dialect::edit::{Changes, Fields, Keys};
use crate::dialect::{EditError, blocks};
use crate::json::{Splice, raw};
use std::collections::BTreeSet;

/// Puts one text in the place of the client's instructions: one of them becomes the text, the others go. With a pattern
/// those that it matches become the text. `None`: there are no instructions, and the text is to be added.
pub(super) fn replace(body: &Body<'_>, text: &str, matching: Option<&Pattern>) -> Result<Option<Splice>, EditError> {
    let mut pieces = pieces(body)?;
    if pieces.is_empty() {
        return Ok(if matching.is_some() { Some(Splice::new()) } else { None });
    }
    let mut splice = Splice::new();
    if let Some(pattern) = matching {
        let said = |piece: &Piece| raw::string(body.doc.text(piece.span)).unwrap_or_default();
        for piece in pieces.iter().filter(|piece| pattern.0.is_match(&said(piece))) {
            splice.replace(piece.span, raw::quote(text));
        }
        return Ok(Some(splice));
    }
    let Some(heir) = heir(body, &pieces) else { return Ok(Some(splice)) };
    let heir = pieces.remove(heir);
    splice.replace(heir.span, raw::quote(text));
    let mut gone = BTreeSet::new();
    for theirs in pieces.chunk_by(|a, b| a.element == b.element) {
        let element = theirs.first().and_then(|piece| piece.element);
        let Some((index, span)) = element.and_then(|index| Some((index, body.list.get(index)?))) else { continue };
        let raw = body.doc.text(*span);
        if texts::take_out(&mut splice, raw, span.start, &(body.read)(raw)?, theirs) {
            gone.insert(index);
        }
    }
    blocks::remove(&mut splice, &body.list, |index| gone.contains(&index));
    if pieces.iter().any(|piece| piece.element.is_none()) {
        let mut changes = Changes::default();
        changes.remove(&["instructions"]);
        changes.apply(&Fields::body(body.doc, Keys::Exact)?, &mut splice)?;
    }
    Ok(Some(splice))
}

/// The blocks of the client's instructions, without those that it needs untouched.
fn pieces(body: &Body<'_>) -> Result<Vec<Piece>, EditError> {
    let mut pieces: Vec<Piece> =
        body.instructions.iter().map(|span| Piece { element: None, span: *span, part: None }).collect();
    for item in body.leading.iter().filter_map(|index| body.view.items.get(*index)) {
        for index in item.elements.clone() {
            let Some(span) = body.list.get(index) else { continue };
            pieces.extend(texts::pieces(&(body.read)(body.doc.text(*span))?, index, span.start));
        }
    }
    pieces.retain(|piece| !body.view.is_protected(piece.span));
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
