//! What a conversation's next request carries beside the client's own words.
//!
//! Decides what is new (a baseline, a newer version of a slot, this turn's texts) within the budget, and puts it together
//! with what the ledger replays. Works on the conversation's state alone; the caller stores and lowers the result.
use super::anchor::{Anchor, Anchors};
use super::conversation::{ConversationLayout, State};
use super::ledger::{Entry, HookEdits, Keep, Replay, What};
use crate::config::Retain;
use crate::context::budget::{Admission, Budget};
use crate::context::placement::{Placed, Scene, SystemEdge, TextKind};
use crate::context::wrap::Standing;
use crate::context::{Digest, RequestView, Role, Step};
use crate::telemetry::names;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Idle time after which no provider has the conversation cached: the longest lifetime that can be asked for is 12 h
/// (OpenAI, `prompt_cache_options.ttl`), taken twice.
const RENEW_AFTER_MS: u64 = 24 * 60 * 60 * 1000;

/// A persistent slot and its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotText<'a> {
    /// The slot.
    pub slot: &'a str,
    /// Its text.
    pub text: &'a str,
    /// The hook that said it, to be named when it is cut.
    pub by: &'a str,
}

impl SlotText<'_> {
    /// What tells its text from earlier ones.
    pub fn version(&self) -> Digest {
        Digest::of(&[self.text.as_bytes()])
    }
}

/// A text that did not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The hook or slot.
    pub source: String,
    /// Whether a part of it was placed.
    pub partly: bool,
    /// Characters that were not.
    pub lost: usize,
}

/// One request of a conversation.
pub struct Scenery<'a> {
    /// The request.
    pub view: &'a RequestView,
    /// Its anchors.
    pub anchors: &'a Anchors,
    /// The session's slots, in the order in which they are placed.
    pub slots: &'a [SlotText<'a>],
    /// Whether the system prompt has to be left alone (an OAuth client's, or Gemini's cached content).
    pub locked: bool,
    /// Leading system blocks that the client needs first.
    pub protected: usize,
    /// Whether texts stand in frames.
    pub framed: bool,
    /// `injection.retain`.
    pub retain: Retain,
    /// `lifecycle.max_injected_context_chars`.
    pub budget: usize,
}

impl Scenery<'_> {
    fn placed(&self, source: &str, kind: TextKind, standing: Standing, text: &str) -> Placed {
        Placed::new(source, kind, standing, text, self.framed)
    }

    /// Whether the history holds what is bound to its prefix.
    fn is_signed(&self) -> bool {
        self.view.last_signed().is_some()
    }

    /// Updates how long ephemeral text stays in this conversation. True when `retain: turn` had to give way, for the
    /// warning.
    pub fn settle_retention(&self, state: &mut State) -> bool {
        let bound = self.is_signed();
        let keep = match self.retain {
            Retain::History => true,
            Retain::Turn => bound,
            Retain::Auto => bound || self.view.markers > 0 || self.view.asks_reasoning,
        };
        let gives_way = self.retain == Retain::Turn && bound && !state.record.keep_history;
        state.record.keep_history |= keep;
        if !state.record.keep_history {
            state.record.ephemeral_from = state.ledger.next_key();
        }
        gives_way
    }

    /// Forgets the baseline when nothing is lost by it: the conversation was idle for longer than any provider's cache
    /// lives, and nothing in it is bound to its prefix. A new baseline is set next.
    pub fn renew_baseline(&self, state: &mut State, now_ms: u64) {
        let idle = now_ms.saturating_sub(state.record.last_active);
        if !state.record.baseline_set || self.is_signed() || idle < RENEW_AFTER_MS {
            return;
        }
        state.record.baseline_set = false;
        state.record.baseline.clear();
        state.record.persistent_from = state.ledger.renew();
    }

    /// The persistent text of layout stable, decided with the first request that has a place for it. Returns an entry when
    /// it had to go into the history.
    pub fn set_baseline(&self, state: &mut State, budget: &mut Budget, cuts: &mut Vec<Cut>) -> Option<Entry> {
        if state.record.layout != ConversationLayout::Stable || state.record.baseline_set {
            return None;
        }
        let into_history = self.locked || self.is_signed();
        let anchor = match into_history {
            false => None,
            // Nothing is placed before the last signed block; an unsigned history takes it with its first prompt.
            true => {
                Some(self.anchors.at(self.view, if self.is_signed() { self.tail()? } else { self.first_prompt()? })?)
            }
        };
        let texts: Vec<Placed> =
            self.slots.iter().filter_map(|s| self.admit_slot(s, Standing::New, budget, cuts)).collect();
        state.record.baseline_set = true;
        match anchor {
            Some(anchor) => (!texts.is_empty()).then_some(Entry { anchor, what: What::Note { texts } }),
            None => {
                state.record.baseline = texts;
                None
            }
        }
    }

    /// Newer versions of slots, to be placed with a new prompt.
    pub fn updates(&self, state: &State, budget: &mut Budget, cuts: &mut Vec<Cut>) -> Vec<Placed> {
        if state.record.layout != ConversationLayout::Stable || !state.record.baseline_set {
            return Vec::new();
        }
        let known = self.known(state);
        let mut texts = Vec::new();
        for slot in self.slots {
            let standing = match known.get(slot.slot) {
                Some(known) if *known == slot.version() => continue,
                Some(_) => Standing::Replaces,
                None => Standing::New,
            };
            texts.extend(self.admit_slot(slot, standing, budget, cuts));
        }
        let gone = known.keys().filter(|name| !self.slots.iter().any(|slot| slot.slot == **name));
        texts.extend(gone.map(|name| self.placed(name, TextKind::Persistent, Standing::Withdrawn, "")));
        texts
    }

    /// The version of each slot that the model has in this history. Read from what stands in it, not remembered beside it:
    /// a rewind takes back what was placed behind the point that it goes back to.
    fn known<'s>(&self, state: &'s State) -> BTreeMap<&'s str, Digest> {
        let noted =
            state.ledger.entries().iter().filter(|(key, entry)| state.ledger.persists(*key) && self.holds(entry));
        let texts = state.record.baseline.iter().chain(noted.flat_map(|(_, entry)| entry.what.texts()));
        let mut known = BTreeMap::new();
        for text in texts.filter(|text| text.kind == TextKind::Persistent) {
            match text.version {
                Some(version) => known.insert(&*text.source, version),
                None => known.remove(&*text.source),
            };
        }
        known
    }

    /// Whether the history holds what this entry placed: it shows the anchor, or only the provider sees it.
    fn holds(&self, entry: &Entry) -> bool {
        self.view.is_delta() || self.anchors.item(&entry.anchor).is_some()
    }

    /// This turn's texts: what hooks gave, as far as the model does not have it already.
    pub fn ephemeral(
        &self,
        state: &State,
        given: impl IntoIterator<Item = (String, String)>,
        budget: &mut Budget,
        cuts: &mut Vec<Cut>,
    ) -> Vec<Placed> {
        let mut texts: Vec<Placed> = Vec::new();
        for (source, text) in given {
            let whole = self.placed(&source, TextKind::Ephemeral, Standing::New, &text);
            if texts.contains(&whole) || (state.record.keep_history && self.stands(state, &whole)) {
                continue;
            }
            texts.extend(self.admit(&source, &text, TextKind::Ephemeral, Standing::New, budget, cuts));
        }
        texts
    }

    /// Whether the ledger replays exactly this text in this request.
    fn stands(&self, state: &State, text: &Placed) -> bool {
        let keep = self.keep(state);
        let replayed = |(key, entry): &&(u64, Entry)| keep.ephemeral(*key, false) && self.holds(entry);
        state.ledger.entries().iter().filter(replayed).any(|(_, entry)| entry.what.texts().contains(text))
    }

    fn admit_slot(
        &self,
        slot: &SlotText<'_>,
        standing: Standing,
        budget: &mut Budget,
        cuts: &mut Vec<Cut>,
    ) -> Option<Placed> {
        let before = cuts.len();
        let placed = self.admit(slot.slot, slot.text, TextKind::Persistent, standing, budget, cuts);
        cuts[before..].iter_mut().for_each(|cut| slot.by.clone_into(&mut cut.source));
        placed.map(|placed| Placed { version: Some(slot.version()), ..placed })
    }

    fn admit(
        &self,
        source: &str,
        text: &str,
        kind: TextKind,
        standing: Standing,
        budget: &mut Budget,
        cuts: &mut Vec<Cut>,
    ) -> Option<Placed> {
        admitted(source, text, budget, cuts).map(|text| self.placed(source, kind, standing, &text))
    }

    /// Layout system: the slots as they stand in the system prompt of this turn. Their room is taken anew in each turn.
    pub fn persistent(&self, budget: &mut Budget, cuts: &mut Vec<Cut>) -> Vec<Placed> {
        self.slots.iter().filter_map(|s| self.admit_slot(s, Standing::New, budget, cuts)).collect()
    }

    /// All that stands in this request. To be asked once per request: what is not found again is counted.
    pub fn scene(&self, state: &State) -> Scene {
        let current = self.current(state);
        let replay = state.ledger.replay(self.view, self.anchors, current, self.keep(state));
        // A delta shows none of the earlier places; the provider holds them.
        if replay.lost > 0 && !self.view.is_delta() {
            metrics::counter!(names::REPLAY_LOST).increment(1);
        }
        let (edge, system) = match state.record.layout {
            ConversationLayout::Stable => (SystemEdge::End, state.record.baseline.clone()),
            ConversationLayout::System => {
                let mut texts = self.persistent(&mut Budget::new(self.budget), &mut Vec::new());
                texts.extend(self.running(state, current).map(|a| state.ledger.ephemeral(&a)).unwrap_or_default());
                (SystemEdge::Front { after: self.protected }, texts)
            }
        };
        let system = if self.locked { Vec::new() } else { system.into_iter().map(|t| t.text).collect() };
        let Replay { notes, results, omitted, splits, restored, lost: _ } = replay;
        let results = results.into_values().collect();
        Scene { edge, system, notes, results, omitted, splits, restored, ..Scene::empty() }
    }

    /// What hooks of prompts change of this request.
    pub fn edits(&self, state: &State) -> Vec<HookEdits> {
        let running = self.running(state, self.current(state));
        state.ledger.edits(self.anchors, running.as_ref())
    }

    fn keep(&self, state: &State) -> Keep {
        match state.record.layout {
            ConversationLayout::System => Keep::Nothing,
            ConversationLayout::Stable => Keep::From(state.record.ephemeral_from),
        }
    }

    /// The prompt of the running turn: the last one that hooks were run for.
    fn current(&self, state: &State) -> Option<usize> {
        let prompts = state.ledger.entries().iter().filter(|(_, e)| matches!(e.what, What::Prompt { .. }));
        prompts.filter_map(|(_, e)| self.anchors.item(&e.anchor)).max()
    }

    /// The anchor of the running turn's prompt. A delta's tool step does not show the prompt: there it is the newest one.
    fn running(&self, state: &State, current: Option<usize>) -> Option<Anchor> {
        match current {
            Some(item) => self.anchors.at(self.view, item),
            None if self.view.delta.is_some() => {
                let mut newest_first = state.ledger.entries().iter().rev();
                newest_first.find(|(_, e)| matches!(e.what, What::Prompt { .. })).map(|(_, e)| e.anchor.clone())
            }
            None => None,
        }
    }

    fn tail(&self) -> Option<usize> {
        match self.view.step {
            Step::Prompt { item } | Step::Tool { item } => Some(item),
            Step::Resume | Step::Empty => None,
        }
    }

    fn first_prompt(&self) -> Option<usize> {
        self.view.items.iter().position(|i| i.role() == Role::User && i.facts.prompt.is_some())
    }
}

/// Texts on one tool result, as far as there is room. What stands elsewhere already is said again: here it is said of this
/// result.
pub fn aside<'g>(
    framed: bool,
    given: impl IntoIterator<Item = (&'g str, &'g str)>,
    budget: &mut Budget,
    cuts: &mut Vec<Cut>,
) -> Vec<Placed> {
    let admit = |(source, text)| {
        let text = admitted(source, text, budget, cuts)?;
        Some(Placed::new(source, TextKind::Ephemeral, Standing::New, &text, framed))
    };
    given.into_iter().filter_map(admit).collect()
}

/// What of a text there is room for.
fn admitted<'t>(source: &str, text: &'t str, budget: &mut Budget, cuts: &mut Vec<Cut>) -> Option<Cow<'t, str>> {
    if text.trim().is_empty() {
        return None;
    }
    let before = budget.spent();
    let admission = budget.admit(text);
    let mut cut = |partly, placed| {
        cuts.push(Cut { source: source.to_owned(), partly, lost: text.chars().count().saturating_sub(placed) });
    };
    match admission {
        Admission::Whole => Some(text.into()),
        Admission::Cut(kept) => {
            cut(true, budget.spent() - before);
            Some(kept.into())
        }
        Admission::LeftOut => {
            cut(false, 0);
            None
        }
    }
}

#[cfg(test)]
mod tests;
