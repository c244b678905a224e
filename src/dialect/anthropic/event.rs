//! One event of a stream, as the joiner reads it.
use crate::dialect::object::Object;
use crate::dialect::{JoinError, Piece};
use crate::json::raw;
use std::borrow::Cow;

/// An event with the members that say where it belongs.
#[derive(Debug)]
pub(super) struct JoinedEvent<'a> {
    /// Its type.
    pub(super) kind: Cow<'a, str>,
    /// All of it.
    pub(super) raw: &'a str,
    object: Object<'a>,
}

impl<'a> JoinedEvent<'a> {
    /// Reads the data of a piece.
    ///
    /// # Errors
    /// [`JoinError::Unreadable`] when it is no object, has a key twice, or is called otherwise than its type says: the
    /// SDKs go by the name, other readers by the type. Nor may a type have several lines: it becomes a name.
    pub(super) fn read(piece: &Piece<'_>, data: &'a [u8]) -> Result<Self, JoinError> {
        let raw = std::str::from_utf8(data).map_err(|error| JoinError::Unreadable(error.to_string()))?.trim();
        let object = Object::parse(raw).map_err(|error| JoinError::Unreadable(error.to_string()))?;
        let kind = object.string("type").unwrap_or_default();
        match piece.event {
            _ if kind.contains(['\n', '\r']) => {
                Err(JoinError::Unreadable(format!("a type of several lines: {kind:?}")))
            }
            Some(name) if name != kind.as_bytes() => {
                Err(JoinError::Unreadable(format!("{kind} is called {}", String::from_utf8_lossy(name))))
            }
            _ => Ok(Self { kind, raw, object }),
        }
    }

    /// The text of a member's value, unless it is `null`.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.object.get(key)
    }

    /// The index of the block that it is about.
    pub(super) fn index(&self) -> Option<u64> {
        self.get("index")?.parse().ok()
    }

    /// Whether it gives the reason of the answer's end.
    pub(super) fn is_final_delta(&self) -> bool {
        let reason = || raw::get_str(self.get("delta")?, "stop_reason");
        self.kind == "message_delta" && reason().is_some_and(|reason| !reason.is_empty())
    }

    /// The error that says that it stands where it must not.
    pub(super) fn out_of_order(&self) -> JoinError {
        JoinError::OutOfOrder(self.kind.clone().into_owned())
    }
}
