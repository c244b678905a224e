//! One object of a request, with its members at hand.
use crate::json::{ScanError, raw};
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

    /// The span of a value, unless it is null.
    pub(in crate::dialect) fn span(&self, key: &str) -> Option<crate::json::Span> {
        let field = self.fields.iter().find(|f| f.key == key)?;
        (slice(self.raw, field.value) != "null").then_some(field.value)
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
pub(in crate::dialect) fn slice(text: &str, span: crate::json::Span) -> &str {
    text.get(span.start..span.end).unwrap_or_default()
}
