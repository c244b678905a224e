use super::*;
use crate::bus::delivery::Taking;
use crate::bus::message::Kind;
use crate::bus::throttle::MAX_HOPS;
use crate::bus::{Carrying, State};
use crate::session::store::MemoryStore;
use futures_util::future::join_all;
use std::collections::BTreeSet;

fn tenant() -> Tenant {
    Tenant("t".into())
}

fn key(agent: &str) -> SessionKey {
    SessionKey { tenant: tenant(), id: "s".into(), agent: agent.into() }
}

async fn on(store: &Arc<MemoryStore>) -> Arc<Bus> {
    Arc::new(Bus::open(Arc::new(Records::new(store.clone()))).await.unwrap())
}

fn hook(agent: &str) -> Origin {
    Origin::Hook { agent: key(agent), hook: "h".into() }
}

async fn send(bus: &Bus, to: &str, id: &str, origin: &Origin) -> Result<Receipt, BusError> {
    let written = Written { text: id.into(), id: Some(id.into()), ..Written::default() };
    bus.send(&tenant(), "s", to, written, origin).await.unwrap().remove(0).1
}

fn taking(conversation: &str) -> Taking<'_> {
    Taking { conversation, turn_id: "turn", standing: &[], has_room: true, urgent: false, only_new: false }
}

async fn take(bus: &Arc<Bus>, agent: &str, conversation: &str) -> Option<Carrying> {
    let mailbox = bus.mailbox(&key(agent))?;
    bus.take(&mailbox, taking(conversation)).await.unwrap().map(|(carrying, _)| carrying)
}

/// Everything that waits is delivered.
async fn read_all(bus: &Arc<Bus>, agent: &str) {
    while let Some(carrying) = take(bus, agent, "c").await {
        bus.deliver(carrying, 1).await.unwrap();
    }
}

#[tokio::test]
async fn what_waits_is_known_after_a_restart() {
    let store = Arc::new(MemoryStore::new());
    let bus = on(&store).await;
    assert!(!bus.is_used());
    send(&bus, "main", "a", &Origin::Api).await.unwrap();
    bus.set_label(&key("main"), Some("boss".into())).await.unwrap();
    let restarted = on(&store).await;
    assert!(restarted.mailbox(&key("main")).unwrap().has_waiting());
    assert_eq!(restarted.label(&key("main")).as_deref(), Some("boss"));
    assert!(restarted.has_addressed("s", "main") && !restarted.has_addressed("s", "other"));
}

#[tokio::test]
async fn a_label_alone_makes_no_session_read() {
    let bus = on(&Arc::default()).await;
    bus.set_label(&key("main"), Some("boss".into())).await.unwrap();
    assert!(!bus.is_used());
    send(&bus, "boss", "a", &Origin::Api).await.unwrap();
    assert_eq!(bus.list(&key("main")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn of_many_senders_and_requests_each_message_goes_with_one_request() {
    let bus = on(&Arc::default()).await;
    let senders = (0..40).map(|n| {
        let bus = bus.clone();
        // Every message is sent twice.
        tokio::spawn(async move { send(&bus, "main", &format!("m{}", n / 2), &Origin::Api).await.unwrap() })
    });
    let requests = (0..40).map(|n| {
        let bus = bus.clone();
        tokio::spawn(async move {
            let carrying = take(&bus, "main", &format!("c{n}")).await;
            tokio::task::yield_now().await;
            let ids = carrying.as_ref().map(|carrying| carrying.ids().to_vec()).unwrap_or_default();
            if let Some(carrying) = carrying {
                bus.deliver(carrying, 1).await.unwrap();
            }
            ids
        })
    });
    let (sent, taken) = tokio::join!(join_all(senders), join_all(requests));
    assert_eq!(sent.into_iter().filter(|receipt| receipt.as_ref().unwrap().is_new).count(), 20);
    let mut taken: Vec<String> = taken.into_iter().flat_map(Result::unwrap).collect();
    while let Some(carrying) = take(&bus, "main", "last").await {
        taken.extend(carrying.ids().to_vec());
        bus.deliver(carrying, 1).await.unwrap();
    }
    assert_eq!(taken.len(), 20);
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>().len(), 20);
}

#[tokio::test]
async fn agents_that_only_write_to_each_other_are_stopped_until_a_person_speaks() {
    let bus = on(&Arc::default()).await;
    let pair = ["a", "b"];
    let mut sent = 0;
    let refused = loop {
        let (from, to) = (pair[sent % 2], pair[(sent + 1) % 2]);
        match send(&bus, to, &sent.to_string(), &hook(from)).await {
            Ok(_) => read_all(&bus, to).await,
            Err(refused) => break refused,
        }
        sent += 1;
    };
    assert_eq!(sent, MAX_HOPS as usize);
    assert_eq!(
        refused.to_string(),
        "t/s/a and t/s/b have written to each other 12 times without a prompt of a person between"
    );
    assert!(matches!(bus.list(&key("b")).await.unwrap().last().unwrap().state, State::Refused { .. }));
    bus.mailbox(&key("a")).unwrap().hear_person();
    send(&bus, "b", "again", &hook("a")).await.unwrap();
    // Names that are only said count as the agents of that name.
    send(&bus, "a", "a person", &Origin::Api).await.unwrap();
}

#[tokio::test]
async fn a_name_that_is_only_said_counts_as_the_agent_of_that_name() {
    let bus = on(&Arc::default()).await;
    let pair = ["a", "b"];
    for sent in 0..=MAX_HOPS as usize {
        let (from, to) = (pair[sent % 2], pair[(sent + 1) % 2]);
        let written = Written { text: "x".into(), from: Some(from.into()), ..Written::default() };
        let receipt = bus.send(&tenant(), "s", to, written, &Origin::File).await.unwrap().remove(0).1;
        // The first sender has no mailbox yet, and so is nobody.
        assert!(receipt.is_ok(), "{sent}");
        read_all(&bus, to).await;
    }
    let written = Written { text: "x".into(), from: Some("b".into()), ..Written::default() };
    let receipt = bus.send(&tenant(), "s", "a", written, &Origin::File).await.unwrap().remove(0).1;
    assert!(matches!(receipt, Err(BusError::Refused(Refusal::Throttled { .. }))), "{receipt:?}");
}

#[tokio::test]
async fn what_is_forgotten_is_gone() {
    let store = Arc::new(MemoryStore::new());
    let bus = on(&store).await;
    send(&bus, "main", "a", &Origin::Api).await.unwrap();
    bus.forget(&key("main")).await.unwrap();
    assert!(bus.mailbox(&key("main")).is_none());
    assert_eq!(on(&store).await.list(&key("main")).await.unwrap(), []);
}

#[tokio::test]
async fn a_mailbox_of_messages_that_nobody_took_is_forgotten_and_one_that_waits_is_not() {
    let store = Arc::new(MemoryStore::new());
    let bus = on(&store).await;
    let written = Written { text: "x".into(), ttl: Some("1ms".into()), ..Written::default() };
    bus.send(&tenant(), "s", "gone", written, &Origin::Api).await.unwrap();
    send(&bus, "main", "a", &Origin::Api).await.unwrap();
    bus.set_label(&key("named"), Some("qa".into())).await.unwrap();
    let swept = async {
        while bus.mailbox(&key("gone")).is_some() {
            bus.sweep(std::time::Duration::ZERO).await;
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), swept).await.expect("it is forgotten");
    assert!(bus.mailbox(&key("main")).unwrap().has_waiting());
    assert_eq!(bus.label(&key("named")).as_deref(), Some("qa"));
    assert_eq!(on(&store).await.mailboxes.len(), 2);
}

#[tokio::test]
async fn what_is_sent_while_a_mailbox_is_forgotten_is_delivered() {
    let bus = on(&Arc::default()).await;
    send(&bus, "main", "old", &Origin::Api).await.unwrap();
    let mailbox = bus.mailbox(&key("main")).unwrap();
    let busy = mailbox.writing.lock().await;
    let forgetting = async { bus.forget(&key("main")).await.unwrap() };
    let sending = async { send(&bus, "main", "new", &Origin::Api).await.unwrap() };
    // Both wait, in this order.
    tokio::join!(forgetting, sending, async { drop(busy) });
    assert_eq!(take(&bus, "main", "c").await.expect("a message").ids(), ["new"]);
}

#[tokio::test]
async fn a_halt_that_waits_ends_any_turn_and_one_that_was_said_its_own() {
    let bus = on(&Arc::default()).await;
    let written = Written { text: "stop".into(), kind: Kind::Halt, ..Written::default() };
    bus.send(&tenant(), "s", "main", written, &Origin::Api).await.unwrap();
    let mailbox = bus.mailbox(&key("main")).unwrap();
    assert!(mailbox.halts("turn") && mailbox.halts("other"));
    read_all(&bus, "main").await;
    assert!(mailbox.halts("turn") && !mailbox.halts("other"));
}

/// Ten thousand sessions with a message each, on disk: `cargo test --release -- --ignored numbers --nocapture`.
#[tokio::test]
#[ignore = "a measurement"]
async fn numbers() {
    const SESSIONS: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(crate::session::store::SledStore::open(folder.path()).await.unwrap());
    let bus = Arc::new(Bus::open(Arc::new(Records::new(store))).await.unwrap());
    let send = async |session: String| {
        let begun = std::time::Instant::now();
        let written = Written { text: "x".repeat(500), ..Written::default() };
        bus.send(&tenant(), &session, "main", written, &Origin::Api).await.unwrap();
        begun.elapsed()
    };
    for chunk in (0..SESSIONS).collect::<Vec<_>>().chunks(64) {
        join_all(chunk.iter().map(|n| send(format!("s{n}")))).await;
    }
    let mut took = Vec::new();
    for n in 0..1000 {
        took.push(send(format!("s{}", n * 7)).await);
        // As many as a busy fleet sends.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    took.sort();
    let key = SessionKey { tenant: tenant(), id: "nobody".into(), agent: "main".into() };
    let begun = std::time::Instant::now();
    for _ in 0..100_000 {
        assert!(std::hint::black_box(bus.mailbox(std::hint::black_box(&key))).is_none());
    }
    let each = begun.elapsed() / 100_000;
    panic!("enqueue p50 {:?} p99 {:?}; the check of a request {each:?}", took[500], took[990]);
}
