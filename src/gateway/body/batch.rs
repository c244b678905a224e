//! What goes down in one piece.
use bytes::{Bytes, BytesMut};

/// A chunk of this size goes down as it is: copying it would cost more than another write.
pub(super) const LARGE: usize = 16 << 10;

/// Small chunks are gathered up to this size, which bounds the copy and the time until the first of them is written.
pub(super) const BATCH: usize = 32 << 10;

/// Small chunks that go down together, and at most one large one behind them.
#[derive(Default)]
pub(super) struct Batch {
    small: Vec<Bytes>,
    length: usize,
    large: Option<Bytes>,
}

impl Batch {
    pub(super) fn push(&mut self, chunk: Bytes) {
        if chunk.len() >= LARGE {
            self.large = Some(chunk);
        } else if !chunk.is_empty() {
            self.length += chunk.len();
            self.small.push(chunk);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.small.is_empty() && self.large.is_none()
    }

    pub(super) fn is_full(&self) -> bool {
        self.large.is_some() || self.length >= BATCH
    }

    pub(super) fn pop(&mut self) -> Option<Bytes> {
        let length = std::mem::take(&mut self.length);
        match self.small.len() {
            0 => self.large.take(),
            1 => self.small.pop(),
            _ => {
                let mut joined = BytesMut::with_capacity(length);
                self.small.drain(..).for_each(|chunk| joined.extend_from_slice(&chunk));
                Some(joined.freeze())
            }
        }
    }
}
