//! Answers of several legs by their ids.
//!
//! The client knows such an answer by its first leg's id; the provider goes on behind the last one's (Responses
//! `previous_response_id`, Anthropic `thread.previous_message_id`, `GET /v1/responses/ID`). What is noted here lives as
//! long as the node that leads to it, and goes with the session.
use super::{Conversations, NodeOwner, Write, under};
use crate::context::Digest;
use crate::session::chain::response_node;
use crate::session::conversation::{Change, GoesOn, Live, Successor};
use crate::session::record::SessionKey;
use crate::session::store::StoreError;
use bytes::Bytes;
use std::sync::Arc;

/// Where they stand in a session's range.
const SPACE: &str = "s/";
/// Longest id that is noted, in bytes: several times what any provider makes (Responses: 55).
const MAX_ID: usize = 512;

impl Conversations {
    /// Notes that the provider goes on so where the client says `first`; durable on return, and known at once
    /// also when the store fails. Said again, the newest counts.
    ///
    /// # Errors
    /// When the store can't be written.
    pub async fn succeed(&self, live: &Live, first: &str, goes_on: GoesOn) -> Result<(), StoreError> {
        if goes_on.id.len() > MAX_ID {
            tracing::warn!(session = %live.key, bytes = goes_on.id.len(), "an answer's id is too long to be noted");
            return Ok(());
        }
        let successor = Some(Successor { first: first.to_owned(), goes_on });
        self.commit(live, Change { successor, ..Change::default() }).await
    }

    /// How the provider goes on where a client of this session says `id`; `None`: behind that very id.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn successor(&self, session: &SessionKey, id: &str) -> Result<Option<Arc<GoesOn>>, StoreError> {
        let key = successor_key(session, response_node(id));
        let known = self.successors.get(&key);
        if known.is_some() && self.store.shared().is_none() {
            return Ok(known);
        }
        let stored = match self.store.get(&key).await {
            Err(_) if known.is_some() => return Ok(known),
            stored => stored?,
        };
        let Some(stored) = stored else { return Ok(None) };
        read(&stored).map(|goes_on| Some(Arc::new(goes_on)))
    }

    /// Whose answer of several legs the client knows by this id, for requests that name no session. Whether the credential
    /// may reach that session is the caller's question ([`crate::session::record::SessionRecord::admits`]); of two
    /// providers that gave out one id, the newest answer's session.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn owner_of_answer(&self, id: &str) -> Result<Option<Arc<NodeOwner>>, StoreError> {
        let node = response_node(id);
        let known = self.nodes.get(&node);
        match self.store.shared() {
            None if known.is_some() => Ok(known),
            _ => self.stored_node(node).await,
        }
    }

    /// In memory it is known from now on.
    pub(super) fn note_successor(&self, live: &Live, successor: &Successor) {
        let key = successor_key(&live.key, response_node(&successor.first));
        self.successors.insert(key, Arc::new(successor.goes_on.clone()));
    }

    /// The write that stores `successor`; in memory it is what is known from now on.
    pub(super) fn write_successor(&self, live: &Live, successor: &Successor) -> Write {
        self.note_successor(live, successor);
        (successor_key(&live.key, response_node(&successor.first)), Some(written(&successor.goes_on)))
    }

    /// The write that removes what is noted at a node, if anything is.
    pub(super) fn forget_successor(&self, session: &SessionKey, node: Digest) -> Write {
        let key = successor_key(session, node);
        self.successors.invalidate(&key);
        (key, None)
    }

    /// Memory forgets all of a session's; in the store they go with its range.
    pub(super) fn forget_successors(&self, session: &SessionKey) {
        let prefix = under(session, SPACE, "");
        for (key, _) in self.successors.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            self.successors.invalidate(&*key);
        }
    }
}

/// The id alone, or an object where results are owed: no provider's id begins with a brace.
fn written(goes_on: &GoesOn) -> Bytes {
    let whole = || serde_json::to_vec(goes_on).ok();
    match whole().filter(|_| !goes_on.owed.is_empty()) {
        Some(object) => object.into(),
        None => goes_on.id.clone().into(),
    }
}

fn read(stored: &[u8]) -> Result<GoesOn, StoreError> {
    let corrupt = |error: String| StoreError::Corrupt(error);
    match stored.first() {
        Some(b'{') => serde_json::from_slice(stored).map_err(|error| corrupt(error.to_string())),
        _ => {
            let id = std::str::from_utf8(stored).map_err(|error| corrupt(error.to_string()))?;
            Ok(GoesOn::behind(id))
        }
    }
}

/// Under the digest, since ids are what a provider makes of them.
fn successor_key(session: &SessionKey, node: Digest) -> Vec<u8> {
    under(session, SPACE, &node.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Disk, chain, commit, open, turns};
    use super::super::{NODES_PER_CONVERSATION, PAGE};
    use super::*;
    use crate::context::LegResult;
    use crate::session::record::tests::key;
    use crate::session::records::Records;
    use crate::session::store::{MemoryStore, Store, keys};
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    async fn successor(conversations: &Conversations, session: &str, id: &str) -> Option<String> {
        conversations.successor(&key(session), id).await.unwrap().map(|goes_on| goes_on.id.clone())
    }

    #[tokio::test]
    async fn an_answer_of_several_legs_is_known_by_its_first_id() {
        let store = Arc::new(MemoryStore::new());
        let conversations = Conversations::new(store.clone());
        let live = open(&conversations);
        for (first, last) in [("resp_1", "resp_2"), ("resp_1", "resp_3"), ("r\0/ü", "r\0/ö")] {
            conversations.succeed(&live, first, GoesOn::behind(last)).await.unwrap();
        }
        for conversations in [&conversations, &Conversations::new(store)] {
            assert_eq!(successor(conversations, "s1", "resp_1").await.as_deref(), Some("resp_3"), "the newest");
            assert_eq!(successor(conversations, "s1", "r\0/ü").await.as_deref(), Some("r\0/ö"));
            assert_eq!(successor(conversations, "s1", "resp_3").await, None);
            assert_eq!(successor(conversations, "s2", "resp_1").await, None, "another session's");
            let owner = conversations.owner_of_answer("resp_1").await.unwrap().expect("an owner");
            assert_eq!((&*owner.session, &owner.conversation), (&key("s1"), &live.id));
            assert_eq!(conversations.owner_of_answer("resp_3").await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn what_is_owed_is_told_after_a_restart_too() {
        let store = Arc::new(MemoryStore::new());
        let conversations = Conversations::new(store.clone());
        let live = open(&conversations);
        let result =
            LegResult { id: "c".into(), name: "bash".into(), kind: String::new(), text: "no".into(), is_error: true };
        let goes_on = GoesOn { id: "resp_1".into(), owed: [result].into() };
        conversations.succeed(&live, "resp_1", goes_on.clone()).await.unwrap();
        for conversations in [&conversations, &Conversations::new(store)] {
            let known = conversations.successor(&key("s1"), "resp_1").await.unwrap();
            assert_eq!(known.as_deref(), Some(&goes_on));
        }
    }

    #[tokio::test]
    async fn ids_go_with_their_session_also_what_was_in_flight() {
        let store = Arc::new(MemoryStore::new());
        let conversations = Conversations::new(store.clone());
        let live = open(&conversations);
        conversations.succeed(&live, "resp_1", GoesOn::behind("resp_2")).await.unwrap();
        conversations.forget(&key("s1")).await.unwrap();
        Records::new(store.clone()).delete(&key("s1")).await.unwrap();
        conversations.succeed(&live, "resp_1", GoesOn::behind("resp_3")).await.unwrap();
        for conversations in [&conversations, &Conversations::new(store.clone())] {
            assert_eq!(successor(conversations, "s1", "resp_1").await, None);
        }
        assert_eq!(Conversations::new(store.clone()).owner_of_answer("resp_1").await.unwrap(), None);
        assert_eq!(store.scan(&keys::data(&key("s1")), None, PAGE).await.unwrap(), []);
    }

    #[tokio::test]
    async fn ids_go_with_the_oldest_nodes() {
        let store = Arc::new(MemoryStore::new());
        let conversations = Conversations::new(store.clone());
        let live = open(&conversations);
        let nodes = usize::try_from(NODES_PER_CONVERSATION).unwrap();
        let ids = nodes + 100;
        for n in 0..ids {
            conversations.succeed(&live, &format!("resp_{n}"), GoesOn::behind("last")).await.unwrap();
        }
        assert_eq!(store.scan(&under(&key("s1"), SPACE, ""), None, 2 * nodes).await.unwrap().len(), nodes);
        for (id, known) in [(0, false), (ids - nodes - 1, false), (ids - nodes, true), (ids - 1, true)] {
            assert_eq!(successor(&conversations, "s1", &format!("resp_{id}")).await.is_some(), known, "{id}");
        }
    }

    #[tokio::test]
    async fn an_endless_id_is_not_kept() {
        let conversations = Conversations::new(Arc::new(MemoryStore::new()));
        let live = open(&conversations);
        let endless = "x".repeat(1 << 20);
        conversations.succeed(&live, "resp_1", GoesOn::behind(&endless)).await.unwrap();
        conversations.succeed(&live, &endless, GoesOn::behind("resp_2")).await.unwrap();
        assert_eq!(successor(&conversations, "s1", "resp_1").await, None);
        assert_eq!(successor(&conversations, "s1", &endless).await.as_deref(), Some("resp_2"));
    }

    #[tokio::test]
    async fn a_full_store_does_not_lead_astray() {
        let disk = Arc::new(Disk::default());
        let conversations = Conversations::new(disk.clone());
        let live = open(&conversations);
        disk.full.store(true, Ordering::SeqCst);
        assert!(conversations.succeed(&live, "resp_1", GoesOn::behind("resp_2")).await.is_err());
        assert_eq!(successor(&conversations, "s1", "resp_1").await.as_deref(), Some("resp_2"));
        disk.full.store(false, Ordering::SeqCst);
        commit(&conversations, &live, &turns(1)).await.unwrap();
        assert!(conversations.find(&chain(&turns(1))).await.unwrap().is_some(), "traffic goes on");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn of_racing_answers_memory_and_store_keep_the_same() {
        let store = Arc::new(MemoryStore::new());
        let conversations = Arc::new(Conversations::new(store.clone()));
        let live = open(&conversations);
        let writers = (0..32).map(|n| {
            let (conversations, live) = (conversations.clone(), live.clone());
            tokio::spawn(async move {
                conversations.succeed(&live, "shared", GoesOn::behind(&format!("last_{n}"))).await.unwrap();
                conversations.succeed(&live, &format!("own_{n}"), GoesOn::behind(&format!("last_{n}"))).await.unwrap();
                let seen = successor(&conversations, "s1", "shared").await.expect("written before");
                assert!(seen.starts_with("last_"));
            })
        });
        for written in futures_util::future::join_all(writers).await {
            written.unwrap();
        }
        let restarted = Conversations::new(store.clone());
        for id in (0..32).map(|n| format!("own_{n}")).chain(["shared".to_owned()]) {
            let known = successor(&conversations, "s1", &id).await;
            assert_eq!(known, successor(&restarted, "s1", &id).await, "{id}");
            assert!(known.is_some());
        }
        assert_eq!(store.scan(&under(&key("s1"), "k/", ""), None, PAGE).await.unwrap().len(), 33, "one place per node");
    }
}
