//! What is kept back at the end of a leg.
use super::JoinError;
use bytes::Bytes;

/// Most that is kept back behind the first terminal piece, in bytes. Providers send one or two small pieces there.
const MAX_BEHIND: usize = 1 << 20;

/// Pieces that wait for what comes after the leg.
#[derive(Debug, Default)]
pub(super) struct Held {
    pieces: Vec<Bytes>,
    behind: usize,
    /// Nothing is kept any more.
    has_let_go: bool,
}

impl Held {
    /// Keeps a piece.
    ///
    /// # Errors
    /// [`JoinError::OutOfOrder`] when there is no room for it.
    pub(super) fn keep(&mut self, piece: Bytes) -> Result<(), JoinError> {
        match self.push(piece) {
            true => Ok(()),
            false => Err(JoinError::OutOfOrder("more than can be kept back".to_owned())),
        }
    }

    /// Keeps a piece of a leg that passes whatever it says: where there is no room, all of it passes from now on.
    pub(super) fn keep_or_pass(&mut self, piece: Bytes, out: &mut Vec<Bytes>) {
        if self.has_let_go || !self.push(piece.clone()) {
            self.let_go(out);
            out.push(piece);
        }
    }

    fn push(&mut self, piece: Bytes) -> bool {
        if !self.pieces.is_empty() {
            self.behind += piece.len();
        }
        let fits = self.behind <= MAX_BEHIND;
        if fits {
            self.pieces.push(piece);
        }
        fits
    }

    /// Lets all of it go, and keeps nothing from now on: what was taken for the end was none.
    pub(super) fn let_go(&mut self, out: &mut Vec<Bytes>) {
        self.has_let_go = true;
        self.release(out);
    }

    /// Whether the end went down before it was known that nothing follows.
    pub(super) fn has_let_go(&self) -> bool {
        self.has_let_go
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_leg_does_not_grow_without_bound() {
        let mut held = Held::default();
        held.keep(Bytes::from(vec![b'x'; 2 * MAX_BEHIND])).expect("the first piece may be as long as it likes");
        held.keep(Bytes::from(vec![b'y'; MAX_BEHIND])).unwrap();
        held.keep(Bytes::from_static(b"z")).unwrap_err();
        let mut out = vec![];
        held.keep_or_pass(Bytes::from_static(b"z"), &mut out);
        held.keep_or_pass(Bytes::from_static(b"z"), &mut out);
        assert_eq!((out.len(), held.is_empty(), held.has_let_go()), (4, true, true));
    }
}
