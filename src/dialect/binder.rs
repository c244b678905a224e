//! One leg of an answer on its way down, held to the tools that it may call.
use super::{Piece, frame};
use crate::context::{Binding, Call, Ruling};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;

/// Why a leg can't be held to its tools. It must not go down then: a call could be in what is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// A piece that can't be read.
    #[error("a piece can't be read: {0}")]
    Unreadable(String),
    /// Calls are longer than `limits.held_response`.
    #[error("more than limits.held_response would have to be held")]
    TooLong,
    /// A call changed its name after the client had seen it.
    #[error("a call changed its name")]
    Renamed,
}

impl BindError {
    /// For what another room could not read.
    pub(super) fn unreadable(error: impl std::fmt::Display) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// A call, and what became of it.
#[derive(Debug, Clone)]
pub struct Ruled {
    /// As the model made it.
    pub call: Call,
    /// What was decided.
    pub ruling: Ruling,
}

impl Ruled {
    /// Whether the client sees it.
    pub fn is_shown(&self) -> bool {
        !matches!(self.ruling, Ruling::Refuse(_))
    }
}

/// Where pieces go.
pub type Pass<'a> = dyn FnMut(Piece<'_>) + 'a;

/// Takes refused calls out of one leg, and gives others another input. What is left is a legal leg: indexes are counted
/// without a gap, and an answer whose calls are all refused ended by itself.
///
/// Everything else passes at once and byte for byte. Of calls only those are held that hooks decide on. Where all calls
/// of a leg are refused its end is kept back until [`Binder::close`].
pub trait Binder: Send {
    /// The next piece. Not while a call waits.
    ///
    /// # Errors
    /// [`BindError`]: the leg must not go on.
    fn piece(&mut self, piece: &Piece<'_>, pass: &mut Pass<'_>) -> Result<(), BindError>;

    /// Nothing more comes: a call that nothing ended is complete, or, when the leg was cut, void.
    ///
    /// # Errors
    /// [`BindError`]
    fn finish(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError>;

    /// The complete call that is to be decided on next.
    fn waiting(&self) -> Option<&Call>;

    /// Decides on it.
    ///
    /// # Errors
    /// [`BindError`]
    fn rule(&mut self, ruling: Ruling, pass: &mut Pass<'_>) -> Result<(), BindError>;

    /// The leg's calls so far, in the model's order.
    fn calls(&self) -> &[Ruled];

    /// Whether the leg's end is kept back: it has calls, and all of them are refused.
    fn is_emptied(&self) -> bool {
        !self.calls().is_empty() && !self.calls().iter().any(Ruled::is_shown)
    }

    /// Passes the end that is kept back, behind `notice` as a text of the model's where it is given.
    ///
    /// # Errors
    /// [`BindError`]
    fn close(&mut self, notice: Option<&str>, pass: &mut Pass<'_>) -> Result<(), BindError>;

    /// Bytes that are held.
    fn held(&self) -> usize;
}

/// A piece that is kept.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    raw: Bytes,
    event: Option<Vec<u8>>,
    data: Option<Vec<u8>>,
}

impl Kept {
    pub(super) fn of(piece: &Piece<'_>) -> Self {
        Self { raw: piece.raw.clone(), event: piece.event.map(<[u8]>::to_vec), data: piece.data.map(<[u8]>::to_vec) }
    }

    /// The piece with other data; what else stands in its frame stays.
    pub(super) fn with_data(piece: &Piece<'_>, data: String) -> Self {
        let raw = frame::with_data(piece, &data);
        Self { raw, event: piece.event.map(<[u8]>::to_vec), data: Some(data.into_bytes()) }
    }

    /// An event of the gateway's own.
    pub(super) fn made(event: Option<&str>, data: String) -> Self {
        let raw = frame::event(event, &data).into();
        Self { raw, event: event.map(|event| event.as_bytes().to_vec()), data: Some(data.into_bytes()) }
    }

    pub(super) fn piece(&self) -> Piece<'_> {
        Piece { raw: self.raw.clone(), event: self.event.as_deref(), data: self.data.as_deref() }
    }

    pub(super) fn len(&self) -> usize {
        self.raw.len()
    }
}

/// A binder, and what came while a call waited.
pub struct BoundLeg {
    binder: Box<dyn Binder>,
    queue: VecDeque<Kept>,
    queued: usize,
    finished: bool,
    limit: usize,
    /// Nothing of the last piece passed.
    holds: bool,
}

impl BoundLeg {
    /// Holds at most `limit` bytes.
    pub fn new(binder: Box<dyn Binder>, limit: usize) -> Self {
        Self { binder, queue: VecDeque::new(), queued: 0, finished: false, limit, holds: false }
    }

    /// The next piece; where a call waits it queues up behind it.
    ///
    /// # Errors
    /// [`BindError`]
    pub fn piece(&mut self, piece: &Piece<'_>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        self.holds = true;
        if self.queue.is_empty() && self.binder.waiting().is_none() {
            let holds = &mut self.holds;
            self.binder.piece(piece, &mut |piece| {
                *holds = false;
                pass(piece);
            })?;
        } else {
            self.queued += piece.raw.len();
            self.queue.push_back(Kept::of(piece));
        }
        if self.queued + self.binder.held() > self.limit { Err(BindError::TooLong) } else { Ok(()) }
    }

    /// Nothing more comes.
    ///
    /// # Errors
    /// [`BindError`]
    pub fn finish(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError> {
        self.finished = true;
        self.drain(pass)
    }

    /// Whether the last piece was held or left out.
    pub fn is_holding(&self) -> bool {
        self.holds
    }

    /// The complete call that is to be decided on next.
    pub fn waiting(&self) -> Option<&Call> {
        self.binder.waiting()
    }

    /// Decides on it.
    ///
    /// # Errors
    /// [`BindError`]
    pub fn rule(&mut self, ruling: Ruling, pass: &mut Pass<'_>) -> Result<(), BindError> {
        self.binder.rule(ruling, pass)?;
        self.drain(pass)
    }

    /// The rest, once no call waits.
    fn drain(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError> {
        while self.binder.waiting().is_none()
            && let Some(kept) = self.queue.pop_front()
        {
            self.queued -= kept.len();
            self.binder.piece(&kept.piece(), pass)?;
        }
        if self.finished && self.binder.waiting().is_none() {
            self.finished = false;
            self.binder.finish(pass)?;
        }
        Ok(())
    }

    /// The leg's calls so far, in the model's order.
    pub fn calls(&self) -> &[Ruled] {
        self.binder.calls()
    }

    /// See [`Binder::is_emptied`].
    pub fn is_emptied(&self) -> bool {
        self.binder.is_emptied()
    }

    /// See [`Binder::close`].
    ///
    /// # Errors
    /// [`BindError`]
    pub fn close(&mut self, notice: Option<&str>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        self.binder.close(notice, pass)
    }
}

/// The calls of a leg as a binder keeps them.
#[derive(Debug, Default)]
pub(super) struct Calls {
    binding: Arc<Binding>,
    ruled: Vec<Ruled>,
}

impl Calls {
    pub(super) fn new(binding: Arc<Binding>) -> Self {
        Self { binding, ruled: Vec::new() }
    }

    pub(super) fn binding(&self) -> &Binding {
        &self.binding
    }

    pub(super) fn push(&mut self, call: Call, ruling: Ruling) {
        self.ruled.push(Ruled { call, ruling });
    }

    /// A call that is decided already, while its arguments still come.
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Ruled> {
        self.ruled.get_mut(index)
    }

    pub(super) fn all(&self) -> &[Ruled] {
        &self.ruled
    }

    /// How many the client does not get.
    pub(super) fn refused(&self) -> usize {
        self.ruled.iter().filter(|ruled| !ruled.is_shown()).count()
    }
}
