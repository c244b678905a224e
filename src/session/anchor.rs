//! Anchors: how a place in a history is found again in the client's next request.
//!
//! Clients cut, merge and rewrite what they send back, so a place is named by what survives: the id of a tool call, or a
//! prompt's normal form together with its ordinal among equal ones ("continue" is said more than once).
use crate::context::{Digest, RequestView, Role};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_64;

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
        /// Its ordinal among equal ones: where calls have no ids (Gemini) this is the function's name.
        #[serde(default)]
        nth: u32,
    },
}

/// The anchors of one request.
///
/// Results are found by a 64-bit hash of their call's id: no id is copied per request, and within one history no two meet.
#[derive(Debug, Default)]
pub struct Anchors {
    at: Vec<Spot>,
    prompts: HashMap<(Digest, u32), usize>,
    results: HashMap<(u64, u32), usize>,
}

/// What an item can be found by.
#[derive(Debug, Clone, Copy)]
enum Spot {
    Nothing,
    Prompt(Digest, u32),
    Result(u32),
}

impl Anchors {
    /// All anchors in `view`. In a delta the ordinals of equal prompts can't be counted, so the starting point (`root` of
    /// the chain) takes part in the digest instead.
    pub fn of(view: &RequestView, root: Digest) -> Self {
        let delta = view.is_delta();
        let mut anchors = Self { at: Vec::with_capacity(view.items.len()), ..Self::default() };
        let mut seen: HashMap<Digest, u32> = HashMap::new();
        let mut answered: HashMap<u64, u32> = HashMap::new();
        for (index, item) in view.items.iter().enumerate() {
            let spot = match (item.facts.prompt, item.facts.results.last()) {
                (Some(prompt), _) => {
                    let digest = if delta { root.then(prompt) } else { prompt };
                    let nth = next(seen.entry(digest).or_default());
                    anchors.prompts.insert((digest, nth), index);
                    Spot::Prompt(digest, nth)
                }
                (None, Some(call)) if matches!(item.role(), Role::Tool | Role::User) => {
                    let hash = xxh3_64(call.as_bytes());
                    let nth = next(answered.entry(hash).or_default());
                    anchors.results.insert((hash, nth), index);
                    Spot::Result(nth)
                }
                _ => Spot::Nothing,
            };
            anchors.at.push(spot);
        }
        anchors
    }

    /// The item at `anchor`, if the history still holds it.
    pub fn item(&self, anchor: &Anchor) -> Option<usize> {
        match anchor {
            Anchor::Prompt { digest, nth } => self.prompts.get(&(*digest, *nth)).copied(),
            Anchor::Result { call, nth } => self.results.get(&(xxh3_64(call.as_bytes()), *nth)).copied(),
        }
    }

    /// The anchor of an item of the same `view`.
    pub fn at(&self, view: &RequestView, item: usize) -> Option<Anchor> {
        match *self.at.get(item)? {
            Spot::Nothing => None,
            Spot::Prompt(digest, nth) => Some(Anchor::Prompt { digest, nth }),
            Spot::Result(nth) => {
                Some(Anchor::Result { call: view.items.get(item)?.facts.results.last()?.clone(), nth })
            }
        }
    }

    /// How many prompts stand before `item`: the ordinal of a turn.
    pub fn prompts_before(&self, item: usize) -> usize {
        self.at.iter().take(item).filter(|spot| matches!(spot, Spot::Prompt(..))).count()
    }
}

/// The count so far; it goes on by one.
fn next(count: &mut u32) -> u32 {
    std::mem::replace(count, count.saturating_add(1))
}
