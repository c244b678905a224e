//! What dry runs and policy tests are told of a request: a gateway that serves has no witness.
use super::HookReport;
use crate::config::EventKind;
use crate::context::placement::TextKind;
use bytes::Bytes;
use parking_lot::Mutex;

/// One thing that happened, in its order.
#[derive(Debug, Clone)]
pub enum Sight {
    /// A body was read.
    Request(Asked),
    /// A hook's run has ended, as it counts: an edit that can't be made has failed it.
    Hook {
        /// On which event.
        event: EventKind,
        /// How.
        report: Box<HookReport>,
    },
    /// The body as it stood ahead of all edits (no hook), or behind those of one hook.
    Draft {
        /// The hook's name.
        hook: Option<String>,
        /// The body.
        body: Bytes,
    },
    /// Room was given to texts.
    Budget(Spending),
    /// What stands in a turn's request beside the client's own, instructions first.
    Texts(Vec<StandingText>),
}

/// What a request is.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `turn`, `side`, `compaction`, `count` or `batch`.
    pub kind: &'static str,
    /// The client's profile.
    pub profile: String,
}

/// What became of the texts that were new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spending {
    /// In Unicode scalar values.
    pub used: usize,
    /// `lifecycle.max_injected_context_chars`.
    pub limit: usize,
    /// Hooks whose text was cut, or (false) left out.
    pub cuts: Vec<(String, bool)>,
}

/// A text in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingText {
    /// The hook or slot that it comes from.
    pub source: String,
    /// How long it counts.
    pub kind: TextKind,
    /// Where.
    pub place: TextPlace,
    /// In its frame.
    pub text: String,
}

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPlace {
    /// Ahead of the client's instructions.
    SystemFront,
    /// Behind them.
    SystemEnd,
    /// In an item of the history, counted from 0.
    Item(usize),
}

/// Keeps what it sees.
#[derive(Debug, Default)]
pub struct Witness {
    seen: Mutex<Vec<Sight>>,
}

impl Witness {
    /// Something happened.
    pub fn see(&self, sight: Sight) {
        self.seen.lock().push(sight);
    }

    /// What was seen since the last call.
    pub fn take(&self) -> Vec<Sight> {
        std::mem::take(&mut self.seen.lock())
    }
}
