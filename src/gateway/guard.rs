//! The tap of an event stream that nobody else looks at: it sees to it that a cut stream ends as an error.
//!
//! Without it the clean end of a body could stand behind half an answer; the Python SDKs of all providers take that for
//! success. The stream ends with the dialect's own error event instead.
use super::errors::GatewayError;
use super::request_id::RequestId;
use super::tap::{Cut, End, Tap};
use crate::context::answer::Ending;
use crate::context::view::AnswerForm;
use crate::dialect::{self, AnswerReader, DialectId};
use crate::sse::Framer;
use bytes::Bytes;
use std::time::Duration;

/// Longest line end that matters: two times CR LF.
const TAIL: usize = 4;

/// Watches for the end of a stream.
pub struct StreamGuard {
    dialect: DialectId,
    id: RequestId,
    idle_timeout: Duration,
    tail: FrameEnd,
    /// Only where HTTP does not say whether the body is whole.
    reader: Option<(Framer, Box<dyn AnswerReader>)>,
}

impl StreamGuard {
    /// A guard of an event stream of this dialect. `framed`: HTTP tells where the body ends (a length, chunks, HTTP/2);
    /// without that the end of a connection is all there is, and the answer is read to know whether it is whole.
    pub fn new(dialect: DialectId, id: RequestId, idle_timeout: Duration, framed: bool) -> Self {
        let reader = (!framed).then(|| (Framer::new(), dialect::of(dialect).reader(AnswerForm::Sse)));
        Self { dialect, id, idle_timeout, tail: FrameEnd::default(), reader }
    }
}

impl Tap for StreamGuard {
    fn data(&mut self, bytes: &[u8]) {
        self.tail.push(bytes);
        if let Some((framer, reader)) = &mut self.reader {
            framer.push(bytes, |frame| reader.event(frame.event, &frame.data));
        }
    }

    fn is_whole(&mut self) -> bool {
        self.reader.as_mut().is_none_or(|(framer, reader)| {
            framer.finish(|frame| reader.event(frame.event, &frame.data));
            reader.finish().ending != Ending::Cut
        })
    }

    fn is_terminal(&mut self) -> bool {
        self.reader.as_ref().is_some_and(|(_, reader)| reader.is_terminal())
    }

    fn cut(&mut self, why: Cut) -> Option<Bytes> {
        Some(cut_event(self.dialect, self.id, why, self.idle_timeout, self.tail.is_open()))
    }

    fn end(&mut self, how: End) {
        if let End::Cut(why) = how {
            tracing::warn!(request_id = %self.id, ?why, "the upstream broke a stream off");
        }
    }
}

/// The dialect's error event for a stream that broke off; `open`: in the middle of a frame.
pub fn cut_event(of: DialectId, id: RequestId, why: Cut, idle_timeout: Duration, open: bool) -> Bytes {
    let error = GatewayError::cut(why, idle_timeout).wire(&id);
    dialect::of(of).stream_error(&error, AnswerForm::Sse, open)
}

/// Whether the bytes so far end a frame.
#[derive(Debug, Default)]
pub struct FrameEnd {
    tail: Vec<u8>,
}

impl FrameEnd {
    /// The next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let from = bytes.len().saturating_sub(TAIL);
        self.tail.extend_from_slice(bytes.get(from..).unwrap_or_default());
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
    }

    /// Whether a frame has begun and not ended with an empty line.
    pub fn is_open(&self) -> bool {
        let ended = [&b"\n\n"[..], b"\r\r", b"\r\n\r\n", b"\n\r\n"].iter().any(|end| self.tail.ends_with(end));
        !(self.tail.is_empty() || ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_line_ends_a_frame_wherever_the_bytes_are_cut() {
        for (text, open) in [
            ("", false),
            ("data: x", true),
            ("data: x\n", true),
            ("data: x\n\n", false),
            ("data: x\r\n\r\n", false),
            ("data: x\r\n", true),
            ("data: x\r\r", false),
            ("data: x\n\r\n", false),
            (": ka\n\ndata", true),
        ] {
            for size in 1..=text.len().max(1) {
                let mut end = FrameEnd::default();
                text.as_bytes().chunks(size).for_each(|piece| end.push(piece));
                assert_eq!(end.is_open(), open, "{text:?} by {size}");
            }
        }
    }
}
