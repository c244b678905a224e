//! What is kept back at the end of a leg.
use super::Piece;
use bytes::Bytes;
use memchr::memmem;

/// Most that is kept back behind the first terminal piece, in bytes. Providers send one or two small pieces there.
const MAX_BEHIND: usize = 1 << 20;

/// Pieces that wait for what comes after the leg.
#[derive(Debug, Default)]
pub(super) struct Held {
    pieces: Vec<Bytes>,
    behind: usize,
}

impl Held {
    /// Keeps a piece. False, and not kept: there is no room for it.
    #[must_use]
    pub(super) fn push(&mut self, piece: Bytes) -> bool {
        if !self.pieces.is_empty() {
            self.behind += piece.len();
        }
        let fits = self.behind <= MAX_BEHIND;
        if fits {
            self.pieces.push(piece);
        }
        fits
    }

    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Lets all of it go.
    pub(super) fn release(&mut self, out: &mut Vec<Bytes>) {
        out.append(&mut self.pieces);
    }
}

/// What stands before and behind the data in a piece; `None` where the data is not one run of its bytes.
pub(super) fn around<'p>(piece: &'p Piece<'_>) -> Option<(&'p [u8], &'p [u8])> {
    let data = piece.data.filter(|data| !data.is_empty())?;
    let at = memmem::find(&piece.raw, data)?;
    Some((piece.raw.get(..at)?, piece.raw.get(at + data.len()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_leg_does_not_grow_without_bound() {
        let mut held = Held::default();
        assert!(held.push(Bytes::from(vec![b'x'; 2 * MAX_BEHIND])), "the first piece may be as long as it likes");
        assert!(held.push(Bytes::from(vec![b'y'; MAX_BEHIND])));
        assert!(!held.push(Bytes::from_static(b"z")));
        let mut out = vec![];
        held.release(&mut out);
        assert_eq!((out.len(), held.is_empty()), (2, true));
    }
}
