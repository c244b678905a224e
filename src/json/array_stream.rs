//! Gemini's stream without `alt=sse`: one JSON array whose elements come one by one, `[{…}\n,\n{…}\n]`.
use super::partial::Partial;
use memchr::memchr2;

/// Longest element that is kept while it is incomplete, in bytes. An inline image runs to some MiB.
pub const MAX_ELEMENT: usize = 16 << 20;

/// Cuts a streamed JSON array into its elements, without validating them: what looks at an element parses it.
///
/// A value outside of the array is reported like an element: after an error in mid-stream, servers append a bare error
/// object, or send one in place of the array.
#[derive(Debug)]
pub struct ArrayFramer {
    partial: Partial,
    state: State,
    /// Whether the array is open.
    in_array: bool,
}

/// What the next byte belongs to; `depth` counts the element's open containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The array.
    Between,
    /// The element, outside of its strings.
    Structure { depth: usize },
    /// A string.
    Text { depth: usize },
    /// A string, behind a backslash.
    Escape { depth: usize },
    /// An element that is a number or a literal.
    Scalar,
}

impl State {
    /// Behind a closing quote, brace or bracket.
    const fn closed(depth: usize) -> Self {
        if depth == 0 { Self::Between } else { Self::Structure { depth } }
    }
}

impl Default for ArrayFramer {
    fn default() -> Self {
        Self { partial: Partial::new(MAX_ELEMENT), state: State::Between, in_array: false }
    }
}

impl ArrayFramer {
    /// A framer at the start of a body.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and calls `each` for every element that they complete. An element that lies wholly in
    /// `chunk` is not copied. One beyond [`MAX_ELEMENT`] is dropped and [`ArrayFramer::overflowed`] says so.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(&[u8])) {
        self.push_at(chunk, |element, _end| each(element));
    }

    /// As [`ArrayFramer::push`], and says where in `chunk` each element ends.
    pub fn push_at(&mut self, chunk: &[u8], mut each: impl FnMut(&[u8], usize)) {
        let mut rest = chunk;
        loop {
            rest = self.skip_to_element(rest);
            if self.state == State::Between {
                return;
            }
            let (element, behind) = rest.split_at(self.element_run(rest));
            if self.state != State::Between {
                self.partial.keep(element);
                return;
            }
            let at = chunk.len() - behind.len();
            self.partial.complete(element, |element| each(element, at));
            rest = behind;
        }
    }

    /// The stream has ended: an element that nothing ended is given as it is, cut or not.
    pub fn finish(&mut self, each: impl FnMut(&[u8])) {
        if !self.partial.is_empty() {
            self.partial.complete(b"", each);
        }
        self.state = State::Between;
        self.in_array = false;
    }

    /// Whether the last byte stood between elements: there is no element that is cut here.
    pub fn is_between_elements(&self) -> bool {
        self.partial.is_empty()
    }

    /// Whether an element was longer than [`MAX_ELEMENT`], so that something was not seen.
    pub fn overflowed(&self) -> bool {
        self.partial.overflowed()
    }

    /// Between elements: what is left of `bytes` from the next element on.
    fn skip_to_element<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        while self.state == State::Between
            && let Some((byte, behind)) = rest.split_first()
        {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' => {}
                b'[' if !self.in_array => self.in_array = true,
                b']' => self.in_array = false,
                b'{' | b'[' | b'"' => self.state = State::Structure { depth: 0 },
                _ => self.state = State::Scalar,
            }
            if self.state == State::Between {
                rest = behind;
            }
        }
        rest
    }

    /// Goes on within an element to its end; the number of bytes that belong to it.
    fn element_run(&mut self, bytes: &[u8]) -> usize {
        let mut length = 0;
        while self.state != State::Between
            && let Some(ahead) = bytes.get(length..).filter(|ahead| !ahead.is_empty())
        {
            length += self.step(ahead);
        }
        length
    }

    /// Goes on within an element to where the state changes; the number of bytes that this takes.
    fn step(&mut self, bytes: &[u8]) -> usize {
        let found = match self.state {
            State::Between => return 0,
            State::Structure { .. } => bytes.iter().position(|byte| matches!(byte, b'{' | b'}' | b'[' | b']' | b'"')),
            State::Text { .. } => memchr2(b'"', b'\\', bytes),
            State::Escape { .. } => Some(0),
            State::Scalar => bytes.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b']')),
        };
        let Some(index) = found else { return bytes.len() };
        let (state, length) = match (self.state, bytes.get(index)) {
            (State::Structure { depth }, Some(b'"')) | (State::Escape { depth }, _) => {
                (State::Text { depth }, index + 1)
            }
            (State::Structure { depth }, Some(b'{' | b'[')) => (State::Structure { depth: depth + 1 }, index + 1),
            (State::Structure { depth }, _) => (State::closed(depth.saturating_sub(1)), index + 1),
            (State::Text { depth }, Some(b'"')) => (State::closed(depth), index + 1),
            (State::Text { depth }, _) => (State::Escape { depth }, index + 1),
            // What ends a scalar belongs to the array.
            (State::Scalar | State::Between, _) => (State::Between, index),
        };
        self.state = state;
        length
    }
}

#[cfg(test)]
mod tests;
