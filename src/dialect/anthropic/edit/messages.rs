//! Messages and blocks with their places in the body.
use crate::context::RequestView;
use crate::dialect::edit::{Fields, Keys};
use crate::dialect::{EditError, blocks, history};
use crate::json::{Doc, Kind, Span, Splice, raw};
use std::borrow::Cow;

/// What a message, a tool result or the like holds.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// Nothing.
    Absent,
    /// A string.
    Text(Span),
    /// An array of blocks.
    Blocks(Blocks<'a>),
}

/// An array of blocks.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    /// The array.
    pub(super) array: Span,
    /// Its elements.
    pub(super) list: Vec<Block<'a>>,
}

/// One block.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// Its `type`.
    pub(super) kind: Cow<'a, str>,
    /// Its members.
    pub(super) fields: Fields<'a>,
}

impl<'a> Content<'a> {
    /// The `content` of an object.
    pub(super) fn of(doc: &'a Doc, holder: &Fields<'_>) -> Result<Self, EditError> {
        let Some(span) = holder.get("content") else { return Ok(Self::Absent) };
        match raw::kind(doc.text(span)) {
            Some(Kind::String) => Ok(Self::Text(span)),
            Some(Kind::Array) => Ok(Self::Blocks(Blocks::at(doc, span, &holder.elements("content"))?)),
            _ => Ok(Self::Absent),
        }
    }

    /// Puts `text` in the place of all text. Where there was none it goes behind the other blocks, or before them.
    pub(super) fn retext(&self, holder: &Fields<'_>, text: &str, before: bool, splice: &mut Splice) {
        match self {
            Self::Absent => match holder.list.iter().find(|field| field.key == "content") {
                Some(field) => splice.replace(field.value, raw::quote(text)),
                None => splice.insert(holder.span.end.saturating_sub(1), format!(r#","content":{}"#, raw::quote(text))),
            },
            Self::Text(span) => splice.replace(*span, raw::quote(text)),
            Self::Blocks(blocks) => blocks.retext(text, before, splice),
        }
    }
}

impl<'a> Blocks<'a> {
    /// The blocks of the array at `array`.
    pub(super) fn at(doc: &'a Doc, array: Span, elements: &[Span]) -> Result<Self, EditError> {
        let block = |element: &Span| {
            let fields = Fields::at(doc, *element, Keys::Exact)?;
            Ok(Block { kind: fields.string("type").unwrap_or_default(), fields })
        };
        Ok(Self { array, list: elements.iter().map(block).collect::<Result<_, EditError>>()? })
    }

    fn spans(&self) -> Vec<Span> {
        self.list.iter().map(|block| block.fields.span).collect()
    }

    /// Puts `text` in the place of the text blocks; cache markers on them stay where the text is.
    pub(super) fn retext(&self, text: &str, before: bool, splice: &mut Splice) {
        let is_text = |index: usize| self.list.get(index).is_some_and(|block| block.kind == "text");
        let texts = || self.list.iter().filter(|block| block.kind == "text");
        let marker = texts().find_map(|block| block.fields.text("cache_control"));
        let made = text_block(text, marker);
        match (0..self.list.len()).find(|index| is_text(*index)) {
            Some(first) => {
                texts().take(1).for_each(|block| splice.replace(block.fields.span, made.clone()));
                self.remove(&|index| index != first && is_text(index), splice);
            }
            None => {
                let (front, back) = if before { (vec![made], vec![]) } else { (vec![], vec![made]) };
                blocks::extend(splice, self.array, &self.spans(), 0, &front, &back);
            }
        }
    }

    /// Takes blocks out.
    pub(super) fn remove(&self, gone: &dyn Fn(usize) -> bool, splice: &mut Splice) {
        blocks::remove(splice, &self.spans(), gone);
    }
}

/// A text block, with the cache marker that another one had.
pub(super) fn text_block(text: &str, marker: Option<&str>) -> String {
    let marker = marker.map(|marker| format!(r#","cache_control":{marker}"#)).unwrap_or_default();
    format!(r#"{{"type":"text","text":{}{marker}}}"#, raw::quote(text))
}

/// The messages of one item.
pub(super) fn messages<'a>(doc: &'a Doc, view: &RequestView, item: usize) -> Result<Vec<Fields<'a>>, EditError> {
    let elements = doc.get("messages").map_or(&[][..], |messages| &messages.elements);
    let range = view.items.get(item).map_or(0..0, |item| item.elements.clone());
    let run = elements.get(range).unwrap_or_default();
    run.iter().map(|span| Ok(Fields::at(doc, *span, Keys::Exact)?)).collect()
}

/// All text of one item as hooks read it, results included.
pub(super) fn text(doc: &Doc, view: &RequestView, item: usize) -> String {
    let (Some(messages), Some(item)) = (doc.get("messages"), view.items.get(item)) else { return String::new() };
    let message = super::super::neutral::message(&history::texts(doc, &messages.elements, item), item.role());
    let results = message.tool_results.into_iter().map(|result| result.text);
    [message.text].into_iter().chain(results).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
