//! A JSON text as a tree that knows the place of every value.
use crate::config::problem::Place;
use crate::json::Span;
use crate::json::raw::{self, Field};

/// A value in its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'a> {
    text: &'a str,
    span: Span,
}

impl<'a> Spot<'a> {
    /// All of a text that is valid JSON.
    pub(super) fn whole(text: &'a str) -> Self {
        Self { text, span: Span::new(text.len() - text.trim_start().len(), text.trim_end().len()) }
    }

    fn raw(self) -> &'a str {
        self.text.get(self.span.start..self.span.end).unwrap_or_default()
    }

    fn inner(self, span: Span) -> Self {
        Self { span: span.offset(self.span.start), ..self }
    }

    /// Its place.
    pub(super) fn place(self) -> Place {
        place(self.text, self.span.start)
    }

    /// Members of an object, each with its key; of a key that stands twice all.
    pub(super) fn members(self) -> Option<Vec<(String, Spot<'a>)>> {
        let member = |Field { key, value, .. }: Field<'a>| (key.into_owned(), self.inner(value));
        raw::object(self.raw()).ok().map(|fields| fields.into_iter().map(member).collect())
    }

    /// Elements of an array.
    pub(super) fn elements(self) -> Option<Vec<Spot<'a>>> {
        raw::array(self.raw()).map(|spans| spans.into_iter().map(|span| self.inner(span)).collect())
    }

    /// Its member of that name; `null` is as good as absent.
    pub(super) fn get(self, name: &str) -> Option<Spot<'a>> {
        raw::get(self.raw(), name).map(|span| self.inner(span)).filter(|spot| spot.raw() != "null")
    }

    /// What it is.
    pub(super) fn value<T: serde::de::DeserializeOwned>(self) -> Option<T> {
        serde_json::from_str(self.raw()).ok()
    }
}

/// The place of a byte of `text`.
fn place(text: &str, at: usize) -> Place {
    let before = text.get(..at).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Place { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}
