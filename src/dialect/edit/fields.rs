//! An object of a body with the places of its members, counted from the start of the body.
use crate::dialect::DialectId;
use crate::dialect::object::{camel_case, distinct};
use crate::json::{Doc, Kind, ScanError, Span, raw};
use std::borrow::Cow;

/// How a dialect spells the keys of its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Keys {
    /// One spelling.
    Exact,
    /// Protocol buffers in JSON: camel case and snake case are one key.
    Proto,
}

impl Keys {
    /// How this dialect does.
    pub(in crate::dialect) const fn of(dialect: DialectId) -> Self {
        match dialect {
            DialectId::Anthropic | DialectId::Chat | DialectId::Responses => Self::Exact,
            DialectId::Gemini => Self::Proto,
        }
    }

    /// The key as it is looked for.
    pub(in crate::dialect) fn read<'k>(self, key: Cow<'k, str>) -> Cow<'k, str> {
        match self {
            Self::Proto if key.contains('_') => camel_case(&key).into(),
            _ => key,
        }
    }
}

/// An object's members.
#[derive(Debug, Clone)]
pub(in crate::dialect) struct Fields<'a> {
    doc: &'a Doc,
    /// How its keys are spelled.
    pub(in crate::dialect) keys: Keys,
    /// The object.
    pub(in crate::dialect) span: Span,
    /// Its members in order.
    pub(in crate::dialect) list: Vec<Field<'a>>,
}

/// One member.
#[derive(Debug, Clone)]
pub(in crate::dialect) struct Field<'a> {
    /// The key, decoded, and in camel case where both spellings count.
    pub(in crate::dialect) key: Cow<'a, str>,
    /// From the key's first byte to the value's last.
    pub(in crate::dialect) whole: Span,
    /// The value.
    pub(in crate::dialect) value: Span,
}

impl<'a> Fields<'a> {
    /// The body itself.
    ///
    /// # Errors
    /// [`ScanError::DuplicateKey`] for two spellings of one key.
    pub(in crate::dialect) fn body(doc: &'a Doc, keys: Keys) -> Result<Self, ScanError> {
        let fields = doc.members().iter().map(|member| {
            let whole = Span::new(member.key_span.start, member.value.end);
            Field { key: keys.read(Cow::Borrowed(&member.key)), whole, value: member.value }
        });
        Self::distinct(doc, keys, Span::new(0, doc.bytes().len()), fields.collect())
    }

    /// The object at `span`.
    ///
    /// # Errors
    /// [`ScanError::NotAnObject`], [`ScanError::DuplicateKey`].
    pub(in crate::dialect) fn at(doc: &'a Doc, span: Span, keys: Keys) -> Result<Self, ScanError> {
        let fields = doc.object(span)?.into_iter().map(|field| {
            let whole = Span::new(field.key_span.start, field.value.end);
            Field { key: keys.read(field.key), whole, value: field.value }
        });
        Self::distinct(doc, keys, span, fields.collect())
    }

    /// Only two spellings can still make a duplicate: the same key twice was refused when the object was read.
    fn distinct(doc: &'a Doc, keys: Keys, span: Span, list: Vec<Field<'a>>) -> Result<Self, ScanError> {
        if keys == Keys::Proto {
            distinct(list.iter().map(|field| field.key.as_ref()))?;
        }
        Ok(Self { doc, keys, span, list })
    }

    /// Right behind the opening brace; white space may stand before that of a body.
    pub(in crate::dialect) fn inside(&self) -> usize {
        self.span.start + self.doc.text(self.span).find('{').map_or(0, |brace| brace + 1)
    }

    /// The value of a member that is there and not `null`.
    pub(in crate::dialect) fn get(&self, key: &str) -> Option<Span> {
        let key = self.keys.read(Cow::Borrowed(key));
        let field = self.list.iter().find(|field| field.key == key)?;
        Some(field.value).filter(|span| self.doc.text(*span) != "null")
    }

    /// Its text.
    pub(in crate::dialect) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key).map(|span| self.doc.text(span))
    }

    /// The string that it holds.
    pub(in crate::dialect) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.text(key).and_then(raw::string)
    }

    /// The object that it holds; `None` where it holds something else.
    ///
    /// # Errors
    /// [`ScanError::DuplicateKey`].
    pub(in crate::dialect) fn object(&self, key: &str) -> Result<Option<Fields<'a>>, ScanError> {
        match self.get(key) {
            Some(span) if raw::kind(self.doc.text(span)) == Some(Kind::Object) => {
                Self::at(self.doc, span, self.keys).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The elements of the array that it holds. A single object is a list of one where a server takes it for that.
    pub(in crate::dialect) fn elements(&self, key: &str) -> Vec<Span> {
        let Some(span) = self.get(key) else { return vec![] };
        match self.doc.array(span) {
            Some(elements) => elements,
            None if self.keys == Keys::Proto && raw::kind(self.doc.text(span)) == Some(Kind::Object) => vec![span],
            None => vec![],
        }
    }

    /// The value at the end of a path of keys, if it is there and not `null`.
    ///
    /// # Errors
    /// [`ScanError::DuplicateKey`].
    pub(in crate::dialect) fn follow(&self, path: &[&str]) -> Result<Option<&'a str>, ScanError> {
        match path {
            [] => Ok(Some(self.doc.text(self.span))),
            [key] => Ok(self.text(key)),
            [key, rest @ ..] => self.object(key)?.map_or(Ok(None), |object| object.follow(rest)),
        }
    }
}
