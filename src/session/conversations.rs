//! Finds, keeps and stores conversations.
//!
//! ```text
//! DATA c/ID          the record                       (DATA: the session's own range, see `store::keys`)
//! DATA l/ID/SEQ      one ledger entry
//! DATA s/DIGEST      the last id of an answer of several legs, under the node of its first (`successors`)
//! DATA k/ID/SEQ      digest of one node: what to delete with the conversation, and in which order
//! 1/n/DIGEST         a node: the session and conversation that its history belongs to
//! ```
//!
//! Where the store is shared, memory is a copy: [`Conversations::get`] compares it with the store, and a commit that finds what
//! it did not expect takes over what others wrote and is made anew (`coherence`).
mod coherence;
mod find;
mod successors;

pub use find::Found;

use super::anchor::Anchors;
use super::chain::response_node;
use super::conversation::{Change, Conversation, ConversationLayout, GoesOn, Live, Saved, Shape, VERSION};
use super::ledger::{Entry, Ledger};
use super::record::SessionKey;
use super::store::{Change as Write, Store, StoreError, keys};
use crate::context::Digest;
use bytes::Bytes;
use foldhash::HashMap;
use foldhash::fast::RandomState;
use moka::sync::Cache;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// Bytes of conversations in memory, some 50,000 of ordinary length; more are read back from the store.
const LIVE_BYTES: u64 = 256 << 20;
/// Conversations in use beyond which those that nobody holds any more are swept out.
const SWEEP_AT: usize = 20_000;
/// Nodes in memory, about 200 bytes each.
const NODES: u64 = 200_000;
/// Ids of answers of several legs in memory, some 300 bytes each: those that are asked for next.
const SUCCESSORS: u64 = 20_000;
/// Nodes kept of one conversation: two a request, so the last 2,000 requests can be rewound to.
const NODES_PER_CONVERSATION: u64 = 4096;
/// Announced nodes that may wait for a commit. Each answer brings one; more wait only where answers fail.
const UNWRITTEN: usize = 16;
/// Where nodes stand.
const NODES_SPACE: &[u8] = b"1/n/";
/// Entries read from the store at once.
const PAGE: usize = 1024;

/// Whose history a node is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeOwner {
    /// The session.
    pub session: Arc<SessionKey>,
    /// The conversation.
    pub conversation: String,
}

/// The conversations of all sessions.
pub struct Conversations {
    store: Arc<dyn Store>,
    nodes: Cache<Digest, Arc<NodeOwner>, RandomState>,
    /// By their key in the store.
    successors: Cache<Vec<u8>, Arc<GoesOn>, RandomState>,
    recent: Cache<Vec<u8>, Arc<Live>, RandomState>,
    /// Everything in use, also what `recent` let go of: one conversation never has two states.
    in_use: Mutex<HashMap<Vec<u8>, Weak<Live>>>,
}

impl Conversations {
    /// On this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let hasher = RandomState::default();
        let recent = Cache::builder().weigher(|_, live: &Arc<Live>| live.weight()).max_capacity(LIVE_BYTES);
        Self {
            store,
            nodes: Cache::builder().max_capacity(NODES).build_with_hasher(hasher.clone()),
            successors: Cache::builder().max_capacity(SUCCESSORS).build_with_hasher(hasher.clone()),
            recent: recent.build_with_hasher(hasher),
            in_use: Mutex::default(),
        }
    }

    /// The conversation of `owner`, from memory or the store; `None` when it was deleted.
    ///
    /// # Errors
    /// When the store can't be read, or holds a version that this program does not know.
    pub async fn get(&self, owner: &NodeOwner) -> Result<Option<Arc<Live>>, StoreError> {
        let path = record_key(&owner.session, &owner.conversation);
        if let Some(live) = self.in_memory(&path) {
            let stands = self.store.shared().is_none() || self.is_there(&live).await;
            return Ok(stands.then_some(live));
        }
        let Some(value) = self.store.get(&path).await? else { return Ok(None) };
        let record = read_record(&value)?;
        let ledger = Ledger::from_entries(self.entries(owner, 0).await?, record.persistent_from);
        let form = self.store.shared().map(|_| value);
        let saved = Saved { from: ledger.next_key(), form, ..Saved::default() };
        Ok(Some(self.keep(path, Live::new(owner.session.clone(), record, ledger, saved))))
    }

    /// The stored entries of a ledger from this key on.
    async fn entries(&self, owner: &NodeOwner, from: u64) -> Result<Vec<(u64, Entry)>, StoreError> {
        let prefix = entry_prefix(&owner.session, &owner.conversation);
        let mut entries = Vec::new();
        let mut after = from.checked_sub(1).map(|last| numbered(&prefix, last));
        loop {
            let page = self.store.scan(&prefix, after.take(), PAGE).await?;
            let full = page.len() == PAGE;
            after = page.last().map(|(k, _)| k.clone());
            for (key, value) in page {
                let seq = std::str::from_utf8(&key[prefix.len()..]).ok().and_then(|s| u64::from_str_radix(s, 16).ok());
                entries.push((seq.unwrap_or_default(), decode::<Entry>(&value)?));
            }
            if !full {
                return Ok(entries);
            }
        }
    }

    fn in_memory(&self, path: &[u8]) -> Option<Arc<Live>> {
        self.recent.get(path).or_else(|| self.in_use.lock().get(path).and_then(Weak::upgrade))
    }

    /// Keeps `live`, or gives the one that another task has kept meanwhile.
    fn keep(&self, path: Vec<u8>, live: Live) -> Arc<Live> {
        let mut in_use = self.in_use.lock();
        if let Some(other) = in_use.get(&path).and_then(Weak::upgrade) {
            return other;
        }
        if in_use.len() > SWEEP_AT {
            in_use.retain(|_, weak| weak.strong_count() > 0);
        }
        let live = Arc::new(live);
        in_use.insert(path.clone(), Arc::downgrade(&live));
        self.recent.insert(path, live.clone());
        live
    }

    /// A new conversation under `session`.
    pub fn create(&self, session: &SessionKey, layout: ConversationLayout, shape: Shape) -> Arc<Live> {
        let record = Conversation::new(new_id(), layout, shape);
        self.keep(
            record_key(session, &record.id),
            Live::new(Arc::new(session.clone()), record, Ledger::default(), Saved::default()),
        )
    }

    /// A conversation that shares its beginning with `parent` (a rewind, another agent on the same history): it inherits
    /// what was placed, as far as its anchors are in the new history (see [`Ledger::fork`]). It has to
    /// be committed.
    pub fn fork(&self, parent: &Live, anchors: &Anchors, news: Option<usize>, shape: Shape) -> Arc<Live> {
        let (record, ledger) = {
            let state = parent.state.lock();
            let record =
                Conversation { id: new_id(), shape, tip: None, tip_answer: None, nodes: 0, ..state.record.clone() };
            (record, state.ledger.fork(anchors, news))
        };
        self.keep(record_key(&parent.key, &record.id), Live::new(parent.key.clone(), record, ledger, Saved::default()))
    }

    /// Whether all these nodes are known to lead to `live`.
    pub fn has(&self, live: &Live, nodes: &[Digest]) -> bool {
        nodes.iter().all(|node| {
            self.nodes.get(node).is_some_and(|owner| owner.conversation == live.id && owner.session == live.key)
        })
    }

    /// Writes the record as it stands, the ledger's new entries and `change`, all or nothing, durable on return. What is in
    /// memory counts at once, so that traffic goes on when the store fails.
    ///
    /// # Errors
    /// When the store can't be written.
    pub async fn commit(&self, live: &Live, mut change: Change) -> Result<(), StoreError> {
        let is_forgotten = || live.forgotten.load(Ordering::Relaxed);
        if is_forgotten() {
            return Ok(());
        }
        change.nodes.extend(change.successor.as_ref().map(|successor| response_node(&successor.first)));
        // A retry brings nodes that are there already. A node has one place, or the older place would take it along.
        let owner = Arc::new(NodeOwner { session: live.key.clone(), conversation: live.id.clone() });
        change.nodes.retain(|node| self.claim(*node, &owner));
        let successor = change.successor.take();
        successor.iter().for_each(|successor| self.note_successor(live, successor));
        let mut saved = live.saved.lock().await;
        // Noted again in the order of writing: of racing answers, memory keeps the one that the store keeps.
        let successor = successor.map(|successor| self.write_successor(live, &successor));
        loop {
            if is_forgotten() {
                return Ok(());
            }
            let (mut batch, first, next) = self.state_of(live, &mut change, saved.from)?;
            batch.extend(successor.clone());
            self.add_nodes(&mut batch, &owner, first, &change.nodes).await?;
            if self.write(live, &mut saved, batch).await? {
                saved.from = next;
                break;
            }
        }
        drop(saved);
        // Put back to be weighed anew.
        let path = record_key(&live.key, &live.id);
        if let Some(kept) = self.recent.get(&path) {
            self.recent.insert(path, kept);
        }
        Ok(())
    }

    /// Makes nodes known that the next commit of `live` will write. True when the caller has to see to that commit: it is
    /// `due` or many nodes wait, and nobody else was told so; however fast answers come, one commit waits for the store.
    pub fn announce(&self, live: &Live, nodes: Vec<Digest>, due: bool) -> bool {
        self.remember(live, &nodes);
        let mut state = live.state.lock();
        state.unwritten.extend(nodes);
        let asked = (due || state.unwritten.len() >= UNWRITTEN) && !state.commit_waits;
        state.commit_waits |= asked;
        asked
    }

    /// From now on these nodes lead to `live`.
    fn remember(&self, live: &Live, nodes: &[Digest]) {
        let owner = Arc::new(NodeOwner { session: live.key.clone(), conversation: live.id.clone() });
        nodes.iter().for_each(|node| self.nodes.insert(*node, owner.clone()));
    }

    /// From now on this node leads to `owner`; true when it did not before. One step: of two answers that bring one node at
    /// the same time, one gives it its place.
    fn claim(&self, node: Digest, owner: &Arc<NodeOwner>) -> bool {
        let known = self.nodes.entry(node).or_insert_with(|| owner.clone());
        if known.is_fresh() {
            return true;
        }
        let news = *known.into_value() != **owner;
        if news {
            self.nodes.insert(node, owner.clone());
        }
        news
    }

    /// Takes in the nodes that were only announced. The record and the entries from `unsaved_from` on, as they are to be written; the number of the first new node, and
    /// the key that the next entry will have.
    fn state_of(
        &self,
        live: &Live,
        change: &mut Change,
        unsaved_from: u64,
    ) -> Result<(Vec<Write>, u64, u64), StoreError> {
        let mut state = live.state.lock();
        change.nodes.append(&mut state.unwritten);
        state.commit_waits = false;
        state.record.rewrites += u64::from(!(change.dropped.is_empty() && change.rewritten.is_empty()));
        let first = state.record.nodes;
        state.record.nodes += change.nodes.len() as u64;
        let mut batch = vec![(record_key(&live.key, &live.id), Some(encode(&state.record)?))];
        let prefix = entry_prefix(&live.key, &live.id);
        let is_news = |seq: u64| seq >= unsaved_from || change.rewritten.contains(&seq);
        for (seq, entry) in state.ledger.entries().iter().filter(|(seq, _)| is_news(*seq)) {
            batch.push((numbered(&prefix, *seq), Some(encode(entry)?)));
        }
        batch.extend(change.dropped.iter().map(|seq| (numbered(&prefix, *seq), None)));
        Ok((batch, first, state.ledger.next_key()))
    }

    /// New nodes with their places, numbered from `first`; the oldest ones go.
    async fn add_nodes(
        &self,
        batch: &mut Vec<Write>,
        owner: &NodeOwner,
        first: u64,
        nodes: &[Digest],
    ) -> Result<(), StoreError> {
        let places = place_prefix(&owner.session, &owner.conversation);
        for (seq, node) in (first..).zip(nodes) {
            batch.push((node_key(*node), Some(encode(owner)?)));
            batch.push((numbered(&places, seq), Some(Bytes::copy_from_slice(&node.0))));
            if let Some(old) = seq.checked_sub(NODES_PER_CONVERSATION) {
                let place = numbered(&places, old);
                if let Some(digest) = self.store.get(&place).await?.and_then(|v| v[..].try_into().ok()).map(Digest)
                    // A fork may own it by now.
                    && self.stored_node(digest).await?.is_some_and(|now| *now == *owner)
                {
                    batch.push((node_key(digest), None));
                    batch.push(self.forget_successor(&owner.session, digest));
                }
                batch.push((place, None));
            }
        }
        Ok(())
    }

    /// Forgets the conversations of a session: their nodes in the store. The records lie under the session's own prefix
    /// and go with it.
    ///
    /// # Errors
    /// When the store can't be read or written.
    pub async fn forget(&self, session: &SessionKey) -> Result<(), StoreError> {
        let records = under(session, "c/", "");
        let live: Vec<Arc<Live>> = {
            let in_use = self.in_use.lock();
            in_use
                .iter()
                .filter(|(path, _)| path.starts_with(&records))
                .filter_map(|(_, live)| live.upgrade())
                .collect()
        };
        for live in live {
            live.forgotten.store(true, Ordering::Relaxed);
            // A write that has begun ends first, so that what it wrote is deleted too.
            drop(live.saved.lock().await);
        }
        let prefix = under(session, "k/", "");
        loop {
            let page = self.store.scan(&prefix, None, PAGE).await?;
            if page.is_empty() {
                break;
            }
            let mut batch = Vec::with_capacity(2 * page.len());
            for (place, digest) in page {
                if let Ok(digest) = <[u8; 16]>::try_from(&digest[..]) {
                    self.nodes.invalidate(&Digest(digest));
                    batch.push((node_key(Digest(digest)), None));
                }
                batch.push((place, None));
            }
            self.store.write(batch).await?;
        }
        self.forget_successors(session);
        self.let_go(&records);
        Ok(())
    }

    /// Memory forgets the conversations whose record's key begins so.
    fn let_go(&self, prefix: &[u8]) {
        self.in_use.lock().retain(|path, _| {
            let gone = path.starts_with(prefix);
            if gone {
                self.recent.invalidate(path);
            }
            !gone
        });
    }
}

/// What stands at a key of this room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A record.
    Conversation,
    /// One ledger entry.
    Ledger,
    /// Whose history a node is.
    Node,
    /// The node of one place.
    Place,
    /// How the provider goes on.
    Successor,
}

/// What stands at this key; `None` where nothing of this room can.
pub fn kind(key: &[u8]) -> Option<Kind> {
    if key.starts_with(NODES_SPACE) {
        return Some(Kind::Node);
    }
    match keys::data_name(key)?.get(..2)? {
        b"c/" => Some(Kind::Conversation),
        b"l/" => Some(Kind::Ledger),
        b"k/" => Some(Kind::Place),
        b"s/" => Some(Kind::Successor),
        _ => None,
    }
}

fn read_record(form: &[u8]) -> Result<Conversation, StoreError> {
    let record: Conversation = decode(form)?;
    match record.v > VERSION {
        true => Err(StoreError::Newer { found: format!("conversation {}", record.v), known: "conversation 1" }),
        false => Ok(record),
    }
}

fn new_id() -> String {
    let mut bytes = [0; 8];
    // Without randomness from the system nothing else would work either; the clock keeps ids apart.
    if getrandom::fill(&mut bytes).is_err() {
        bytes = jiff::Timestamp::now().as_nanosecond().to_le_bytes()[..8].try_into().unwrap_or_default();
    }
    bytes.iter().fold("c_".to_owned(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}

fn under(session: &SessionKey, space: &str, id: &str) -> Vec<u8> {
    let mut key = keys::data(session);
    key.extend_from_slice(space.as_bytes());
    key.extend_from_slice(id.as_bytes());
    key
}

fn record_key(session: &SessionKey, id: &str) -> Vec<u8> {
    under(session, "c/", id)
}

fn entry_prefix(session: &SessionKey, id: &str) -> Vec<u8> {
    under(session, "l/", &format!("{id}/"))
}

fn place_prefix(session: &SessionKey, id: &str) -> Vec<u8> {
    under(session, "k/", &format!("{id}/"))
}

/// Sixteen digits, so that keys sort as their numbers do.
fn numbered(prefix: &[u8], seq: u64) -> Vec<u8> {
    [prefix, format!("{seq:016x}").as_bytes()].concat()
}

fn node_key(digest: Digest) -> Vec<u8> {
    [NODES_SPACE, &digest.0[..]].concat()
}

fn encode<T: Serialize>(value: &T) -> Result<Bytes, StoreError> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|e| StoreError::Corrupt(e.to_string()))
}

fn decode<T: for<'de> Deserialize<'de>>(value: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(value).map_err(|e| StoreError::Corrupt(e.to_string()))
}

#[cfg(test)]
mod tests;
