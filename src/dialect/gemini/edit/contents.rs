//! Contents and parts with their places in the body.
use super::super::lower::{extend, text_part};
use super::super::neutral;
use super::super::view;
use crate::context::RequestView;
use crate::dialect::edit::{Fields, Keys};
use crate::dialect::{EditError, LowerError, blocks};
use crate::json::{Doc, Span, Splice};

/// A content and its parts.
#[derive(Debug)]
pub(super) struct Content<'a> {
    /// The content.
    pub(super) span: Span,
    /// Its parts.
    pub(super) parts: Vec<Fields<'a>>,
}

impl<'a> Content<'a> {
    /// The content at `span`.
    pub(super) fn at(doc: &'a Doc, span: Span) -> Result<Self, EditError> {
        let fields = Fields::at(doc, span, Keys::Proto)?;
        let parts = fields.elements("parts").into_iter().map(|part| Fields::at(doc, part, Keys::Proto));
        Ok(Self { span, parts: parts.collect::<Result<_, _>>()? })
    }

    /// Puts `text` in the place of all text parts, or behind the other parts where there is none.
    pub(super) fn retext(&self, doc: &Doc, text: &str, splice: &mut Splice) -> Result<(), EditError> {
        match self.parts.iter().position(is_text) {
            Some(first) => {
                self.parts.iter().skip(first).take(1).for_each(|part| splice.replace(part.span, text_part(text)));
                self.remove(&|index, part| index != first && is_text(part), splice);
            }
            None => extend(doc, self.span, |_| 0, &[], &[text_part(text)], splice)?
                .ok_or(LowerError::NoPlace { item: 0 })?,
        }
        Ok(())
    }

    /// Takes some of several parts out.
    pub(super) fn remove(&self, gone: &dyn Fn(usize, &Fields<'_>) -> bool, splice: &mut Splice) {
        let spans: Vec<Span> = self.parts.iter().map(|part| part.span).collect();
        blocks::remove(splice, &spans, |index| self.parts.get(index).is_some_and(|part| gone(index, part)));
    }
}

/// Whether a part is text that is no thought.
pub(super) fn is_text(part: &Fields<'_>) -> bool {
    part.text("thought") != Some("true") && part.string("text").is_some()
}

/// Whether a part is a function's response.
pub(super) fn is_response(part: &Fields<'_>) -> bool {
    part.get("functionResponse").is_some()
}

/// The contents of one item.
pub(super) fn contents<'a>(doc: &'a Doc, view: &RequestView, item: usize) -> Result<Vec<Content<'a>>, EditError> {
    let elements = elements(doc);
    let range = view.items.get(item).map_or(0..0, |item| item.elements.clone());
    elements.get(range).unwrap_or_default().iter().map(|span| Content::at(doc, *span)).collect()
}

/// The elements of `contents`.
pub(super) fn elements(doc: &Doc) -> &[Span] {
    view::contents(doc).unwrap_or_default()
}

/// All text of one item as hooks read it, responses included.
pub(super) fn text(doc: &Doc, view: &RequestView, item: usize) -> String {
    let Some(item) = view.items.get(item) else { return String::new() };
    let message = neutral::message(doc, item);
    let results = message.tool_results.into_iter().map(|result| result.text);
    [message.text].into_iter().chain(results).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
