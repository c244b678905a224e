use super::*;
use crate::session::record::Tenant;
use crate::session::store::MemoryStore;

fn key() -> SessionKey {
    SessionKey { tenant: Tenant("t".into()), id: "s".into(), agent: "main".into() }
}

fn node(name: &str) -> Digest {
    Digest::of(&[name.as_bytes()])
}

fn nodes(names: &[&str]) -> Change {
    Change { nodes: names.iter().map(|name| node(name)).collect(), ..Change::default() }
}

async fn places(store: &MemoryStore) -> usize {
    store.scan(&under(&key(), "k/", ""), None, PAGE).await.unwrap().len()
}

#[tokio::test]
async fn a_node_that_is_known_takes_no_second_place() {
    let store = Arc::new(MemoryStore::new());
    let conversations = Conversations::new(store.clone());
    let live = conversations.create(&key(), ConversationLayout::Stable, Shape::default());
    for _retry in 0..3 {
        conversations.commit(&live, nodes(&["request", "answer"])).await.unwrap();
    }
    assert_eq!(places(&store).await, 2);
}

#[tokio::test]
async fn announced_nodes_are_known_at_once_and_written_with_the_next_commit() {
    let store = Arc::new(MemoryStore::new());
    let conversations = Conversations::new(store.clone());
    let live = conversations.create(&key(), ConversationLayout::Stable, Shape::default());
    assert!(!conversations.announce(&live, vec![node("request")]));
    assert!(conversations.has(&live, &[node("request")]));
    assert_eq!(places(&store).await, 0);
    conversations.commit(&live, nodes(&["answer"])).await.unwrap();
    let restarted = Conversations::new(store);
    assert!(restarted.stored_node(node("request")).await.unwrap().is_some());
    assert!(restarted.stored_node(node("answer")).await.unwrap().is_some());
}

#[tokio::test]
async fn announced_nodes_never_pile_up() {
    let conversations = Conversations::new(Arc::new(MemoryStore::new()));
    let live = conversations.create(&key(), ConversationLayout::Stable, Shape::default());
    let due = (0..UNWRITTEN).map(|n| conversations.announce(&live, vec![node(&n.to_string())])).filter(|due| *due);
    assert_eq!(due.count(), 1);
}
