//! What an answer reader keeps of an answer: its text and its calls, bounded.
use crate::context::Call;
use serde_json::value::RawValue;

/// Most that is kept of one answer, in bytes of text and arguments. The longest answers of today's models (128k tokens)
/// are well below 1 MiB; what an upstream sends beyond this is relayed, but not remembered.
pub(super) const MAX_ANSWER: usize = 16 << 20;

/// What a call counts beyond its arguments, so that empty calls are bounded too.
const CALL_COST: usize = 128;

/// How many of the latest calls may still be arriving. Providers send one block after the other; some local servers
/// interleave parallel calls.
const OPEN_CALLS: usize = 64;

/// Text and calls so far.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    text: String,
    calls: Vec<Draft>,
    held: usize,
}

/// A call whose arguments may still be arriving.
#[derive(Debug)]
struct Draft {
    /// Names the block in the stream.
    key: u64,
    id: String,
    name: String,
    /// Arguments that came piece by piece.
    streamed: String,
    /// Arguments that came whole; they count when nothing was streamed.
    whole: String,
}

impl Transcript {
    /// Adds text.
    pub(super) fn text(&mut self, piece: &str) {
        if self.take_in(piece.len()) {
            self.text.push_str(piece);
        }
    }

    /// Begins a call; `input` are its arguments as far as they are known.
    pub(super) fn call(&mut self, key: u64, id: &str, name: &str, input: &str) {
        if self.take_in(CALL_COST + id.len() + name.len() + input.len()) {
            self.calls.push(Draft {
                key,
                id: id.to_owned(),
                name: name.to_owned(),
                streamed: String::new(),
                whole: input.to_owned(),
            });
        }
    }

    /// Adds a piece of a call's arguments.
    pub(super) fn input(&mut self, key: u64, piece: &str) {
        if !self.take_in(piece.len()) {
            return;
        }
        if let Some(draft) = self.calls.iter_mut().rev().take(OPEN_CALLS).find(|draft| draft.key == key) {
            draft.streamed.push_str(piece);
        }
    }

    /// Takes out what was collected.
    pub(super) fn take(&mut self) -> (String, Vec<Call>) {
        let calls = std::mem::take(&mut self.calls).into_iter().map(Draft::finish).collect();
        (std::mem::take(&mut self.text), calls)
    }

    /// Once something did not fit, nothing follows: what is kept stays a true beginning.
    fn take_in(&mut self, bytes: usize) -> bool {
        self.held = self.held.saturating_add(bytes);
        self.held <= MAX_ANSWER
    }
}

impl Draft {
    fn finish(self) -> Call {
        let input = if self.streamed.is_empty() { self.whole } else { self.streamed };
        Call { id: self.id, name: self.name, input: arguments(input) }
    }
}

/// Arguments as the model wrote them; `null` when they are not JSON (cut by `max_tokens`).
pub(super) fn arguments(text: String) -> Box<RawValue> {
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_ends_the_record() {
        let mut transcript = Transcript::default();
        transcript.text("kept");
        transcript.text(&"x".repeat(MAX_ANSWER));
        transcript.text("late");
        transcript.call(0, "id", "name", "{}");
        let (text, calls) = transcript.take();
        assert_eq!((text.as_str(), calls.len()), ("kept", 0));
    }

    #[test]
    fn broken_arguments_become_null() {
        let mut transcript = Transcript::default();
        transcript.call(3, "id", "name", "{}");
        transcript.input(3, "{\"a\":");
        assert_eq!(transcript.take().1[0].input.get(), "null");
    }
}
