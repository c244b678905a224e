//! The ledger: what was placed in a conversation, where, and in which exact bytes.
//!
//! Providers check history and cache by prefix, and the client does not know what was placed. So every text is recorded
//! before the request goes up, and replayed at its anchor in every later request (invariant I6). An entry whose anchor
//! is gone is passed over: the history was rewritten.
use super::anchor::{Anchor, Anchors, ResultSpot};
use crate::context::placement::{Note, Placed, ResultNote, TextKind};
use crate::context::{Digest, Edit, Leg, LegReply, LegResult, RequestView, Restored, Role};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Entries of one conversation: a turn leaves one, and so does a tool result where hooks listen to it, so this is a session
/// of 4,000 prompts or results. Beyond it the oldest go, those that place nothing first.
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
    /// The session could not begin, so the gateway answered the prompt; the pair is left out of later requests. No hook
    /// of the prompt was run: asked again, it may go up.
    Unopened {
        /// The normal form of the made-up answer.
        answer: Option<Digest>,
    },
    /// What the hooks of this prompt change of the requests of its turn.
    Edited {
        /// One for each hook, in order.
        by: Vec<HookEdits>,
    },
    /// The hooks of this tool result were run; what they gave, maybe nothing. Its presence is what makes `tool.result` run
    /// once per result.
    Result {
        /// What the result said: with another text it is another result, which a hook has not seen yet.
        said: Digest,
        /// The text that the model gets instead.
        replace: Option<String>,
        /// The texts behind it, in order.
        texts: Vec<Placed>,
        /// A hook that must not fail did: the request was answered with the text in the result's place.
        refused: bool,
        /// A hook that saw the whole step, which this result ends, stopped the turn: the step was answered with this text.
        #[serde(default)]
        halted: Option<String>,
    },
    /// The answer behind this place is one message for the client; the model gave it in legs, and was told something
    /// behind each but the last. Each answer of a regenerated prompt has an entry of its own.
    Joined {
        /// The legs before the last.
        legs: Arc<[Leg]>,
        /// The normal form of the whole answer, by which it is known.
        answer: Option<Digest>,
        /// Ids of messages of the session bus that the model was told there.
        #[serde(default)]
        messages: Vec<String>,
    },
    /// Messages of the session bus. They stay where they were put; without texts they were taken back.
    Messages {
        /// Their ids.
        ids: Vec<String>,
        /// What the model reads, one for each.
        texts: Vec<Placed>,
    },
    /// In the answer behind this place the model made calls that the client does not know, or knows otherwise.
    Restored {
        /// The calls in the model's order.
        calls: Arc<[Restored]>,
        /// The normal form of the client's answer, by which it is known.
        answer: Option<Digest>,
    },
}

/// What one hook changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookEdits {
    /// The hook.
    pub hook: String,
    /// Whether the request must not go up without them (`on_error: block`).
    pub must_hold: bool,
    /// All or none of them are made.
    pub edits: Vec<Edit>,
}

impl HookEdits {
    /// What of it holds for as long as its turn stands in the history: what was hidden once would else be shown with the
    /// next prompt.
    pub fn lasting(&self) -> Option<Self> {
        let edits: Vec<Edit> =
            self.edits.iter().filter(|edit| matches!(edit, Edit::MessagesRedact { .. })).cloned().collect();
        (!edits.is_empty()).then(|| Self { edits, ..self.clone() })
    }

    /// About what it takes in memory: an edit is mostly its texts.
    fn bytes(&self) -> usize {
        let edits = serde_json::to_string(&self.edits).map_or(0, |written| written.len());
        size_of::<Self>() + self.hook.len() + self.edits.len() * size_of::<Edit>() + edits
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        let content = match &self.what {
            What::Prompt { texts } | What::Note { texts } => {
                texts.iter().map(|t| size_of::<Placed>() + t.source.len() + t.text.len()).sum()
            }
            What::Answered { reply, .. } => reply.len(),
            What::Result { replace, texts, halted, .. } => {
                let texts = texts.iter().map(|t| size_of::<Placed>() + t.source.len() + t.text.len());
                let words = [replace, halted].into_iter().flatten().map(String::len);
                words.sum::<usize>() + texts.sum::<usize>()
            }
            What::Unopened { .. } => 0,
            What::Edited { by } => by.iter().map(HookEdits::bytes).sum(),
            What::Joined { legs, messages, .. } => {
                legs.iter().map(leg_bytes).sum::<usize>() + messages.iter().map(String::len).sum::<usize>()
            }
            What::Messages { ids, texts } => {
                let texts = texts.iter().map(|t| size_of::<Placed>() + t.source.len() + t.text.len());
                ids.iter().map(|id| size_of::<String>() + id.len()).sum::<usize>() + texts.sum::<usize>()
            }
            What::Restored { calls, .. } => calls.iter().map(restored_bytes).sum(),
        };
        size_of::<Self>() + content
    }
}

fn restored_bytes(call: &Restored) -> usize {
    size_of::<Restored>() + call.native.len() + call.result.as_ref().map_or(0, result_bytes)
}

fn result_bytes(result: &LegResult) -> usize {
    [&result.id, &result.name, &result.kind, &result.text].iter().map(|text| size_of::<String>() + text.len()).sum()
}

fn leg_bytes(leg: &Leg) -> usize {
    let text = |text: &String| size_of::<String>() + text.len();
    let reply: usize = match &leg.reply {
        LegReply::Message(text) => text.len(),
        LegReply::Results(results) => results.iter().map(result_bytes).sum(),
    };
    size_of::<Leg>() + leg.id.as_ref().map_or(0, String::len) + leg.answer.iter().map(text).sum::<usize>() + reply
}

impl What {
    /// The texts that it places.
    pub fn texts(&self) -> &[Placed] {
        match self {
            Self::Prompt { texts }
            | Self::Note { texts }
            | Self::Result { texts, .. }
            | Self::Messages { texts, .. } => texts,
            Self::Answered { .. }
            | Self::Unopened { .. }
            | Self::Edited { .. }
            | Self::Joined { .. }
            | Self::Restored { .. } => &[],
        }
    }

    /// Whether it is the memory of a result that no hook had anything to say about, or of messages that were taken back.
    fn is_blank(&self) -> bool {
        match self {
            Self::Result { replace: None, halted: None, texts, .. } | Self::Messages { texts, .. } => texts.is_empty(),
            _ => false,
        }
    }
}

/// The entries of one conversation in the order in which they were made, each with its key in the store.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    entries: Vec<(u64, Entry)>,
    bytes: usize,
    /// Persistent text of entries before this key is said by a newer baseline.
    persistent_from: u64,
}

/// What the ledger says about one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Texts at their items.
    pub notes: Vec<Note>,
    /// Tool results that are not what the client sent, by item and by index in it.
    pub results: BTreeMap<(usize, usize), ResultNote>,
    /// Items that are left out.
    pub omitted: Vec<Range<usize>>,
    /// Answers that are taken apart, each with the legs before its last.
    pub splits: Vec<(usize, Arc<[Leg]>)>,
    /// Answers whose calls the client does not know, or knows otherwise.
    pub restored: Vec<(usize, Arc<[Restored]>)>,
    /// Entries whose place is not in this history.
    pub lost: usize,
}

impl Replay {
    /// The newest word on a result counts.
    fn result(&mut self, anchors: &Anchors, entry: &Entry, replace: Option<&String>, texts: &[Placed]) {
        let Some(ResultSpot { item, result, .. }) = anchors.result(&entry.anchor) else { return };
        let append = texts.iter().map(|text| text.text.clone()).collect();
        self.results.insert((item, result), ResultNote { item, result, replace: replace.cloned(), append });
    }

    /// An answer that came word for word the same again is what it was last: the client holds the newest one's signatures.
    fn split(&mut self, item: usize, legs: Arc<[Leg]>) {
        self.splits.retain(|(other, _)| *other != item);
        self.splits.push((item, legs));
    }
}

impl Ledger {
    /// From stored entries, in ascending order of their keys; persistent text of those before `persistent_from` does not
    /// stand any more.
    pub fn from_entries(entries: Vec<(u64, Entry)>, persistent_from: u64) -> Self {
        let bytes = entries.iter().map(|(_, entry)| entry.bytes()).sum();
        Self { entries, bytes, persistent_from }
    }

    /// Bytes that its entries take in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The entries with their keys.
    pub fn entries(&self) -> &[(u64, Entry)] {
        &self.entries
    }

    /// The key that the next entry will get.
    pub fn next_key(&self) -> u64 {
        self.entries.last().map_or(0, |(key, _)| key + 1)
    }

    /// Adds an entry; returns the keys of old ones that no longer fit.
    pub fn push(&mut self, entry: Entry) -> Vec<u64> {
        let key = self.next_key();
        self.bytes += entry.bytes();
        self.entries.push((key, entry));
        let excess = self.entries.len().saturating_sub(MAX_ENTRIES);
        (0..excess).map(|_| self.drop_one()).collect()
    }

    /// Takes out the oldest entry that places nothing, else the oldest; never the newest. Its key.
    fn drop_one(&mut self) -> u64 {
        let older = self.entries.len().saturating_sub(1);
        let blank = self.entries.iter().take(older).position(|(_, entry)| entry.what.is_blank());
        let (key, old) = self.entries.remove(blank.unwrap_or_default());
        self.bytes -= old.bytes();
        key
    }

    /// Puts what is `stored` in the place of what was; only behind it where there is but `more`. Entries from `unsaved_from` on
    /// are nobody else's: they come behind all that. The key of the first of them.
    pub fn take_over(&mut self, stored: Vec<(u64, Entry)>, more: bool, unsaved_from: u64) -> u64 {
        let at = self.entries.partition_point(|(key, _)| *key < unsaved_from);
        let own = self.entries.split_off(at);
        let mut entries = if more { std::mem::take(&mut self.entries) } else { Vec::new() };
        entries.extend(stored);
        let mut next = entries.last().map_or(0, |(key, _)| key + 1);
        let first = next;
        for (_, entry) in own {
            // It may have got there though nobody said so.
            if !entries.iter().any(|(_, known)| *known == entry) {
                entries.push((next, entry));
                next += 1;
            }
        }
        *self = Self::from_entries(entries, self.persistent_from);
        first
    }

    /// What the hooks gave for the result at `anchor` that said this; `None`: they were not run for it.
    pub fn result(&self, anchor: &Anchor, what_it_said: Digest) -> Option<&What> {
        let is_it = |what: &What| matches!(what, What::Result { said, .. } if *said == what_it_said);
        self.entries.iter().rev().find(|(_, e)| e.anchor == *anchor && is_it(&e.what)).map(|(_, e)| &e.what)
    }

    /// The entry that says that this prompt was handled.
    pub fn prompt(&self, anchor: &Anchor) -> Option<&What> {
        self.entries
            .iter()
            .rev()
            .find(|(_, e)| e.anchor == *anchor && matches!(e.what, What::Prompt { .. } | What::Answered { .. }))
            .map(|(_, e)| &e.what)
    }

    /// What of the ledger stands in this request; `current` is the item of the running turn's prompt.
    pub fn replay(&self, view: &RequestView, anchors: &Anchors, current: Option<usize>, keep: Keep) -> Replay {
        let mut replay = Replay::default();
        for (key, entry) in &self.entries {
            if entry.what.is_blank() {
                continue;
            }
            let Some(item) = anchors.item(&entry.anchor) else {
                replay.lost += 1;
                continue;
            };
            match &entry.what {
                What::Prompt { texts } | What::Note { texts } => {
                    let texts: Vec<String> = texts
                        .iter()
                        .filter(|t| match t.kind {
                            TextKind::Persistent => self.persists(*key),
                            // What a hook appended to the history is a part of it.
                            TextKind::Ephemeral if matches!(entry.what, What::Note { .. }) => true,
                            TextKind::Ephemeral => keep.ephemeral(*key, current == Some(item)),
                        })
                        .map(|t| t.text.clone())
                        .collect();
                    if !texts.is_empty() {
                        replay.notes.push(Note { item, texts });
                    }
                }
                // What somebody was told stays told, whatever becomes of hooks' texts.
                What::Messages { texts, .. } => {
                    replay.notes.push(Note { item, texts: texts.iter().map(|t| t.text.clone()).collect() });
                }
                // Made anew in every request: see `edits`.
                What::Edited { .. } => {}
                // As long as the result is there: what is said of it is a part of it.
                What::Result { replace, texts, .. } => replay.result(anchors, entry, replace.as_ref(), texts),
                What::Answered { answer, .. } | What::Unopened { answer } => {
                    replay.omitted.extend(answered_pair(view, item, *answer));
                }
                What::Joined { legs, answer, .. } => match joined_answer(view, item, *answer) {
                    Some(item) => replay.split(item, Arc::clone(legs)),
                    None => replay.lost += 1,
                },
                What::Restored { calls, answer } => match joined_answer(view, item, *answer) {
                    Some(item) => {
                        replay.restored.retain(|(other, _)| *other != item);
                        replay.restored.push((item, Arc::clone(calls)));
                    }
                    None => replay.lost += 1,
                },
            }
        }
        replay
    }

    /// What hooks of prompts change of this request: those of the running turn's all, those of earlier ones what lasts as
    /// long as their turn stands in the history.
    pub fn edits(&self, anchors: &Anchors, running: Option<&Anchor>) -> Vec<HookEdits> {
        let mut edits = Vec::new();
        for (_, entry) in &self.entries {
            let What::Edited { by } = &entry.what else { continue };
            if running == Some(&entry.anchor) {
                edits.extend(by.iter().cloned());
            } else if anchors.item(&entry.anchor).is_some() {
                edits.extend(by.iter().filter_map(HookEdits::lasting));
            }
        }
        edits
    }

    /// What stands in the place of results of this history; nothing that stands behind them.
    pub fn replacements(&self, anchors: &Anchors) -> Vec<ResultNote> {
        let mut replay = Replay::default();
        for (_, entry) in &self.entries {
            if let What::Result { replace, .. } = &entry.what {
                replay.result(anchors, entry, replace.as_ref(), &[]);
            }
        }
        replay.results.into_values().filter(|note| note.replace.is_some()).collect()
    }

    /// Ids of the messages that stand in this request.
    pub fn standing(&self, view: &RequestView, anchors: &Anchors) -> Vec<String> {
        let standing = self.entries.iter().filter_map(|(_, entry)| match &entry.what {
            What::Messages { ids, .. } => anchors.item(&entry.anchor).map(|_| ids),
            What::Joined { messages, answer, .. } if !messages.is_empty() => {
                joined_answer(view, anchors.item(&entry.anchor)?, *answer).map(|_| messages)
            }
            _ => None,
        });
        standing.flatten().cloned().collect()
    }

    /// Takes messages back that no request has brought; with `answers` also those that were told in an answer, which then is
    /// none that a client ever got whole. The keys of the entries that changed.
    pub fn void(&mut self, ids: &[&str], answers: bool) -> Vec<u64> {
        let mut changed = Vec::new();
        for (key, entry) in &mut self.entries {
            let holds = match &entry.what {
                What::Messages { ids, .. } => ids,
                What::Joined { messages, .. } if answers => messages,
                _ => continue,
            };
            if holds.iter().any(|id| ids.contains(&id.as_str())) {
                let before = entry.bytes();
                entry.what = What::Messages { ids: Vec::new(), texts: Vec::new() };
                self.bytes = self.bytes - before + entry.bytes();
                changed.push(*key);
            }
        }
        changed
    }

    /// The texts of this prompt's hooks.
    pub fn ephemeral(&self, anchor: &Anchor) -> Vec<Placed> {
        match self.prompt(anchor) {
            Some(What::Prompt { texts }) => texts.iter().filter(|t| t.kind == TextKind::Ephemeral).cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Persistent text of the entries so far no longer stands: a new baseline says it. Returns the key from which on it does.
    pub fn renew(&mut self) -> u64 {
        self.persistent_from = self.next_key();
        self.persistent_from
    }

    /// Whether the persistent text of the entry with this key still stands.
    pub fn persists(&self, key: u64) -> bool {
        key >= self.persistent_from
    }

    /// The ledger of a fork: what still has its anchor in the new history, under the same keys. `news` is the item that the
    /// fork begins with: the same words may have been said at this point before, but this prompt is another one.
    #[must_use]
    pub fn fork(&self, anchors: &Anchors, news: Option<usize>) -> Self {
        let stays = |entry: &Entry| anchors.item(&entry.anchor).is_some_and(|item| Some(item) != news);
        let kept = self.entries.iter().filter(|(_, entry)| stays(entry));
        Self::from_entries(kept.cloned().collect(), self.persistent_from)
    }
}

/// Which ephemeral texts stand in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The current turn's, and those of entries from this key on: what was taken out once stays out, since what the model
    /// signed after that was signed without it.
    From(u64),
    /// None: they stand in the system prompt.
    Nothing,
}

impl Keep {
    pub(super) fn ephemeral(self, key: u64, current: bool) -> bool {
        match self {
            Self::From(first) => key >= first || current,
            Self::Nothing => false,
        }
    }
}

/// The items from a prompt to the made-up answer behind it, if that is what stands there. A client that drops the answer
/// asks on right behind the prompt, which then goes alone.
fn answered_pair(view: &RequestView, prompt: usize, answer: Option<Digest>) -> Option<Range<usize>> {
    let next = view.next_speech(prompt)?;
    match view.items[next].role() {
        Role::Assistant => (view.items[next].facts.link == answer).then_some(prompt..next + 1),
        Role::User => Some(prompt..next),
        _ => None,
    }
}

/// The answer behind `item`, if it is the one with this normal form.
fn joined_answer(view: &RequestView, item: usize, answer: Option<Digest>) -> Option<usize> {
    let next = view.next_speech(item)?;
    let found = &view.items[next];
    (found.role() == Role::Assistant && answer.is_some() && found.facts.link == answer).then_some(next)
}

#[cfg(test)]
mod tests;
