//! The wire form of an answer: chunks of a stream, or a whole `chat.completion`.
use crate::json::raw;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What stands after the last chunk.
const DONE: &[u8] = b"[DONE]";

/// Whether this is the marker behind the last chunk.
pub(super) fn is_done(data: &[u8]) -> bool {
    data.trim_ascii() == DONE
}

/// One chunk, or a whole body, whose choices have a `message` where a chunk's have a `delta`.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) role: Option<&'a RawValue>,
    /// Reasoning, as compatible servers call it; some send both.
    #[serde(borrow)]
    pub(super) reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) audio: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    #[serde(borrow)]
    pub(super) function_call: Option<Called<'a>>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) function: Option<Called<'a>>,
    #[serde(borrow)]
    pub(super) custom: Option<Called<'a>>,
}

/// A function's arguments, or a custom tool's input.
#[derive(Deserialize)]
pub(super) struct Called<'a> {
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// Whether a value says something.
pub(super) fn is_filled(value: &str) -> bool {
    !matches!(value, "null" | "\"\"" | "[]" | "{}")
}

fn fills(value: Option<&RawValue>) -> bool {
    value.is_some_and(|value| is_filled(value.get()))
}

impl Chunk<'_> {
    pub(super) fn says_something(&self) -> bool {
        self.choices.iter().flatten().any(|choice| choice.delta.as_ref().is_some_and(Delta::says_something))
    }

    /// The chunk that every answer begins with: a role, and nothing yet.
    pub(super) fn is_start(&self) -> bool {
        let role = |choice: &Choice<'_>| choice.delta.as_ref().is_some_and(|delta| delta.role.is_some());
        let starts = self.choices.iter().flatten().any(|choice| role(choice) && !choice.is_last());
        starts && !self.says_something() && self.usage.is_none()
    }

    /// Whether text stands in the chunk with the finish, as compatible servers have it: it must not wait with that. Beside
    /// calls nothing waits, since no hook is asked then.
    pub(super) fn has_text_at_its_end(&self) -> bool {
        let [choice] = self.choices.as_deref().unwrap_or_default() else { return false };
        let text = |delta: &Delta<'_>| delta.has_text() && !delta.calls();
        choice.is_last() && choice.delta.as_ref().is_some_and(text)
    }
}

impl Choice<'_> {
    pub(super) fn is_last(&self) -> bool {
        fills(self.finish_reason)
    }
}

impl Delta<'_> {
    fn has_text(&self) -> bool {
        [self.content, self.refusal, self.reasoning_content, self.reasoning].into_iter().any(fills)
    }

    pub(super) fn calls(&self) -> bool {
        self.tool_calls.as_ref().is_some_and(|calls| !calls.is_empty()) || self.function_call.is_some()
    }

    pub(super) fn says_something(&self) -> bool {
        self.has_text() || self.calls() || fills(self.audio)
    }
}

impl CallDelta<'_> {
    /// Whether it can't be the start of a call.
    pub(super) fn is_unnamed(&self) -> bool {
        let named = |value: Option<&RawValue>| value.and_then(|v| raw::string(v.get())).is_some_and(|s| !s.is_empty());
        let called = [&self.function, &self.custom].into_iter().flatten().any(|called| named(called.name));
        !named(self.id) && !called
    }
}
