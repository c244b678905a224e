//! What it takes to ask hooks about an answer while it comes.
use super::Turns;
use super::occasion::Occasion;
use crate::inspect::Recording;
use crate::session::conversation::{Live, State, Turn};
use http::HeaderMap;
use std::sync::Arc;

/// Whose answer it is.
pub(super) struct Asking {
    pub(super) turns: Arc<Turns>,
    pub(super) live: Arc<Live>,
    pub(super) occasion: Arc<Occasion>,
    /// The client's.
    pub(super) headers: Arc<HeaderMap>,
    /// The request whose answer it is.
    pub(super) recording: Recording,
    /// The running turn's id.
    pub(super) turn: String,
}

impl Asking {
    /// The turn, if it still is the running one.
    pub(super) fn running<'s>(&self, state: &'s mut State) -> Option<&'s mut Turn> {
        state.record.turn.as_mut().filter(|turn| turn.id == self.turn)
    }
}
