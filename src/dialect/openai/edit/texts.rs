//! One text in the place of several: of instructions, or of a message.
use crate::dialect::blocks;
use crate::dialect::object::{Object, slice};
use crate::dialect::openai::element::{Element, is_marker};
use crate::json::{Doc, Span, Splice, raw};
use std::collections::HashSet;

/// A text that another one may replace. Spans count from the start of the body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// The element that it stands in, by its index in the history; `None` for one beside the history.
    pub(super) element: Option<usize>,
    /// The string.
    pub(super) span: Span,
    /// The part that it stands in; `None` where the content is the string itself.
    pub(super) part: Option<Span>,
}

/// The texts in the body of an element, which begins at `base`.
pub(super) fn pieces(element: &Element<'_>, index: usize, base: usize) -> Vec<Piece> {
    let inside = |span: Span| element.body.is_some_and(|body| body.start <= span.start && span.end <= body.end);
    let texts = element.texts.iter().filter(|text| inside(text.span));
    texts
        .map(|text| Piece {
            element: Some(index),
            span: text.span.offset(base),
            part: text.part.map(|part| part.offset(base)),
        })
        .collect()
}

/// Which of the pieces stays, with another text: the last one that has a cache marker, since that is where the client's
/// breakpoint is, else the first.
pub(super) fn heir(doc: &Doc, pieces: &[Piece]) -> Option<usize> {
    let is_marked = |piece: &Piece| {
        let part = piece.part.and_then(|part| Object::parse(doc.text(part)).ok());
        part.is_some_and(|part| part.entries().any(|(key, value)| is_marker(key) && value != "null"))
    };
    pieces.iter().rposition(is_marked).or((!pieces.is_empty()).then_some(0))
}

/// Takes pieces out of an element, `raw`, that begins at `base`. Returns whether nothing is left in it, so that it has to
/// go as a whole; nothing is taken out then. A message that makes calls stays, without content.
pub(super) fn take_out(splice: &mut Splice, raw: &str, base: usize, element: &Element<'_>, gone: &[Piece]) -> bool {
    let Some(body) = element.body else { return false };
    let mut emptied = || {
        let calls = !element.calls.is_empty();
        if calls {
            splice.replace(body.offset(base), "null");
        }
        !calls
    };
    let Some(parts) = raw::array(slice(raw, body)) else { return emptied() };
    let parts: Vec<Span> = parts.into_iter().map(|part| part.offset(base + body.start)).collect();
    let gone: HashSet<Span> = gone.iter().filter_map(|piece| piece.part).collect();
    let is_gone = |part: &Span| gone.contains(part);
    if parts.iter().all(is_gone) {
        return emptied();
    }
    blocks::remove(splice, &parts, |index| parts.get(index).is_some_and(is_gone));
    false
}
