//! Server-sent events, framed on bytes.
//!
//! The framer looks at a stream that is relayed untouched: it never decides what is forwarded. Lines end with LF, CRLF or
//! CR; several `data:` lines are joined with LF; one optional space after the colon; a line that starts with `:` is a
//! comment; a byte order mark at the start is skipped; frames and UTF-8 characters may be cut anywhere (WHATWG HTML,
//! "Server-sent events").

mod frame;
mod framer;

pub use frame::Frame;
pub use framer::{Framer, MAX_FRAME};
