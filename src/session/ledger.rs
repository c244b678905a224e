//! The ledger: what was placed in a conversation, where, and in which exact bytes.
//!
//! Providers check history and cache by prefix, and the client does not know what was placed. So every text is recorded
//! before the request goes up, and replayed at its anchor in every later request (invariant I6). An entry whose anchor
//! is gone is passed over: the history was rewritten.
use super::anchor::{Anchor, Anchors};
use crate::context::placement::{Note, Placed, TextKind};
use crate::context::{Digest, RequestView, Role};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Entries of one conversation: a turn leaves one, so this is a session of 4,000 prompts. Beyond it the oldest go.
pub const MAX_ENTRIES: usize = 4096;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Where.
    pub anchor: Anchor,
    /// What.
    pub what: What,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The hooks of this prompt were run; what they gave, maybe nothing. Its presence is what makes `prompt.submit` run
    /// once per prompt.
    Prompt {
        /// The texts in order.
        texts: Vec<Placed>,
    },
    /// Text placed for another reason (a baseline that could not go into the system prompt).
    Note {
        /// The texts in order.
        texts: Vec<Placed>,
    },
    /// The prompt was answered by the gateway; the pair is left out of later requests.
    Answered {
        /// The gateway's words, for a retry.
        reply: String,
        /// Their normal form, by which the made-up answer is known.
        answer: Option<Digest>,
    },
}

/// The entries of one conversation in the order in which they were made, each with its key in the store.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    entries: Vec<(u64, Entry)>,
}

/// What the ledger says about one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Texts at their items.
    pub notes: Vec<Note>,
    /// Items that are left out.
    pub omitted: Vec<Range<usize>>,
    /// Entries whose anchor is not in this history.
    pub lost: usize,
}

impl Ledger {
    /// From stored entries, in ascending order of their keys.
    pub fn from_entries(entries: Vec<(u64, Entry)>) -> Self {
        Self { entries }
    }

    /// The entries with their keys.
    pub fn entries(&self) -> &[(u64, Entry)] {
        &self.entries
    }

    /// Adds an entry; returns its key and the keys of old ones that no longer fit.
    pub fn push(&mut self, entry: Entry) -> (u64, Vec<u64>) {
        let key = self.entries.last().map_or(0, |(k, _)| k + 1);
        self.entries.push((key, entry));
        let excess = self.entries.len().saturating_sub(MAX_ENTRIES);
        (key, self.entries.drain(..excess).map(|(k, _)| k).collect())
    }

    /// The entry that says that this prompt was handled.
    pub fn prompt(&self, anchor: &Anchor) -> Option<&What> {
        self.entries
            .iter()
            .rev()
            .find(|(_, e)| e.anchor == *anchor && !matches!(e.what, What::Note { .. }))
            .map(|(_, e)| &e.what)
    }

    /// What of the ledger stands in this request; `current` is the item of the running turn's prompt.
    pub fn replay(&self, view: &RequestView, anchors: &Anchors, current: Option<usize>, keep: Keep) -> Replay {
        let mut replay = Replay::default();
        for (_, entry) in &self.entries {
            let Some(item) = anchors.item(&entry.anchor) else {
                replay.lost += 1;
                continue;
            };
            match &entry.what {
                What::Prompt { texts } | What::Note { texts } => {
                    let texts: Vec<String> = texts
                        .iter()
                        .filter(|t| t.kind == TextKind::Persistent || keep.ephemeral(current == Some(item)))
                        .map(|t| t.text.clone())
                        .collect();
                    if !texts.is_empty() {
                        replay.notes.push(Note { item, texts });
                    }
                }
                What::Answered { answer, .. } => replay.omitted.extend(answered_pair(view, item, *answer)),
            }
        }
        replay
    }

    /// The texts of this prompt's hooks.
    pub fn ephemeral(&self, anchor: &Anchor) -> Vec<Placed> {
        match self.prompt(anchor) {
            Some(What::Prompt { texts }) => texts.iter().filter(|t| t.kind == TextKind::Ephemeral).cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// The ledger of a fork: what still has its anchor in the new history.
    #[must_use]
    pub fn fork(&self, anchors: &Anchors) -> Self {
        let kept = self.entries.iter().filter(|(_, e)| anchors.item(&e.anchor).is_some());
        Self { entries: kept.enumerate().map(|(i, (_, e))| (i as u64, e.clone())).collect() }
    }
}

/// Which ephemeral texts stand in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All that were ever placed.
    History,
    /// The current turn's.
    Turn,
    /// None: they stand in the system prompt.
    Nothing,
}

impl Keep {
    fn ephemeral(self, current: bool) -> bool {
        match self {
            Self::History => true,
            Self::Turn => current,
            Self::Nothing => false,
        }
    }
}

/// The items from a prompt to the made-up answer behind it, if that is what stands there. A client that drops the answer
/// asks on right behind the prompt, which then goes alone.
fn answered_pair(view: &RequestView, prompt: usize, answer: Option<Digest>) -> Option<Range<usize>> {
    let next = (prompt + 1..view.items.len()).find(|i| !matches!(view.items[*i].role(), Role::System | Role::Other))?;
    match view.items[next].role() {
        Role::Assistant => (view.items[next].facts.link == answer).then_some(prompt..next + 1),
        Role::User => Some(prompt..next),
        _ => None,
    }
}
