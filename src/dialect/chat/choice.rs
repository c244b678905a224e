//! One choice of a stream that is bound: its calls, and the chunks that wait for what is decided about them.
use super::calling::{Calling, Taken};
use super::parts::Parts;
use crate::dialect::binder::{BindError, Kept};
use crate::dialect::{Piece, joiner};
use crate::json::{Kind, raw};

/// What a choice counts as held, in bytes: each chunk looks for its own.
const CHOICE_COST: usize = 1 << 10;

/// A choice.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) index: u64,
    pub(super) calling: Calling,
    /// Pieces of calls that wait for what is decided.
    pub(super) held: Vec<(Kept, Taken)>,
    pub(super) has_text: bool,
    pub(super) is_ended: bool,
}

impl Bound {
    pub(super) fn new(index: u64) -> Self {
        Self { index, calling: Calling::default(), held: vec![], has_text: false, is_ended: false }
    }

    pub(super) fn is_holding(&self) -> bool {
        self.calling.is_undecided() || !self.held.is_empty()
    }

    /// A chunk with the calls that the client gets; none where nothing is left of it.
    pub(super) fn written(&mut self, piece: &Piece<'_>, taken: &Taken) -> Result<Option<Kept>, BindError> {
        let Some(text) = chunk_text(piece)? else { return Ok(None) };
        let parts = Parts::of(text).map_err(BindError::unreadable)?;
        let written = self.calling.write(taken, &parts.calls, parts.old).map_err(BindError::unreadable)?;
        if written.same {
            return Ok(Some(Kept::of(piece)));
        }
        let is_empty = written.calls.is_empty() && written.old.is_none() && !parts.stands_alone();
        Ok((!is_empty).then(|| Kept::with_data(piece, parts.with(&written.calls, written.old))))
    }

    /// What it counts as held, in bytes: the texts of calls once, where their pieces wait in these.
    pub(super) fn size(&self) -> usize {
        let waits: usize = self.held.iter().map(|(kept, taken)| kept.len().saturating_sub(taken.text)).sum();
        CHOICE_COST + self.calling.size() + waits
    }
}

/// The chunk of a piece; `None` where it says nothing, or is no JSON object, as the marker behind the last one: no client
/// can take that for a call.
pub(super) fn chunk_text<'p>(piece: &'p Piece<'_>) -> Result<Option<&'p str>, BindError> {
    let Some(data) = piece.data else { return Ok(None) };
    let text = joiner::text(data).map_err(BindError::unreadable)?;
    Ok((raw::kind(text) == Some(Kind::Object)).then_some(text))
}
