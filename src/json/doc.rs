//! One validated body and the places of its parts.
use super::outline::Outline;
use super::raw::{self, Field};
use super::scan::Scanner;
use super::unescape::unescape;
use super::{Kind, ScanError, Span, duplicate};
use bytes::Bytes;
use bytestring::ByteString;
use edited::Known;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

mod edited;

pub use edited::EditedError;

/// Most values of one body, at any depth. What agents send has one in every 50 bytes, so that 32 MB of it stay below, and so
/// does a batch of 100,000 small requests; a body of tiny values would cost many times its size once somebody looks into it.
pub const MAX_VALUES: usize = 1 << 21;

/// A member of the top-level object.
#[derive(Debug, Clone)]
pub struct Member {
    /// The key, decoded.
    pub key: String,
    /// The key with its quotes, as written.
    pub key_span: Span,
    /// The value.
    pub value: Span,
    /// What the value is.
    pub kind: Kind,
    /// The elements, if the value is an array.
    pub elements: Vec<Span>,
}

/// A body that was found to be one JSON object in UTF-8, with the spans of its top-level members.
#[derive(Debug, Clone)]
pub struct Doc {
    text: ByteString,
    members: Vec<Member>,
    /// Of the parts that were looked into, by where they begin.
    outlines: Arc<Mutex<HashMap<usize, Option<Arc<Outline>>>>>,
}

/// A part below this size, in bytes, is scanned again by whoever looks into it, which takes less than keeping an outline.
const OUTLINED: usize = 256;

impl Doc {
    /// Validates `bytes` in one pass and records the top-level members and the elements of those that are arrays.
    ///
    /// # Errors
    /// [`ScanError`] when the body is not UTF-8, not JSON, not an object, too deep, has too many parts, or has a
    /// top-level key twice.
    pub fn parse(bytes: Bytes) -> Result<Self, ScanError> {
        let text = ByteString::try_from(bytes).map_err(|error| ScanError::NotUtf8 { at: error.valid_up_to() })?;
        Self::of(text, Reading::knowing(Known::default()), HashMap::new())
    }

    fn of(
        text: ByteString,
        reading: Reading,
        outlines: HashMap<usize, Option<Arc<Outline>>>,
    ) -> Result<Self, ScanError> {
        let members = reading.members(&text)?;
        if let Some(key) = duplicate(members.iter().map(|member| member.key.as_str())) {
            return Err(ScanError::DuplicateKey { key: key.to_owned() });
        }
        Ok(Self { text, members, outlines: Arc::new(Mutex::new(outlines)) })
    }

    /// The whole body.
    pub fn bytes(&self) -> &Bytes {
        self.text.as_bytes()
    }

    /// The members in the order of the body.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member with this (decoded) key.
    pub fn get(&self, key: &str) -> Option<&Member> {
        self.members.iter().find(|m| m.key == key)
    }

    /// The members of the object at `span`, with their places in the body.
    ///
    /// # Errors
    /// As [`raw::object`].
    pub fn object(&self, span: Span) -> Result<Vec<Field<'_>>, ScanError> {
        let part = self.outlined(span);
        let found = part.as_ref().and_then(|(start, outline)| Some((*start, outline.object(span.from(*start)?)?)));
        let Some((start, found)) = found else {
            let fields = raw::object(self.text(span))?.into_iter();
            return Ok(fields.map(|field| field.offset(span.start)).collect());
        };
        let fields = found.map(|(key, value)| Field::at(&self.text, key.offset(start), value.offset(start)));
        raw::distinct(fields.collect())
    }

    /// The elements of the array at `span`; `None` if something else stands there.
    pub fn array(&self, span: Span) -> Option<Vec<Span>> {
        if raw::kind(self.text(span)) != Some(Kind::Array) {
            return None;
        }
        if let Some((start, outline)) = self.outlined(span)
            && let Some(found) = span.from(start).and_then(|span| outline.array(span))
        {
            return Some(found.map(|element| element.offset(start)).collect());
        }
        Some(raw::array(self.text(span))?.into_iter().map(|element| element.offset(span.start)).collect())
    }

    /// The outline of the part that `span` lies in, and where that begins.
    fn outlined(&self, span: Span) -> Option<(usize, Arc<Outline>)> {
        if span.len() < OUTLINED {
            return None;
        }
        let part = self.part(span)?;
        let mut outlines = self.outlines.lock();
        let outline = outlines.entry(part.start).or_insert_with(|| Outline::of(self.text(part)).map(Arc::new));
        Some((part.start, outline.clone()?))
    }

    /// The top-level value, or element of a top-level array, that `span` lies in.
    fn part(&self, span: Span) -> Option<Span> {
        fn last_before<T>(list: &[T], at: usize, start: impl Fn(&T) -> usize) -> Option<&T> {
            list.get(list.partition_point(|part| start(part) <= at).checked_sub(1)?)
        }
        let member = last_before(&self.members, span.start, |member| member.value.start)?;
        let element = last_before(&member.elements, span.start, |element| element.start);
        let part = if member.elements.is_empty() { member.value } else { *element? };
        (span.end <= part.end).then_some(part)
    }

    /// The text of a span of this body; empty if the span is not one of this body.
    pub fn text(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }
}

/// The top level on its way through the scanner.
#[derive(Debug)]
struct Reading {
    /// Values that need no scan.
    known: Known,
    /// Values that there may still be.
    room: usize,
}

impl Reading {
    fn knowing(known: Known) -> Self {
        Self { known, room: MAX_VALUES }
    }

    fn members(mut self, text: &str) -> Result<Vec<Member>, ScanError> {
        let mut scanner = Scanner::new(text);
        if scanner.kind().is_some_and(|kind| kind != Kind::Object) {
            return Err(ScanError::NotAnObject);
        }
        if !scanner.eat(b'{') {
            return Err(ScanError::NotJson { at: scanner.position(), what: "expected an object" });
        }
        let mut members = Vec::new();
        while let Some(key_span) = scanner.next_key(members.is_empty())? {
            members.push(self.member(text, &mut scanner, key_span)?);
        }
        scanner.end()?;
        Ok(members)
    }

    fn member(&mut self, text: &str, scanner: &mut Scanner<'_>, key_span: Span) -> Result<Member, ScanError> {
        let start = scanner.position();
        // A byte that begins no value is an error that the scan below finds, too, and says better.
        let kind = scanner.kind().unwrap_or(Kind::Null);
        let mut elements = Vec::new();
        if scanner.eat(b'[') {
            self.count(1)?;
            while scanner.next_element(elements.is_empty())? {
                elements.push(self.value(scanner, ELEMENT_DEPTH)?);
            }
        } else {
            self.value(scanner, MEMBER_DEPTH)?;
        }
        let inside = text.get(key_span.start + 1..key_span.end - 1).unwrap_or_default();
        let value = Span::new(start, scanner.position());
        Ok(Member { key: unescape(inside).into_owned(), key_span, value, kind, elements })
    }

    fn value(&mut self, scanner: &mut Scanner<'_>, around: usize) -> Result<Span, ScanError> {
        let (start, inner) = (scanner.position(), scanner.inner());
        if !self.known.skip(scanner) {
            scanner.value(around)?;
        }
        self.count(1 + scanner.inner() - inner)?;
        Ok(Span::new(start, scanner.position()))
    }

    fn count(&mut self, values: usize) -> Result<(), ScanError> {
        self.room = self.room.checked_sub(values).ok_or(ScanError::TooManyValues)?;
        Ok(())
    }
}

/// Containers that are open around the value of a top-level member.
const MEMBER_DEPTH: usize = 1;
/// Containers that are open around an element of a top-level array.
const ELEMENT_DEPTH: usize = 2;

#[cfg(test)]
mod tests;
