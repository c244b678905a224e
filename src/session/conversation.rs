//! A conversation: one history under a session, its layout, its baseline and its running turn.
//!
//! A session key can carry several: sub-agents that share a URL, a memory-extraction agent, a fork after a rewind.
mod merge;
mod turn;

pub use merge::merged;
pub use turn::{Beside, Said, Turn};

use super::flight::Flights;
use super::ledger::Ledger;
use super::prefix::{Piece, Prefix};
use super::record::SessionKey;
use crate::context::placement::Placed;
use crate::context::{Digest, LegResult, Ruling};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Version of the stored form.
pub const VERSION: u32 = 1;

/// Where text goes in this conversation; decided once, from its first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationLayout {
    /// System prompt rebuilt for every turn.
    System,
    /// Append-only.
    Stable,
}

/// What tells two agents with one history apart: both their instructions and their tools differ. Either alone changes
/// in the life of one agent (a date in the system prompt, a tool that was loaded later).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shape {
    /// Hash of the instructions as written.
    pub system: u64,
    /// Hash of the tools as written.
    pub tools: u64,
}

impl Shape {
    /// Whether `other` is another agent.
    pub fn is_other_agent(self, other: Self) -> bool {
        self.system != other.system && self.tools != other.tools
    }
}

/// A conversation as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Conversation {
    /// [`VERSION`].
    pub v: u32,
    /// Unique.
    pub id: String,
    /// Where text goes.
    pub layout: ConversationLayout,
    /// Digest of its first link; a compacted history begins with another one.
    pub first: Option<Digest>,
    /// Whose it is.
    pub shape: Shape,
    /// Ephemeral text stays where it was placed; once so, always so.
    pub keep_history: bool,
    /// Key of the first ledger entry whose ephemeral text was not taken out.
    #[serde(default)]
    pub ephemeral_from: u64,
    /// Persistent text behind the client's instructions, frozen with the first request.
    pub baseline: Vec<Placed>,
    /// Ledger key from which on persistent text stands; what was placed before is said by the baseline.
    #[serde(default)]
    pub persistent_from: u64,
    /// Whether a baseline was decided on (it may be empty).
    pub baseline_set: bool,
    /// Node of the newest request.
    pub tip: Option<Digest>,
    /// Node of its answer.
    pub tip_answer: Option<Digest>,
    /// The running or last turn.
    pub turn: Option<Turn>,
    /// Turns that ended by themselves.
    pub turns_done: u64,
    /// Nodes written so far: the next one's key.
    pub nodes: u64,
    /// Milliseconds since 1970 of the newest request.
    pub last_active: u64,
    /// How often stored entries of its ledger were changed or taken out: else there are only new ones behind the known.
    #[serde(default)]
    pub rewrites: u64,
}

impl Conversation {
    /// A conversation that has said nothing.
    pub fn new(id: String, layout: ConversationLayout, shape: Shape) -> Self {
        Self {
            v: VERSION,
            id,
            layout,
            first: None,
            shape,
            keep_history: false,
            ephemeral_from: 0,
            baseline: Vec::new(),
            baseline_set: false,
            persistent_from: 0,
            tip: None,
            tip_answer: None,
            turn: None,
            turns_done: 0,
            nodes: 0,
            last_active: 0,
            rewrites: 0,
        }
    }

    /// Whether a history whose longest known node is `node` holds all of this conversation.
    pub fn continues_at(&self, node: Digest) -> bool {
        self.tip == Some(node) || self.tip_answer == Some(node)
    }
}

/// A conversation in use.
#[derive(Debug)]
pub struct Live {
    /// The session that it belongs to.
    pub key: Arc<SessionKey>,
    /// Its id.
    pub id: String,
    /// Its state; never held over an await.
    pub state: Mutex<State>,
    /// Held while the hooks of a prompt run, so that a retry joins them.
    pub gate: tokio::sync::Mutex<()>,
    /// Calls that hooks decide on now.
    pub judging: Flights<Ruling>,
    /// Held while its record is written or read again, so that an older state never overwrites a newer one.
    pub(super) saved: tokio::sync::Mutex<Saved>,
    /// Deleted: nothing of it is stored any more.
    pub(super) forgotten: AtomicBool,
}

/// What of a conversation is stored.
#[derive(Debug, Default)]
pub struct Saved {
    /// The key of the first ledger entry that is not stored. What a failing store did not take is written with the next
    /// commit.
    pub from: u64,
    /// The record's stored form, where other processes may write another.
    pub form: Option<Bytes>,
    /// The form that was written last, of which nobody said that it arrived.
    pub sent: Option<Bytes>,
}

/// What changes.
#[derive(Debug)]
pub struct State {
    /// As stored.
    pub record: Conversation,
    /// What was placed.
    pub ledger: Ledger,
    /// The newest request, for the measure of what caching keeps.
    pub prefix: Option<Prefix>,
    /// Node of the request that goes on with this conversation; until its hooks have run it is ahead of the record's tip.
    pub claimed: Option<Digest>,
    /// Nodes that the next commit writes along.
    pub(super) unwritten: Vec<Digest>,
    /// Such a commit has been asked for and has not begun.
    pub(super) commit_waits: bool,
}

impl State {
    /// Whether a request whose history ends with `end`, and whose longest known node is `node`, goes on with this
    /// conversation, and is not a fork of it. Of several that would, the first has it: others that say something else at
    /// the same point fork, and retries of the first join it.
    pub fn claim(&mut self, node: Digest, end: Digest) -> bool {
        let is_free = self.claimed.is_none_or(|claimed| self.record.tip == Some(claimed));
        let goes_on = self.claimed == Some(end) || (is_free && self.record.continues_at(node));
        if goes_on {
            self.claimed = Some(end);
        }
        goes_on
    }
}

impl Live {
    /// A conversation of which this is stored.
    pub fn new(key: Arc<SessionKey>, record: Conversation, ledger: Ledger, saved: Saved) -> Self {
        Self {
            key,
            id: record.id.clone(),
            state: Mutex::new(State {
                record,
                ledger,
                prefix: None,
                claimed: None,
                unwritten: Vec::new(),
                commit_waits: false,
            }),
            gate: tokio::sync::Mutex::new(()),
            judging: Flights::default(),
            saved: tokio::sync::Mutex::new(saved),
            forgotten: AtomicBool::new(false),
        }
    }

    /// Bytes that it takes in memory, for the cache.
    pub(super) fn weight(&self) -> u32 {
        /// Record, locks, ids.
        const BASE: usize = 2048;
        let state = self.state.lock();
        let pieces = state.prefix.as_ref().map_or(0, |prefix| prefix.pieces.len() * size_of::<Piece>());
        let form = self.saved.try_lock().map_or(0, |saved| saved.form.as_ref().map_or(0, Bytes::len));
        u32::try_from(BASE + state.ledger.bytes() + pieces + form).unwrap_or(u32::MAX)
    }
}

/// An answer of several legs, or of calls that the client does not know: what becomes of a delta that goes on behind it.
#[derive(Debug)]
pub struct Successor {
    /// What the client says.
    pub first: String,
    /// What the provider is to hear.
    pub goes_on: GoesOn,
}

/// How the provider goes on behind an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoesOn {
    /// Behind this one: the last leg's id.
    pub id: String,
    /// What it has to be told of that answer's calls.
    #[serde(default)]
    pub owed: Arc<[LegResult]>,
}

impl GoesOn {
    /// Behind this answer, with nothing owed.
    pub fn behind(id: &str) -> Self {
        Self { id: id.to_owned(), owed: Arc::default() }
    }
}

/// What a commit writes beside the record and the ledger's new entries.
#[derive(Debug, Default)]
pub struct Change {
    /// Keys of entries that no longer fit.
    pub dropped: Vec<u64>,
    /// Keys of entries that were stored before and have changed.
    pub rewritten: Vec<u64>,
    /// Nodes by which later requests find the conversation.
    pub nodes: Vec<Digest>,
    /// An answer of several legs that ended.
    pub successor: Option<Successor>,
}
