//! Scan once, keep spans, splice.
//!
//! A body is never parsed into types and written back: numbers, key order, escapes and white space outside an edit stay
//! as the client sent them. [`Doc`] validates a body once and remembers where its top-level members and their array
//! elements are; [`raw`] looks deeper into one element when somebody needs it; [`Splice`] turns edits into a [`Rope`] of
//! slices of the original bytes. [`ArrayFramer`] cuts a streamed JSON array into its elements.

pub mod array_stream;
mod block;
pub mod doc;
mod nesting;
mod outline;
pub(crate) mod partial;
pub mod patch;
pub mod raw;
mod scan;
pub mod splice;
mod string;
mod strings;
mod unescape;

pub use array_stream::ArrayFramer;
pub use doc::{Doc, EditedError, Member};
pub use scan::MAX_DEPTH;
pub use splice::{Rope, Splice, SpliceError};
pub use strings::string_values;

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

    /// The same span in a text that begins `base` bytes later; `None` if it begins before that.
    #[must_use]
    pub(crate) const fn from(self, base: usize) -> Option<Self> {
        match self.start.checked_sub(base) {
            Some(start) => Some(Self { start, end: self.end - base }),
            None => None,
        }
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

impl Kind {
    /// The kind of the value that begins with `byte`, if one can.
    const fn from_first_byte(byte: u8) -> Option<Self> {
        match byte {
            b'"' => Some(Self::String),
            b'{' => Some(Self::Object),
            b'[' => Some(Self::Array),
            b'-' | b'0'..=b'9' => Some(Self::Number),
            b't' | b'f' => Some(Self::Bool),
            b'n' => Some(Self::Null),
            _ => None,
        }
    }
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
    /// Deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// More than [`doc::MAX_VALUES`].
    #[error("more than {} values", doc::MAX_VALUES)]
    TooManyValues,
}

/// Up to this many keys are compared each with each: the objects of a request have a handful.
const FEW_KEYS: usize = 8;

/// A key that stands twice among `keys`.
fn duplicate<'a>(keys: impl ExactSizeIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if keys.len() <= FEW_KEYS {
        return keys
            .clone()
            .enumerate()
            .find(|(at, key)| keys.clone().take(*at).any(|k| k == *key))
            .map(|(_, key)| key);
    }
    // Sorted, since a hostile body can have a million of them.
    let mut keys: Vec<&str> = keys.collect();
    keys.sort_unstable();
    keys.array_windows().find(|[a, b]| a == b).map(|[a, _]| *a)
}
