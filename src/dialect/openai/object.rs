//! One object of a request, with its members at hand.
use crate::json::{ScanError, Span, raw};
use std::borrow::Cow;

/// The members of one object. Reading through this type is what refuses duplicate keys.
pub(in crate::dialect) struct Object<'a> {
    raw: &'a str,
    fields: Vec<raw::Field<'a>>,
}

impl<'a> Object<'a> {
    /// # Errors
    /// [`ScanError`] if `raw` is not an object or has a key twice.
    pub(in crate::dialect) fn read(raw: &'a str) -> Result<Self, ScanError> {
        Ok(Self { raw, fields: raw::object(raw)? })
    }

    /// Key and value of every member.
    pub(in crate::dialect) fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.fields.iter().map(|f| (f.key.as_ref(), slice(self.raw, f.value)))
    }

    /// The span of a value, also of a null.
    pub(in crate::dialect) fn place(&self, key: &str) -> Option<Span> {
        self.fields.iter().find(|f| f.key == key).map(|f| f.value)
    }

    /// The span of a value, unless it is null.
    pub(in crate::dialect) fn span(&self, key: &str) -> Option<Span> {
        self.place(key).filter(|span| slice(self.raw, *span) != "null")
    }

    /// A value, unless it is null.
    pub(in crate::dialect) fn get(&self, key: &str) -> Option<&'a str> {
        self.span(key).map(|s| slice(self.raw, s))
    }

    /// A string value, unescaped.
    pub(in crate::dialect) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        raw::string(self.get(key)?)
    }
}

/// The part of `text` that `span` covers; empty if it lies outside.
pub(in crate::dialect) fn slice(text: &str, span: Span) -> &str {
    text.get(span.start..span.end).unwrap_or_default()
}
