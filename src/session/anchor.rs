//! Anchors: how a place in a history is found again in the client's next request.
//!
//! Clients cut, merge and rewrite what they send back, so a place is named by what survives: the id of a tool call, or a
//! prompt's normal form together with its ordinal among equal ones ("continue" is said more than once).
use crate::context::{Delta, Digest, RequestView, Role};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A place in a history.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// The `nth` (from 0) prompt with this normal form.
    Prompt {
        /// Its normal form.
        digest: Digest,
        /// Its ordinal among equal ones.
        nth: u32,
    },
    /// The item that brings this call's result.
    Result {
        /// The call.
        call: String,
    },
}

/// The anchors of one request.
#[derive(Debug, Default)]
pub struct Anchors {
    items: HashMap<Anchor, usize>,
    by_item: HashMap<usize, Anchor>,
}

impl Anchors {
    /// All anchors in `view`. In a delta the ordinals of equal prompts can't be counted, so the starting point (`root` of
    /// the chain) takes part in the digest instead.
    pub fn of(view: &RequestView, root: Digest) -> Self {
        let delta = view.delta.as_ref().is_some_and(|d| *d != Delta::ThreadCreate);
        let mut anchors = Self::default();
        let mut seen: HashMap<Digest, u32> = HashMap::new();
        for (index, item) in view.items.iter().enumerate() {
            let anchor = match item.facts.prompt {
                Some(prompt) => {
                    let digest = if delta { root.then(prompt) } else { prompt };
                    let nth = seen.entry(digest).or_default();
                    let anchor = Anchor::Prompt { digest, nth: *nth };
                    *nth += 1;
                    anchor
                }
                None if matches!(item.role(), Role::Tool | Role::User) => match item.facts.results.last() {
                    Some(call) => Anchor::Result { call: call.clone() },
                    None => continue,
                },
                None => continue,
            };
            anchors.items.insert(anchor.clone(), index);
            anchors.by_item.insert(index, anchor);
        }
        anchors
    }

    /// The item at `anchor`, if the history still holds it.
    pub fn item(&self, anchor: &Anchor) -> Option<usize> {
        self.items.get(anchor).copied()
    }

    /// The anchor of an item.
    pub fn at(&self, item: usize) -> Option<&Anchor> {
        self.by_item.get(&item)
    }

    /// How many prompts stand before `item`: the ordinal of a turn.
    pub fn prompts_before(&self, item: usize) -> usize {
        self.items.iter().filter(|(a, i)| matches!(a, Anchor::Prompt { .. }) && **i < item).count()
    }
}
