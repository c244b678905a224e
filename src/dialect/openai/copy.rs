//! The client's copy of an answer that was several: what of it is the last leg's own.
use super::element::Element;
use crate::dialect::blocks;
use crate::dialect::object::slice;
use crate::dialect::split::{Border, Share, rest_of};
use crate::json::{Span, Splice, raw};

/// What is left of the texts of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Left {
    /// Something, or there were none.
    Some,
    /// None: all were the legs'.
    Nothing,
}

/// Takes the legs' share out of the body of an element, `raw`. `None`: the texts are others than the legs'.
pub(in crate::dialect) fn cut(
    splice: &mut Splice,
    raw: &str,
    element: &Element<'_>,
    border: &mut Border,
) -> Option<Left> {
    let Some(body) = element.body else { return Some(Left::Some) };
    let inside = element.texts.iter().filter(|text| body.start <= text.span.start && text.span.end <= body.end);
    let mut theirs: Vec<Span> = Vec::new();
    for text in inside {
        let quoted = slice(raw, text.span);
        match border.walk(quoted)? {
            Share::Theirs => theirs.push(text.part.unwrap_or(body)),
            Share::From(at) => splice.replace(text.span, rest_of(quoted, at)),
            Share::Kept => {}
        }
    }
    if theirs.is_empty() {
        return Some(Left::Some);
    }
    let parts: Vec<Span> = match raw::array(slice(raw, body)) {
        Some(parts) => parts.into_iter().map(|part| part.offset(body.start)).collect(),
        None => vec![body],
    };
    // In the order of the parts: a hostile copy has a million of them.
    let is_theirs = |part: &Span| theirs.binary_search_by_key(&part.start, |span| span.start).is_ok();
    if parts.iter().all(is_theirs) {
        return Some(Left::Nothing);
    }
    blocks::remove(splice, &parts, |index| parts.get(index).is_some_and(is_theirs));
    Some(Left::Some)
}
