//! How chunks stand in a stream: as events, or as elements of an array.
use crate::dialect::Piece;
use crate::dialect::frame::{around, event, with_data};
use bytes::Bytes;

/// What stands for a piece of a later leg that says nothing, so that the client hears that the stream lives: every reader
/// takes a blank line, and white space between elements. Comments and brackets would not do.
pub(super) const SILENCE: Bytes = Bytes::from_static(b"\n");

/// The form, and how far it has come.
#[derive(Debug)]
pub(super) enum Framing {
    /// Events. There are no `event:` lines and no comments: the Python SDK reads nothing but `data: `.
    Events,
    /// An array; the last byte of it that went down and is no white space.
    Array(Option<u8>),
}

impl Framing {
    /// Notes bytes that go down as they are.
    pub(super) fn passed(&mut self, raw: &[u8]) {
        if let (Self::Array(last), Some(byte)) = (self, raw.trim_ascii_end().last()) {
            *last = Some(*byte);
        }
    }

    /// A further chunk.
    pub(super) fn frame(&mut self, data: &str) -> Bytes {
        match self {
            Self::Events => event(None, data).into(),
            Self::Array(last) => {
                let separator = match last.replace(b'}') {
                    None => "[",
                    Some(b'[' | b',') => "",
                    Some(_) => ",\n",
                };
                format!("{separator}{data}").into()
            }
        }
    }

    /// A piece as two chunks: what stands around its data in the stream stays around both of them.
    pub(super) fn halves(&self, piece: &Piece<'_>, first: &str, second: &str) -> Option<(Bytes, Bytes)> {
        let (before, behind) = around(piece)?;
        Some(match self {
            Self::Events => (with_data(piece, first), with_data(piece, second)),
            Self::Array(_) => {
                ([before, first.as_bytes()].concat().into(), [b",\n", second.as_bytes(), behind].concat().into())
            }
        })
    }

    /// What closes a joined stream.
    pub(super) fn close(&self) -> Option<Bytes> {
        match self {
            Self::Events => None,
            Self::Array(_) => Some(Bytes::from_static(b"\n]")),
        }
    }
}
