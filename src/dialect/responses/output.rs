//! The items of an answer, and what they leave to the client.
use crate::context::{Call, Finish, Role};
use crate::dialect::openai::element::Element;
use std::collections::{BTreeMap, HashSet};

/// One item of the output.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) text: String,
    pub(super) content_index: u64,
    /// Set when the item is complete; its own text then stands in `text`.
    pub(super) closed: Option<Closed>,
}

/// A complete item.
#[derive(Debug, Default)]
pub(super) struct Closed {
    calls: Vec<(Call, Wait)>,
    results: Vec<String>,
    is_message: bool,
    commentary: bool,
    asks_approval: bool,
    pub(super) signed: bool,
    pub(super) refused: bool,
}

/// Whether the turn waits for a call's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    Yes,
    /// `async` tools: the result may come with any later request.
    No,
}

impl Closed {
    pub(super) fn of(element: &Element<'_>) -> Self {
        let wait = |asynchronous| if asynchronous { Wait::No } else { Wait::Yes };
        Self {
            calls: element.calls.iter().map(|c| (c.call(), wait(c.asynchronous))).collect(),
            results: element.results.iter().map(|id| id.to_string()).collect(),
            is_message: element.body.is_some() && element.role.0 == Role::Assistant,
            commentary: element.commentary,
            asks_approval: element.asks_approval,
            signed: element.signed,
            refused: element.refused,
        }
    }

    /// What its calls and results take, in bytes.
    pub(super) fn size(&self) -> usize {
        let call = |(call, _): &(Call, Wait)| call.id.len() + call.name.len() + call.input.get().len();
        self.calls.iter().map(call).chain(self.results.iter().map(String::len)).sum()
    }
}

/// What a completed response leaves to the client.
pub(super) struct Pending {
    /// Calls whose results stand in the same output: the provider ran them.
    resolved: HashSet<String>,
    waits: bool,
    asks_approval: bool,
    /// All its messages are intermediate notes: the answer is still to come.
    only_commentary: bool,
}

impl Pending {
    pub(super) fn of(outputs: &BTreeMap<u64, Output>) -> Self {
        let closed = || outputs.values().filter_map(|o| o.closed.as_ref());
        let resolved: HashSet<String> = closed().flat_map(|c| c.results.iter().cloned()).collect();
        let waits =
            closed().flat_map(|c| &c.calls).any(|(call, wait)| *wait == Wait::Yes && !resolved.contains(&call.id));
        let mut messages = closed().filter(|c| c.is_message).peekable();
        let only_commentary = messages.peek().is_some() && messages.all(|m| m.commentary);
        Self { resolved, waits, asks_approval: closed().any(|c| c.asks_approval), only_commentary }
    }

    pub(super) fn finish(&self) -> Finish {
        if self.waits {
            Finish::ToolCalls
        } else if self.asks_approval || self.only_commentary {
            Finish::Pause
        } else {
            Finish::Stop
        }
    }

    pub(super) fn calls(&self, outputs: BTreeMap<u64, Output>) -> Vec<Call> {
        let closed = outputs.into_values().filter_map(|o| o.closed);
        closed.flat_map(|c| c.calls).map(|(call, _)| call).filter(|c| !self.resolved.contains(&c.id)).collect()
    }
}
