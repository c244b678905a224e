//! The end of a leg: what is kept back until it is known whether another leg follows.
use bytes::Bytes;

/// Most that is kept back, in bytes. An end is a few small pieces, or one response with everything that it says and was
/// asked; an upstream that goes on behind its end is not waited for.
const MAX_HELD: usize = 32 << 20;

/// Pieces from the first terminal one on.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Held {
    pieces: Vec<Bytes>,
    bytes: usize,
}

impl Held {
    /// Keeps a piece back. False: there is no room for it.
    pub(in crate::dialect) fn take(&mut self, piece: Bytes) -> bool {
        self.bytes = self.bytes.saturating_add(piece.len());
        let fits = self.bytes <= MAX_HELD;
        if fits {
            self.pieces.push(piece);
        }
        fits
    }

    /// Lets the pieces go.
    pub(in crate::dialect) fn release(&mut self, out: &mut Vec<Bytes>) {
        out.append(&mut self.pieces);
    }
}
