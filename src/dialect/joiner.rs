//! Several legs on their way down, joined to one message.
use bytes::Bytes;

/// A unit of an answer: an event with its blank line, an element of an array, a whole JSON body.
#[derive(Debug, Clone)]
pub struct Piece<'a> {
    /// The bytes as they came; all pieces of a leg together are the leg.
    pub raw: Bytes,
    /// The `event:` field.
    pub event: Option<&'a [u8]>,
    /// What it says; `None` where it says nothing (comments, white space, the array's closing bracket).
    pub data: Option<&'a [u8]>,
}

/// Why a leg can't be joined to the ones before: what it says would break the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// A piece that can't be read.
    #[error("the leg can't be read: {0}")]
    Unreadable(String),
    /// A piece that is not legal where it stands.
    #[error("{0} is out of order")]
    OutOfOrder(String),
    /// The upstream says that it failed.
    #[error("the upstream failed: {0}")]
    Failed(String),
}

impl JoinError {
    /// For what another room could not read.
    pub(super) fn unreadable(error: impl std::fmt::Display) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// The data of a piece as text.
///
/// # Errors
/// [`JoinError::Unreadable`] if it is not UTF-8.
pub(super) fn text(data: &[u8]) -> Result<&str, JoinError> {
    std::str::from_utf8(data).map(str::trim).map_err(JoinError::unreadable)
}

/// Makes one legal message of the legs of an answer: one start, indexes and sequence numbers that run on, one end.
///
/// The first leg passes byte for byte. Its terminal pieces, and all behind them, are kept back until it is known whether
/// another leg follows; everything before passes at once. One kind of piece is parted in two: a text for the user that
/// comes with the end (Gemini, compatible servers) goes down at once, the end waits.
/// Pieces of later legs are rewritten, and checked: nothing goes down that breaks the order of the message.
///
/// A first leg that is out of order passes all the same, but it has no [`Joiner::answer`], so that nothing follows it:
/// blocks that are streamed in parallel, an end with content behind it (older Gemini models end in every chunk).
///
/// Called in this order: [`Joiner::piece`] for every piece of a leg, until [`Joiner::is_over`] or the leg's bytes end; then
/// either [`Joiner::next_leg`] and again from the start, or [`Joiner::end`], once. [`Joiner::lose`] may come before the end.
pub trait Joiner: Send {
    /// The next piece of the running leg. What goes down now is added to `out`.
    ///
    /// # Errors
    /// [`JoinError`], from the second leg on: the leg is lost. `out` is then what it was.
    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) -> Result<(), JoinError>;

    /// Whether the dialect's last piece of a message was seen in the running leg. Gemini has none: there the bytes' end is
    /// the leg's.
    fn is_over(&self) -> bool;

    /// Whether something that the running leg says has gone down.
    fn has_spoken(&self) -> bool;

    /// What the running leg says, as elements of the dialect's native history: JSON texts, empty when it says nothing.
    /// `None`: it was too long to be kept, or holds what is not understood.
    fn answer(&self) -> Option<Vec<String>>;

    /// The leg that is over is followed by another: its terminal pieces are not passed on.
    fn next_leg(&mut self);

    /// The running leg, one behind the first, is lost, whatever was seen of it: it is no part of the message any more.
    fn lose(&mut self);

    /// The message ends. With the running leg if that is over, else, when it has not spoken, with the one before. The
    /// end's pieces are added to `out`: of a single leg as they came, of several with what they cost together (output
    /// summed, input of the last leg that ended).
    fn end(&mut self, out: &mut Vec<Bytes>);
}
