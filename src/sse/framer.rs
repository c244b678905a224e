//! Where events end in a stream of chunks.
use super::Frame;
use crate::json::partial::Partial;
use memchr::memchr2;

/// Longest frame that is kept while it is incomplete, in bytes. A `response.completed` snapshot of a long answer or a
/// base64 image part runs to some MiB.
pub const MAX_FRAME: usize = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts a byte stream into [`Frame`]s. Every byte is looked at once for line ends, however often a frame is cut.
#[derive(Debug)]
pub struct Framer {
    partial: Partial,
    /// The last byte ended a line: a line end that follows ends the frame.
    at_line_start: bool,
    /// The last byte was a CR: an LF that follows is the same line end.
    after_cr: bool,
    /// No frame has ended yet: the next one may begin with a byte order mark.
    is_first: bool,
}

impl Default for Framer {
    fn default() -> Self {
        Self { partial: Partial::new(MAX_FRAME), at_line_start: true, after_cr: false, is_first: true }
    }
}

impl Framer {
    /// A framer at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and calls `each` for every frame that they complete. A frame that lies wholly in `chunk` is
    /// not copied. A frame beyond [`MAX_FRAME`] is dropped and [`Framer::overflowed`] says so.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(Frame<'_>)) {
        self.push_at(chunk, |frame, _end| frame.map(&mut each).unwrap_or_default());
    }

    /// As [`Framer::push`], and says where in `chunk` each frame ends, behind its blank line. Frames without data
    /// (comments, blank lines) are `None`.
    pub fn push_at(&mut self, chunk: &[u8], mut each: impl FnMut(Option<Frame<'_>>, usize)) {
        let mut rest = self.skip_split_line_end(chunk);
        let mut frame = if self.is_between_frames() { rest } else { chunk };
        while let Some(found) = memchr2(b'\n', b'\r', rest) {
            let is_blank = self.at_line_start && found == 0;
            let (_, end) = rest.split_at(found);
            rest = end.strip_prefix(b"\r\n").or_else(|| end.get(1..)).unwrap_or_default();
            self.at_line_start = true;
            self.after_cr = end == b"\r";
            if is_blank {
                let (lines, _) = frame.split_at(frame.len() - end.len());
                let at = chunk.len() - rest.len();
                self.complete(lines, |frame| each(frame, at));
                frame = rest;
            }
        }
        if !rest.is_empty() {
            self.at_line_start = false;
            self.after_cr = false;
        }
        self.partial.keep(frame);
    }

    /// The stream has ended: a last frame without its blank line still counts when it has data (providers and local
    /// servers leave the blank line out: openai-node #2725).
    pub fn finish(&mut self, mut each: impl FnMut(Frame<'_>)) {
        self.complete(b"", |frame| frame.map(&mut each).unwrap_or_default());
    }

    /// Whether the last byte ended a frame, or none came yet: whole frames can be put in here.
    pub fn is_between_frames(&self) -> bool {
        self.partial.is_empty()
    }

    /// Whether a frame was longer than [`MAX_FRAME`], so that something was not seen.
    pub fn overflowed(&self) -> bool {
        self.partial.overflowed()
    }

    /// The last chunk ended between the CR and the LF of one line end.
    fn skip_split_line_end<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        match chunk.strip_prefix(b"\n") {
            Some(behind) if self.after_cr => {
                self.after_cr = false;
                behind
            }
            _ => chunk,
        }
    }

    fn complete(&mut self, end: &[u8], each: impl FnOnce(Option<Frame<'_>>)) {
        let is_first = std::mem::take(&mut self.is_first);
        self.partial.complete(end, |lines| {
            let lines = lines.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first).unwrap_or(lines);
            each(Frame::read(lines));
        });
    }
}

#[cfg(test)]
mod tests;
