//! What a mailbox holds, as it is stored. Pure: every change is made here and stored as a whole.
use super::Refusal;
use super::message::{Kind, Message, State};
use crate::context::Digest;
use crate::session::record::SessionKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// Version of the stored form.
const VERSION: u32 = 1;
/// Messages that may wait in one mailbox.
pub const MAX_QUEUED: usize = 50;
/// Messages with one request: what a model reads beside its work and still does its work.
pub(super) const MAX_PER_DELIVERY: usize = 3;
/// Messages that are over and stay for receipts.
const HISTORY: usize = 50;
/// Ids that are remembered beyond that: what is sent again, is sent again soon.
const REMEMBERED: usize = 256;

/// The messages of one agent of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Letters {
    v: u32,
    /// What people call the agent.
    #[serde(default)]
    pub label: Option<String>,
    /// [`Message::hops`] of the newest message that was delivered.
    #[serde(default)]
    pub hops: u32,
    /// Oldest first.
    pub messages: Vec<Message>,
    /// Digests of the ids of older ones.
    #[serde(default)]
    gone: VecDeque<Digest>,
}

/// What became of a message that was brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Accepted {
    /// It waits now.
    New,
    /// It was here before.
    Known(Option<Message>),
}

/// The requests that have a message in their hands.
pub(super) struct Claim<'a> {
    /// The conversation that claims.
    pub conversation: &'a str,
    /// Its turn.
    pub turn_id: &'a str,
    /// Its process, where several share the store.
    pub by: Option<&'a str>,
    /// Messages that its request shows already.
    pub standing: &'a [String],
    /// How many more it takes.
    pub room: usize,
    /// Only those that do not wait for a next request.
    pub urgent: bool,
    /// Only those that no request has claimed before.
    pub only_new: bool,
}

/// What a claim got.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Claimed {
    /// They stand in the request already.
    pub standing: Vec<Message>,
    /// They are to be placed.
    pub fresh: Vec<Message>,
}

impl Default for Letters {
    fn default() -> Self {
        Self { v: VERSION, label: None, hops: 0, messages: Vec::new(), gone: VecDeque::new() }
    }
}

impl Letters {
    /// As stored.
    pub(super) fn encode(&self) -> Result<Vec<u8>, String> {
        serde_json::to_vec(self).map_err(|error| error.to_string())
    }

    /// From what is stored.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let letters: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        match letters.v {
            VERSION => Ok(letters),
            newer => Err(format!("it has version {newer}, this hookgate reads {VERSION}")),
        }
    }

    /// Takes a message in. The id decides: one that is here, or was, is the same message.
    pub(super) fn accept(&mut self, key: &SessionKey, message: Message, now: Timestamp) -> Result<Accepted, Refusal> {
        self.expire(now);
        let at = self.messages.iter().position(|known| known.id == message.id);
        if let Some(at) = at {
            if !matches!(self.messages[at].state, State::Refused { .. }) {
                return Ok(Accepted::Known(Some(self.messages[at].clone())));
            }
            self.messages.remove(at);
        } else if self.gone.contains(&digest(&message.id)) {
            return Ok(Accepted::Known(None));
        }
        if self.waiting().count() >= MAX_QUEUED {
            return Err(Refusal::Full(key.clone()));
        }
        self.messages.push(message);
        self.trim();
        Ok(Accepted::New)
    }

    /// Notes a message that is not taken in, for its receipt.
    pub(super) fn refuse(&mut self, message: Message, why: &Refusal) {
        if self.messages.iter().all(|known| known.id != message.id) {
            self.messages.push(Message { state: State::Refused { why: why.to_string() }, ..message });
            self.trim();
        }
    }

    /// Messages that may still be delivered.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| message.state.waits())
    }

    /// What nobody took in time is over.
    pub(super) fn expire(&mut self, now: Timestamp) {
        for message in self.messages.iter_mut().filter(|message| message.is_late(now)) {
            message.state = State::Expired;
        }
    }

    /// Whether nothing is to be kept of it: all its messages are over for so long, or there are none and it has no name.
    pub(super) fn is_over(&mut self, now: Timestamp, retain: Duration) -> bool {
        self.expire(now);
        let is_old =
            |message: &Message| !message.state.waits() && now.duration_since(message.queued_at).unsigned_abs() > retain;
        match self.messages.is_empty() {
            true => self.label.is_none(),
            false => self.messages.iter().all(is_old),
        }
    }

    /// Claimed messages whose request is not under way and that do not stand in this one, each with the conversation whose
    /// ledger may hold them: they are to be taken out there before they are claimed anew.
    pub(super) fn void(&self, claim: &Claim<'_>, is_flying: impl Fn(&Message) -> bool) -> Vec<(String, String)> {
        let void = |message: &Message| match &message.state {
            State::Claimed { conversation, .. } if !claim.standing.contains(&message.id) && !is_flying(message) => {
                Some((message.id.clone(), conversation.clone()))
            }
            _ => None,
        };
        self.messages.iter().filter_map(void).collect()
    }

    /// Claims messages for a request: those that it shows already, and as many more as it has room for. What `is_flying`
    /// with another request stays with that.
    pub(super) fn claim(&mut self, claim: &Claim<'_>, now: Timestamp, is_flying: impl Fn(&Message) -> bool) -> Claimed {
        let state = || State::Claimed {
            conversation: claim.conversation.to_owned(),
            turn_id: claim.turn_id.to_owned(),
            by: claim.by.map(str::to_owned),
        };
        let mut claimed = Claimed::default();
        // What stands in a request is delivered with it, be it late or not.
        let standing = |message: &&mut Message| {
            claim.standing.contains(&message.id) && matches!(message.state, State::Claimed { .. } | State::Expired)
        };
        for message in self.messages.iter_mut().filter(standing) {
            message.state = state();
            claimed.standing.push(message.clone());
        }
        self.expire(now);
        let room = claim.room.min(MAX_PER_DELIVERY).saturating_sub(claimed.standing.len());
        let may_go = |message: &Message| {
            let is_free = message.state.waits() && !claim.standing.contains(&message.id) && !is_flying(message);
            let is_new = message.state == State::Queued;
            is_free && (is_new || !claim.only_new) && (!claim.urgent || message.kind.is_urgent())
        };
        let mut chosen: Vec<usize> = (0..self.messages.len()).filter(|at| may_go(&self.messages[*at])).collect();
        chosen.sort_by_key(|at| self.messages[*at].kind.rank());
        chosen.truncate(room);
        chosen.sort_unstable();
        for at in chosen {
            self.messages[at].state = state();
            claimed.fresh.push(self.messages[at].clone());
        }
        claimed
    }

    /// The request of this process that was to bring these came to nothing.
    pub(super) fn let_go(&mut self, ids: &[String], process: &str) {
        for message in self.messages.iter_mut().filter(|message| ids.contains(&message.id)) {
            if let State::Claimed { by, .. } = &mut message.state
                && by.as_deref() == Some(process)
            {
                *by = None;
            }
        }
    }

    /// The upstream accepted a request of this turn that shows these, be they late by now or not.
    pub(super) fn deliver(&mut self, ids: &[String], (turn, turn_id): (u64, &str), at: Timestamp) {
        for message in self.messages.iter_mut().filter(|message| ids.contains(&message.id)) {
            if matches!(message.state, State::Delivered { .. }) {
                continue;
            }
            message.state = State::Delivered { at, turn, turn_id: turn_id.to_owned() };
            self.hops = message.hops;
        }
        self.trim();
    }

    /// The turn that a halt ended last.
    pub(super) fn halted(&self) -> Option<&str> {
        let halts = self.messages.iter().rev().filter(|message| message.kind == Kind::Halt);
        halts
            .filter_map(|message| match &message.state {
                State::Claimed { turn_id, .. } | State::Delivered { turn_id, .. } => Some(&**turn_id),
                _ => None,
            })
            .next()
    }

    /// Oldest receipts go.
    fn trim(&mut self) {
        let over = |letters: &Self| letters.messages.iter().filter(|message| !message.state.waits()).count();
        let mut excess = over(self).saturating_sub(HISTORY);
        let gone = &mut self.gone;
        self.messages.retain(|message| {
            let goes = excess > 0 && !message.state.waits();
            if goes {
                excess -= 1;
                if !matches!(message.state, State::Refused { .. }) {
                    gone.push_back(digest(&message.id));
                }
            }
            !goes
        });
        let excess = gone.len().saturating_sub(REMEMBERED);
        gone.drain(..excess);
    }
}

fn digest(id: &str) -> Digest {
    Digest::of(&[id.as_bytes()])
}

#[cfg(test)]
mod tests;
