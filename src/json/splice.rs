//! Edits on a body, and the body that results: slices of the original with the new text between them.
use super::Span;
use bytes::Bytes;

/// Why edits can't be applied together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpliceError {
    /// Two edits touch the same bytes.
    #[error("edits overlap at byte {at}")]
    Overlap {
        /// Where the second begins.
        at: usize,
    },
    /// An edit lies outside of the body.
    #[error("edit at byte {at} is outside of the body")]
    Outside {
        /// Where it ends.
        at: usize,
    },
}

/// A set of edits. Insertions at one position keep the order in which they were made, and come before a replacement
/// that begins there.
#[derive(Debug, Clone, Default)]
pub struct Splice {
    edits: Vec<(Span, Bytes)>,
}

impl Splice {
    /// No edits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `text` in at `position`.
    pub fn insert(&mut self, position: usize, text: impl Into<Bytes>) {
        self.edits.push((Span::at(position), text.into()));
    }

    /// Puts `text` in the place of `span`.
    pub fn replace(&mut self, span: Span, text: impl Into<Bytes>) {
        self.edits.push((span, text.into()));
    }

    /// Takes `span` out.
    pub fn remove(&mut self, span: Span) {
        self.replace(span, Bytes::new());
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The places that change.
    pub fn places(&self) -> impl Iterator<Item = Span> {
        self.edits.iter().map(|(span, _)| *span)
    }

    /// These edits and `other`, both of a body of `len` bytes.
    ///
    /// # Errors
    /// [`SpliceError`] when they touch the same bytes.
    pub fn with(&self, other: &Self, len: usize) -> Result<Self, SpliceError> {
        let both = Self { edits: self.edits.iter().chain(&other.edits).cloned().collect() };
        both.checked(len)
    }

    /// The same, if it can be applied to a body of `len` bytes.
    ///
    /// # Errors
    /// [`SpliceError`] when edits overlap or lie outside.
    pub fn checked(self, len: usize) -> Result<Self, SpliceError> {
        Ok(Self { edits: self.ordered(len)? })
    }

    /// The edits by their place.
    pub(super) fn ordered(mut self, len: usize) -> Result<Vec<(Span, Bytes)>, SpliceError> {
        self.edits.sort_by_key(|(span, _)| (span.start, !span.is_empty()));
        let mut done = 0;
        for (span, _) in &self.edits {
            if span.start > span.end || span.end > len {
                return Err(SpliceError::Outside { at: span.end });
            }
            if span.start < done {
                return Err(SpliceError::Overlap { at: span.start });
            }
            done = span.end;
        }
        Ok(self.edits)
    }

    /// The edited body.
    ///
    /// # Errors
    /// [`SpliceError`] when edits overlap or lie outside.
    pub fn apply(self, body: &Bytes) -> Result<Rope, SpliceError> {
        let mut rope = Rope::default();
        let mut done = 0;
        for (span, text) in self.ordered(body.len())? {
            rope.push(body.slice(done..span.start));
            rope.push(text);
            done = span.end;
        }
        rope.push(body.slice(done..));
        Ok(rope)
    }
}

/// A body as a list of slices; nothing is copied until it is written to the socket.
#[derive(Debug, Clone, Default)]
pub struct Rope {
    parts: Vec<Bytes>,
    len: usize,
}

impl Rope {
    /// Length in bytes: the Content-Length.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slices in order; none is empty.
    pub fn parts(&self) -> &[Bytes] {
        &self.parts
    }

    /// The slices in order; none is empty.
    pub fn into_parts(self) -> Vec<Bytes> {
        self.parts
    }

    /// One contiguous copy: for tests and small bodies.
    pub fn to_bytes(&self) -> Bytes {
        self.parts.concat().into()
    }

    fn push(&mut self, part: Bytes) {
        if !part.is_empty() {
            self.len += part.len();
            self.parts.push(part);
        }
    }
}

impl From<Bytes> for Rope {
    fn from(bytes: Bytes) -> Self {
        let mut rope = Self::default();
        rope.push(bytes);
        rope
    }
}

#[cfg(test)]
mod tests;
