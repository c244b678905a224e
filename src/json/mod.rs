//! Scan once, keep spans, splice.
//!
//! A body is never parsed into types and written back: numbers, key order, escapes and white space outside an edit stay
//! as the client sent them. [`Doc`] validates a body once and remembers where its top-level members and their array
//! elements are; [`raw`] looks deeper into one element when somebody needs it; [`Splice`] turns edits into a [`Rope`] of
//! slices of the original bytes.

pub mod doc;
pub mod raw;
pub mod splice;

pub use doc::{Doc, Member};
pub use splice::{Rope, Splice, SpliceError};

/// A half-open byte range `start..end` of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span `start..end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// An empty span: a place to insert at.
    pub const fn at(position: usize) -> Self {
        Self { start: position, end: position }
    }

    /// The same span in a text that begins `base` bytes earlier.
    #[must_use]
    pub const fn offset(self, base: usize) -> Self {
        Self { start: self.start + base, end: self.end + base }
    }

    /// Length in bytes.
    pub const fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether nothing lies inside.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// What kind of JSON value a span holds, told by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// a number
    Number,
    /// a string
    String,
    /// an array
    Array,
    /// an object
    Object,
}

/// Why a body can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at byte {at}")]
    NotUtf8 {
        /// Offset of the first bad byte.
        at: usize,
    },
    /// The text is not JSON.
    #[error("not JSON at byte {at}: {what}")]
    NotJson {
        /// Offset where the parser stopped.
        at: usize,
        /// What was expected or found there.
        what: &'static str,
    },
    /// The top level is not an object.
    #[error("the body is not a JSON object")]
    NotAnObject,
    /// An object that hookgate reads has a key twice (also when one of the two is spelled with escapes): two readers
    /// could see two different requests.
    #[error("duplicate key {key:?}")]
    DuplicateKey {
        /// The key, decoded.
        key: String,
    },
    /// Deeper than [`doc::MAX_DEPTH`].
    #[error("nested deeper than {} levels", doc::MAX_DEPTH)]
    TooDeep,
}
