//! What looks at an answer while it is relayed.
use super::failure::Failure;
use bytes::Bytes;
use std::sync::Arc;
use std::task::{Context, Poll};

/// How the upstream's answer broke off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Cut {
    /// The connection was lost, or the body was shorter than announced.
    #[error("the connection was lost")]
    Broken,
    /// No byte for the upstream's idle timeout.
    #[error("no byte came for too long")]
    Idle,
    /// The bytes ended in order, but the answer in them is not whole ([`Tap::is_whole`]).
    #[error("its bytes ended early")]
    Unfinished,
    /// The upstream said that it failed, or was not reached again, behind what it had said before.
    #[error("the upstream failed: {0}")]
    Failed(Arc<Failure>),
    /// What came may not go down: it could not be held to the tools that it may call.
    #[error("it could not be held to its tools")]
    Withheld,
}

impl From<hyper::Error> for Cut {
    fn from(_: hyper::Error) -> Self {
        Self::Broken
    }
}

#[cfg(test)]
impl From<std::io::Error> for Cut {
    fn from(_: std::io::Error) -> Self {
        Self::Broken
    }
}

/// How the relay of an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The upstream ended it.
    Complete,
    /// The upstream broke off.
    Cut(Cut),
    /// The client left before the upstream ended.
    ClientGone,
}

/// Looks at the bytes of one answer; never changes what the upstream said.
///
/// Called in this order: [`Tap::data`] for every piece, before it goes down, [`Tap::poll_release`] before pieces are handed
/// on, and [`Tap::handed_on`] after; then, at the end of bytes, [`Tap::is_whole`]; when the upstream broke off,
/// [`Tap::is_terminal`] and [`Tap::cut`]; and always, exactly once, [`Tap::end`].
pub trait Tap: Send {
    /// The next bytes, as the upstream sent them (possibly compressed).
    fn data(&mut self, bytes: &[u8]);

    /// Whether what was seen may go down now. While this is pending nothing more is read from the upstream.
    fn poll_release(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    /// Everything that was seen so far has been handed to the client's connection.
    fn handed_on(&mut self) {}

    /// The upstream's bytes ended in order: whether the answer in them is whole.
    fn is_whole(&mut self) -> bool {
        true
    }

    /// Whether the dialect's terminal marker was seen: then the answer is whole, and a connection that is lost behind it
    /// changes nothing (local servers close without the last chunk).
    fn is_terminal(&mut self) -> bool {
        false
    }

    /// The upstream broke off: the last bytes that the client gets, an error in the dialect's words. `None` or nothing:
    /// the client's connection is broken off too.
    fn cut(&mut self, _why: Cut) -> Option<Bytes> {
        None
    }

    /// It is over. May be called while the body is dropped: only record here.
    fn end(&mut self, how: End);
}
