use super::super::anchor::Anchor;
use super::super::chain::Chain;
use super::super::ledger::What;
use super::super::record::tests::key;
use super::super::store::MemoryStore;
use super::super::store::testing::Faulty;
use super::super::testing::{digest, prompt, reply, result, view};
use super::*;
use crate::context::{ItemFacts, RequestView};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::sync::atomic::AtomicBool;

/// A store whose writes fail while it is full.
#[derive(Default)]
pub(super) struct Disk {
    store: MemoryStore,
    pub(super) full: AtomicBool,
}

impl Store for Disk {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        self.store.get(key)
    }
    fn compare_and_set<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.store.compare_and_set(key, expected, new)
    }
    fn write(&self, batch: Vec<super::super::store::Change>) -> BoxFuture<'_, Result<(), StoreError>> {
        match self.full.load(Ordering::SeqCst) {
            true => async { Err(StoreError::Io("full".into())) }.boxed(),
            false => self.store.write(batch),
        }
    }
    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<Vec<u8>>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<super::super::store::Pair>, StoreError>> {
        self.store.scan(prefix, after, limit)
    }
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.flush()
    }
}

pub(super) fn chain(history: &[ItemFacts]) -> Chain {
    Chain::new(digest("owner"), &request(history))
}

fn request(history: &[ItemFacts]) -> RequestView {
    view(history.to_vec())
}

/// A history of this many turns, the last one unanswered.
pub(super) fn turns(count: usize) -> Vec<ItemFacts> {
    let mut history: Vec<ItemFacts> =
        (0..count).flat_map(|n| [prompt(&format!("p{n}")), reply(&format!("a{n}"), &[])]).collect();
    history.pop();
    history
}

fn entry(words: &str) -> Entry {
    Entry { anchor: Anchor::Prompt { digest: digest(words), nth: 0 }, what: What::Prompt { texts: vec![] } }
}

pub(super) fn open(conversations: &Conversations) -> Arc<Live> {
    conversations.create(&key("s1"), ConversationLayout::Stable, Shape::default())
}

pub(super) async fn commit(
    conversations: &Conversations,
    live: &Live,
    history: &[ItemFacts],
) -> Result<(), StoreError> {
    let nodes = chain(history).ends(0).collect();
    conversations.commit(live, Change { nodes, ..Change::default() }).await
}

#[tokio::test]
async fn the_longest_known_history_is_found_in_memory_and_after_a_restart() {
    let store = Arc::new(MemoryStore::new());
    let conversations = Conversations::new(store.clone());
    let live = open(&conversations);
    for known in 1..=30 {
        commit(&conversations, &live, &turns(known)).await.unwrap();
    }
    // From the next request to one that comes after many went elsewhere.
    for (asked, covered) in [(30, 59), (31, 59), (33, 59), (60, 59), (12, 23)] {
        for conversations in [&conversations, &Conversations::new(store.clone())] {
            let found = conversations.find(&chain(&turns(asked))).await.unwrap().expect("a history");
            assert_eq!((found.covered, &found.owner.conversation), (covered, &live.id), "{asked}");
        }
    }
    assert!(conversations.find(&chain(&[prompt("other")])).await.unwrap().is_none());
}

#[tokio::test]
async fn a_long_conversation_whose_oldest_nodes_went_is_found_behind_many_results() {
    let store = Arc::new(MemoryStore::new());
    let conversations = Conversations::new(store.clone());
    let live = open(&conversations);
    let mut history = turns(9_000);
    for nodes in chain(&history).ends(0).collect::<Vec<_>>().chunks(500) {
        conversations.commit(&live, Change { nodes: nodes.to_vec(), ..Change::default() }).await.unwrap();
    }
    let kept = usize::try_from(NODES_PER_CONVERSATION).unwrap();
    assert_eq!(store.scan(NODES_SPACE, None, 2 * kept).await.unwrap().len(), kept);
    let known = history.len();
    history.push(reply("", &["look"]));
    history.extend((0..10).map(|n| result(&[&format!("call {n}")])));
    let found = Conversations::new(store).find(&chain(&history)).await.unwrap().expect("a history");
    assert_eq!((found.covered, &found.owner.conversation), (known, &live.id));
}

#[tokio::test]
async fn what_a_full_store_did_not_take_is_written_with_the_next_commit() {
    let disk = Arc::new(Disk::default());
    let conversations = Conversations::new(disk.clone());
    let live = open(&conversations);
    commit(&conversations, &live, &turns(1)).await.unwrap();
    disk.full.store(true, Ordering::SeqCst);
    live.state.lock().ledger.push(entry("p1"));
    assert!(commit(&conversations, &live, &turns(2)).await.is_err());
    disk.full.store(false, Ordering::SeqCst);
    live.state.lock().ledger.push(entry("p2"));
    commit(&conversations, &live, &turns(3)).await.unwrap();

    let restarted = Conversations::new(disk);
    let found = restarted.find(&chain(&turns(3))).await.unwrap().expect("a history");
    let again = restarted.get(&found.owner).await.unwrap().expect("a conversation");
    assert_eq!(again.state.lock().ledger.entries(), live.state.lock().ledger.entries());
}

#[tokio::test]
async fn a_deleted_session_is_not_written_back_by_what_was_in_flight() {
    let store = Arc::new(MemoryStore::new());
    let conversations = Conversations::new(store.clone());
    let live = open(&conversations);
    commit(&conversations, &live, &turns(1)).await.unwrap();
    conversations.forget(&key("s1")).await.unwrap();
    commit(&conversations, &live, &turns(2)).await.unwrap();
    let owner = NodeOwner { session: key("s1").into(), conversation: live.id.clone() };
    for conversations in [&conversations, &Conversations::new(store.clone())] {
        assert!(conversations.find(&chain(&turns(2))).await.unwrap().is_none());
    }
    assert_eq!(store.scan(NODES_SPACE, None, 9).await.unwrap().len(), 0);
    drop(live);
    // The record itself goes with the session's range; nothing brings it back to life in between.
    assert!(conversations.in_memory(&record_key(&owner.session, &owner.conversation)).is_none());
}

#[tokio::test]
async fn one_conversation_never_has_two_states() {
    let store = Arc::new(MemoryStore::new());
    let first = Conversations::new(store.clone());
    let live = open(&first);
    commit(&first, &live, &turns(1)).await.unwrap();
    let owner = NodeOwner { session: key("s1").into(), conversation: live.id.clone() };
    let other = Conversations::new(store);
    let (one, two) = futures_util::future::join(other.get(&owner), other.get(&owner)).await;
    assert!(Arc::ptr_eq(&one.unwrap().unwrap(), &two.unwrap().unwrap()));
}

#[test]
fn of_requests_at_one_point_the_first_goes_on_and_others_fork() {
    let conversations = Conversations::new(Arc::new(MemoryStore::new()));
    let live = open(&conversations);
    let mut state = live.state.lock();
    let [known, one, other] = ["known", "one", "other"].map(digest);
    state.record.tip = Some(known);
    assert!(state.claim(known, one));
    assert!(state.claim(known, one), "a retry joins it");
    assert!(!state.claim(known, other));
    state.record.tip = Some(one);
    assert!(!state.claim(known, other), "a rewind forks");
    assert!(state.claim(one, other));
}

#[tokio::test]
async fn a_node_that_is_known_takes_no_second_place() {
    let store = Arc::new(MemoryStore::new());
    let conversations = Conversations::new(store.clone());
    let live = open(&conversations);
    for _retry in 0..3 {
        commit(&conversations, &live, &turns(1)).await.unwrap();
    }
    assert_eq!(store.scan(NODES_SPACE, None, PAGE).await.unwrap().len(), 1);
    assert_eq!(store.scan(&place_prefix(&live.key, &live.id), None, PAGE).await.unwrap().len(), 1);
}

#[tokio::test]
async fn announced_nodes_are_known_at_once_and_written_with_the_next_commit() {
    let store = Arc::new(MemoryStore::new());
    let conversations = Conversations::new(store.clone());
    let live = open(&conversations);
    assert!(!conversations.announce(&live, vec![digest("request")], false));
    assert!(conversations.has(&live, &[digest("request")]));
    assert!(store.scan(NODES_SPACE, None, PAGE).await.unwrap().is_empty());
    conversations.commit(&live, Change { nodes: vec![digest("answer")], ..Change::default() }).await.unwrap();
    let restarted = Conversations::new(store);
    for node in ["request", "answer"] {
        assert!(restarted.stored_node(digest(node)).await.unwrap().is_some(), "{node}");
    }
}

#[tokio::test]
async fn however_many_nodes_are_announced_one_commit_waits_for_the_store() {
    let conversations = Conversations::new(Arc::new(MemoryStore::new()));
    let live = open(&conversations);
    let announce = |n: usize, due| conversations.announce(&live, vec![digest(&n.to_string())], due);
    assert_eq!((0..4 * UNWRITTEN).filter(|n| announce(*n, false)).count(), 1);
    assert!(!announce(0, true));
    conversations.commit(&live, Change::default()).await.unwrap();
    assert!(announce(0, true));
}

#[tokio::test]
async fn what_was_written_though_nobody_said_so_counts_once() {
    let store = Arc::new(Faulty::shared(Arc::default()));
    let conversations = Conversations::new(store.clone());
    let live = open(&conversations);
    commit(&conversations, &live, &turns(1)).await.unwrap();
    {
        let mut state = live.state.lock();
        state.record.turns_done += 1;
        state.ledger.push(entry("placed"));
    }
    store.mute.store(1, Ordering::SeqCst);
    assert!(commit(&conversations, &live, &turns(2)).await.is_err());
    commit(&conversations, &live, &turns(3)).await.unwrap();
    let owner = NodeOwner { session: live.key.clone(), conversation: live.id.clone() };
    for conversations in [&conversations, &Conversations::new(store)] {
        let found = conversations.get(&owner).await.unwrap().expect("it is there");
        let state = found.state.lock();
        assert_eq!((state.record.turns_done, state.ledger.entries().len()), (1, 1));
    }
}
