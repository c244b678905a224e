//! The wire form of an answer: events of a stream, and the `response` that they carry or that a body is.
use crate::dialect::openai::error;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// An item begins.
pub(super) const ADDED: &str = "response.output_item.added";
/// An item is complete.
pub(super) const DONE: &str = "response.output_item.done";

/// One event. Values stay raw: most events need only one of them.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type", default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) sequence_number: Option<&'a RawValue>,
    pub(super) output_index: Option<u64>,
    pub(super) content_index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
}

/// A `response` object. Its output may be large, and the stream has usually brought it already.
#[derive(Default, Deserialize)]
pub(super) struct Snapshot<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) created_at: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) previous_response_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) status: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
}

impl<'a> Event<'a> {
    /// Reads the data of one event, which `named` names if it does not do so itself.
    pub(super) fn read(named: Option<&'a [u8]>, data: &'a [u8]) -> Option<Self> {
        let mut event: Self = serde_json::from_slice(data).ok()?;
        if event.kind.is_empty() {
            event.kind = named.map(String::from_utf8_lossy).unwrap_or_default();
        }
        Some(event)
    }

    /// The response that it carries.
    pub(super) fn snapshot(&self) -> Option<Snapshot<'a>> {
        serde_json::from_str(self.response?.get()).ok()
    }

    /// Whether it is the last of its response.
    pub(super) fn is_terminal(&self) -> bool {
        let ends = ["response.completed", "response.incomplete", "response.failed", "response.cancelled"];
        ends.contains(&self.kind.as_ref())
    }

    /// What the upstream says, if the event is that it failed.
    pub(super) fn failure(&self) -> Option<String> {
        let words = |error: Option<&RawValue>| error.map(|error| error::text(error.get()));
        match self.kind.as_ref() {
            "error" => Some(words(self.error).or_else(|| words(self.message)).unwrap_or_default()),
            "response.failed" | "response.cancelled" => {
                let said = words(self.snapshot().and_then(|response| response.error));
                Some(said.unwrap_or_else(|| self.kind.clone().into_owned()))
            }
            "" => words(self.error),
            _ => None,
        }
    }

    /// Whether it is part of what the model says.
    pub(super) fn speaks(&self) -> bool {
        self.output_index.is_some() || self.delta.is_some()
    }

    /// Its sequence number.
    pub(super) fn number(&self) -> Option<u64> {
        self.sequence_number?.get().parse().ok()
    }
}
