use super::*;
use crate::session::record::tests::{at, key, opening};
use crate::session::store::{Change, MemoryStore, Pair};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all, ready};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A store that can be switched off, and counts its writes.
#[derive(Default)]
struct Flaky {
    inner: MemoryStore,
    down: AtomicBool,
    writes: AtomicUsize,
}

impl Flaky {
    fn answer<'a, T: Send + 'a>(
        &self,
        ok: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        if self.down.load(Ordering::SeqCst) { ready(Err(StoreError::Io("disk full".into()))).boxed() } else { ok }
    }
    fn is_up(&self) -> bool {
        !self.down.load(Ordering::SeqCst)
    }
}

impl Store for Flaky {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        self.answer(self.inner.get(key))
    }
    fn compare_and_set<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        if !self.is_up() {
            return ready(Err(StoreError::Io("disk full".into()))).boxed();
        }
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.inner.compare_and_set(key, expected, new)
    }
    fn write(&self, batch: Vec<Change>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.answer(self.inner.write(batch))
    }
    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<Vec<u8>>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>> {
        self.answer(self.inner.scan(prefix, after, limit))
    }
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.answer(self.inner.flush())
    }
}

fn flaky() -> (Arc<Flaky>, Records) {
    let store = Arc::new(Flaky::default());
    (store.clone(), Records::new(store))
}

fn turn(record: &mut SessionRecord) -> bool {
    record.turns += 1;
    true
}

#[tokio::test]
async fn of_many_openings_one_creates() {
    let (_, records) = flaky();
    let key = key("s");
    let opened = join_all((0..32).map(|_| records.open(&key, opening(1)))).await;
    assert_eq!(opened.into_iter().filter(|o| o.as_ref().unwrap().1).count(), 1);
}

#[tokio::test]
async fn of_two_processes_that_open_one_creates() {
    let (store, one) = flaky();
    let two = Records::new(store);
    let key = key("s");
    // Both know that it is absent before either writes.
    assert_eq!(one.get(&key).await, Ok(None));
    assert_eq!(two.get(&key).await, Ok(None));
    assert!(one.open(&key, opening(1)).await.unwrap().1);
    assert!(!two.open(&key, opening(1)).await.unwrap().1);
}

#[tokio::test]
async fn no_update_is_lost_between_tasks_and_processes() {
    let (store, one) = flaky();
    let two = Records::new(store);
    let key = key("s");
    one.open(&key, opening(1)).await.unwrap();
    join_all((0..50).map(|n| if n % 2 == 0 { &one } else { &two }).map(|r| r.update(&key, turn))).await;
    assert_eq!(two.update(&key, turn).await.unwrap().turns, 51);
}

#[tokio::test]
async fn nothing_is_written_when_nothing_changed() {
    let (store, records) = flaky();
    let key = key("s");
    records.open(&key, opening(1)).await.unwrap();
    let before = store.writes.load(Ordering::SeqCst);
    records.open(&key, opening(2)).await.unwrap();
    records.update(&key, |_| false).await.unwrap();
    records.touch(&key, at(9));
    assert_eq!(store.writes.load(Ordering::SeqCst), before);
}

#[tokio::test]
async fn an_unknown_session_is_not_made_by_an_update() {
    let (_, records) = flaky();
    assert_eq!(records.update(&key("s"), turn).await, Err(SessionError::Unknown(key("s"))));
}

#[tokio::test]
async fn when_the_store_fails_memory_serves_and_is_written_later() {
    let (store, records) = flaky();
    let (known, new) = (key("known"), key("new"));
    records.open(&known, opening(1)).await.unwrap();
    store.down.store(true, Ordering::SeqCst);
    assert_eq!(records.update(&known, turn).await.unwrap().turns, 1);
    assert!(records.open(&new, opening(2)).await.unwrap().1);
    assert!(!records.open(&new, opening(2)).await.unwrap().1, "opened once");
    assert_eq!(records.update(&new, turn).await.unwrap().turns, 1);
    records.flush().await;
    store.down.store(false, Ordering::SeqCst);
    records.flush().await;
    let restarted = Records::new(store);
    for key in [known, new] {
        assert_eq!(restarted.get(&key).await.unwrap().unwrap().turns, 1, "{key}");
    }
}

#[tokio::test]
async fn what_the_store_holds_wins_over_a_session_opened_blindly() {
    let (store, records) = flaky();
    let key = key("s");
    records.open(&key, opening(1)).await.unwrap();
    records.update(&key, turn).await.unwrap();
    store.down.store(true, Ordering::SeqCst);
    let blind = Records::new(store.clone());
    assert!(matches!(blind.get(&key).await, Err(SessionError::Store(_))));
    assert!(blind.open(&key, opening(2)).await.unwrap().1);
    store.down.store(false, Ordering::SeqCst);
    assert_eq!(blind.update(&key, turn).await.unwrap().turns, 2);
}

#[tokio::test]
async fn a_newer_record_is_named_and_left_alone() {
    let (store, records) = flaky();
    let newer = Bytes::from_static(br#"{"v":9}"#);
    store.write(vec![(keys::record(&key("s")), Some(newer.clone()))]).await.unwrap();
    let error = records.open(&key("s"), opening(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "session t_1/s/main: the record has version 9, this hookgate reads up to 1");
    assert_eq!(store.get(&keys::record(&key("s"))).await, Ok(Some(newer)));
}

#[tokio::test]
async fn the_last_request_survives_after_a_flush() {
    let (store, records) = flaky();
    records.open(&key("s"), opening(1)).await.unwrap();
    records.touch(&key("s"), at(500));
    records.touch(&key("s"), at(400));
    records.flush().await;
    assert_eq!(Records::new(store).get(&key("s")).await.unwrap().unwrap().last_active, at(500));
}

#[tokio::test]
async fn the_last_request_is_known_before_it_is_written() {
    let (_, records) = flaky();
    records.open(&key("s"), opening(1)).await.unwrap();
    records.touch(&key("s"), at(500));
    assert_eq!(records.latest(&key("s")).await.unwrap().unwrap().last_active, at(500));
    assert_eq!(records.list(None, 9).await.unwrap().items[0].last_active, at(500));
    assert_eq!(records.latest(&key("gone")).await, Ok(None));
}

#[tokio::test]
async fn idle_sessions_end_and_ended_ones_expire() {
    const IDLE: Duration = Duration::from_secs(100);
    const RETAIN: Duration = Duration::from_secs(1000);
    let (_, records) = flaky();
    for id in ["idle", "busy", "ended", "expired"] {
        records.open(&key(id), opening(0)).await.unwrap();
    }
    records.touch(&key("busy"), at(1950));
    let end = |second| move |r: &mut SessionRecord| r.ended_at.replace(at(second)).is_none();
    records.update(&key("ended"), end(1500)).await.unwrap();
    records.update(&key("expired"), end(1000)).await.unwrap();
    let due = records.due(at(2000), IDLE, RETAIN).await.unwrap();
    assert_eq!(due, Due { idle: vec![key("idle")], expired: vec![key("expired")] });
}

#[tokio::test]
async fn deleting_takes_everything_of_the_session_and_nothing_else() {
    let (store, records) = flaky();
    let (gone, kept) = (key("s1"), key("s10"));
    for key in [&gone, &kept] {
        records.open(key, opening(1)).await.unwrap();
        let data = (0..300u32).map(|n| ([keys::data(key), n.to_be_bytes().to_vec()].concat(), Some(Bytes::new())));
        store.write(data.collect()).await.unwrap();
    }
    records.delete(&gone).await.unwrap();
    assert_eq!(records.get(&gone).await, Ok(None));
    assert_eq!(store.scan(&keys::data(&gone), None, 1).await, Ok(vec![]));
    assert_eq!(store.scan(&keys::data(&kept), None, 999).await.unwrap().len(), 300);
    assert!(records.open(&gone, opening(2)).await.unwrap().1, "it may begin anew");
}

#[tokio::test]
async fn sessions_are_found_by_id_and_listed_in_pages() {
    let (_, records) = flaky();
    let agent = |name: &str| SessionKey { agent: name.into(), ..key("b") };
    let all = [key("a"), agent("main"), agent("qa"), key("bb"), key("c")];
    for key in &all {
        records.open(key, opening(1)).await.unwrap();
    }
    assert_eq!(records.find("b").await.unwrap(), [agent("main"), agent("qa")]);
    assert_eq!(records.find("x").await.unwrap(), []);
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = records.list(cursor.as_deref(), 2).await.unwrap();
        seen.extend(page.items.iter().map(|r| r.key.clone()));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, all);
    assert!(matches!(records.list(Some("zz"), 2).await, Err(SessionError::Cursor)));
}

#[tokio::test]
async fn a_pending_stop_is_taken_once() {
    let (_, records) = flaky();
    records.put_pending(&key("s"), "e1", Bytes::from_static(b"{}")).await.unwrap();
    let at = keys::pending(&key("s"), "e1");
    assert_eq!(
        records.pending(None).await.unwrap().orphans,
        [Pending { at: at.clone(), payload: Bytes::from_static(b"{}") }]
    );
    let taken = join_all((0..8).map(|_| records.take_pending(&at))).await;
    assert_eq!(taken.into_iter().filter(|t| t.as_ref().unwrap().is_some()).count(), 1);
    assert_eq!(records.pending(None).await.unwrap().orphans, []);
}
