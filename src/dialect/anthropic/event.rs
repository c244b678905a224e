//! One event of a stream, as the joiner reads it.
use super::events::{Event, Piece as Delta, string};
use crate::dialect::joiner::text;
use crate::dialect::{JoinError, Piece};
use std::borrow::Cow;

/// An event with the members that say where it belongs.
pub(super) struct JoinedEvent<'a> {
    /// Its type.
    pub(super) kind: Cow<'a, str>,
    /// All of it.
    pub(super) raw: &'a str,
    /// Its members.
    pub(super) event: Event<'a>,
}

impl<'a> JoinedEvent<'a> {
    /// Reads the data of a piece.
    ///
    /// # Errors
    /// [`JoinError::Unreadable`] when it is no event, has a key twice, or is called otherwise than its type says: the
    /// SDKs go by the name, other readers by the type. Nor may a type have several lines: it becomes a name.
    pub(super) fn read(piece: &Piece<'_>, data: &'a [u8]) -> Result<Self, JoinError> {
        let raw = text(data)?;
        let event: Event<'a> = Event::parse(raw).map_err(JoinError::unreadable)?;
        let kind = event.kind.map(string).unwrap_or_default();
        match piece.event {
            _ if kind.contains(['\n', '\r']) => {
                Err(JoinError::Unreadable(format!("a type of several lines: {kind:?}")))
            }
            Some(name) if name != kind.as_bytes() => {
                Err(JoinError::Unreadable(format!("{kind} is called {}", String::from_utf8_lossy(name))))
            }
            _ => Ok(Self { kind, raw, event }),
        }
    }

    /// Whether it gives the reason of the answer's end.
    pub(super) fn is_final_delta(&self) -> bool {
        let delta = || Delta::parse(self.event.delta?).ok();
        self.kind == "message_delta" && delta().and_then(|d| d.stop_reason).is_some_and(|why| !string(why).is_empty())
    }

    /// Whether it is a part of the content.
    pub(super) fn speaks(&self) -> bool {
        self.kind.starts_with("content_block")
    }

    /// The error that says that it stands where it must not.
    pub(super) fn out_of_order(&self) -> JoinError {
        JoinError::OutOfOrder(self.kind.clone().into_owned())
    }
}
