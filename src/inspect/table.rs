//! The last requests of each session: bounded per session, and in all.
use super::bodies;
use super::request::Request;
use crate::session::record::SessionKey;
use foldhash::HashMap;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What all requests may take together, in bytes: as much as one request body of the default `limits.request_body`. Some
/// 30,000 requests without bodies, 50 sessions of 20 requests with bodies of 30 KB. Beyond it the oldest go.
pub(super) const MAX_WEIGHT: usize = 64 * 1024 * 1024;

/// One request.
#[derive(Debug)]
pub(super) struct Entry {
    /// Counts all requests.
    pub(super) number: u64,
    pub(super) key: Arc<SessionKey>,
    pub(super) started: Instant,
    pub(super) request: Mutex<Request>,
    pub(super) bodies: Mutex<Option<bodies::Kept>>,
    /// What it counts in the table.
    weight: AtomicUsize,
}

impl Entry {
    pub(super) fn new(number: u64, key: Arc<SessionKey>, request: Request) -> Self {
        let (request, bodies) = (Mutex::new(request), Mutex::default());
        Self { number, key, started: Instant::now(), request, bodies, weight: AtomicUsize::new(0) }
    }

    fn weigh(&self) -> usize {
        let bodies = self.bodies.lock().as_ref().map_or(0, |kept| kept.before.len() + kept.after.len());
        size_of::<Self>() + self.request.lock().weight() + bodies
    }
}

/// The last requests.
#[derive(Debug, Default)]
pub(super) struct Table {
    rings: HashMap<Arc<SessionKey>, VecDeque<Arc<Entry>>>,
    /// Whose each request is, oldest first.
    ages: BTreeMap<u64, Arc<SessionKey>>,
    weight: usize,
}

impl Table {
    /// Takes a request in, at most `limit` of its session. The one before it, if there is one.
    pub(super) fn push(&mut self, entry: Arc<Entry>, limit: usize) -> Option<Arc<Entry>> {
        let key = entry.key.clone();
        self.ages.insert(entry.number, key.clone());
        let ring = self.rings.entry(key.clone()).or_default();
        let before = ring.back().cloned();
        ring.push_back(entry.clone());
        while self.rings.get(&key).is_some_and(|ring| ring.len() > limit) {
            self.pop(&key);
        }
        self.weigh(&entry);
        before
    }

    /// A request has bodies now, or is as large as it will be. One that has gone keeps no bodies, though it may still be
    /// under way.
    pub(super) fn weigh(&mut self, entry: &Entry) {
        if !self.ages.contains_key(&entry.number) {
            entry.bodies.lock().take();
            return;
        }
        let now = entry.weigh();
        self.weight = self.weight + now - entry.weight.swap(now, Ordering::Relaxed);
        while self.weight > MAX_WEIGHT
            && let Some(key) = self.ages.values().next().cloned()
        {
            self.pop(&key);
        }
    }

    /// The oldest of a session goes. Requests of a session are as old as their place says.
    fn pop(&mut self, key: &Arc<SessionKey>) {
        let Some(ring) = self.rings.get_mut(key) else { return };
        if let Some(oldest) = ring.pop_front() {
            self.ages.remove(&oldest.number);
            self.weight -= oldest.weight.load(Ordering::Relaxed);
            // Whoever writes it down may hold it for as long as its answer takes.
            oldest.bodies.lock().take();
        }
        if ring.is_empty() {
            self.rings.remove(key);
        }
    }

    /// The requests of a session, oldest first.
    pub(super) fn of(&self, key: &SessionKey) -> Vec<Arc<Entry>> {
        self.rings.get(key).map(|ring| ring.iter().cloned().collect()).unwrap_or_default()
    }

    /// Nothing of a session is kept any more.
    pub(super) fn forget(&mut self, key: &SessionKey) {
        let Some((key, _)) = self.rings.get_key_value(key) else { return };
        let key = key.clone();
        while self.rings.contains_key(&key) {
            self.pop(&key);
        }
    }

    /// At most `limit` requests of each session are kept, and bodies only if they are wanted.
    pub(super) fn fit(&mut self, limit: usize, bodies: bool) {
        let keys: Vec<_> = self.rings.keys().cloned().collect();
        for key in keys {
            while self.rings.get(&key).is_some_and(|ring| ring.len() > limit) {
                self.pop(&key);
            }
        }
        if !bodies {
            let all: Vec<_> = self.rings.values().flatten().cloned().collect();
            for entry in all {
                if entry.bodies.lock().take().is_some() {
                    self.weigh(&entry);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{key, request};
    use super::*;

    fn entry(number: u64, session: &str, body: usize) -> Arc<Entry> {
        let entry = Entry::new(number, Arc::new(key(session)), request(&number.to_string()));
        let body: Arc<[u8]> = vec![0; body].into();
        *entry.bodies.lock() = Some(bodies::Kept { before: body.clone(), after: body });
        Arc::new(entry)
    }

    fn numbers(table: &Table, session: &str) -> Vec<u64> {
        table.of(&key(session)).iter().map(|entry| entry.number).collect()
    }

    #[test]
    fn a_session_keeps_its_last_requests() {
        let mut table = Table::default();
        for number in 0..5 {
            table.push(entry(number, "a", 0), 3);
            table.push(entry(100 + number, "b", 0), 3);
        }
        assert_eq!((numbers(&table, "a"), numbers(&table, "b")), (vec![2, 3, 4], vec![102, 103, 104]));
        assert_eq!(table.ages.len(), 6);
    }

    #[test]
    fn beyond_the_room_for_all_the_oldest_of_any_session_go() {
        let mut table = Table::default();
        let tenth = MAX_WEIGHT / 20;
        for number in 0..30 {
            table.push(entry(number, if number % 2 == 0 { "a" } else { "b" }, tenth), 100);
            assert!(table.weight <= MAX_WEIGHT);
        }
        let (a, b) = (numbers(&table, "a"), numbers(&table, "b"));
        assert_eq!((a.last(), b.last()), (Some(&28), Some(&29)));
        assert!(a.len() + b.len() == 9 && a.len().abs_diff(b.len()) <= 1, "{a:?} {b:?}");
    }

    #[test]
    fn what_is_let_go_weighs_nothing() {
        let mut table = Table::default();
        for number in 0..9 {
            table.push(entry(number, ["a", "b", "c"][number as usize % 3], 1000), 10);
        }
        table.forget(&key("a"));
        assert_eq!(numbers(&table, "a"), [] as [u64; 0]);
        table.fit(1, false);
        assert_eq!((numbers(&table, "b"), numbers(&table, "c")), (vec![7], vec![8]));
        assert!(table.of(&key("b"))[0].bodies.lock().is_none());
        table.fit(0, false);
        assert_eq!((table.weight, table.rings.len(), table.ages.len()), (0, 0, 0));
    }

    #[test]
    fn a_request_that_is_gone_weighs_nothing_and_keeps_no_bodies() {
        let mut table = Table::default();
        let old = entry(0, "a", 1000);
        table.push(old.clone(), 1);
        table.push(entry(1, "a", 0), 1);
        let weight = table.weight;
        assert!(old.bodies.lock().is_none(), "it takes no room though it may be under way");
        *old.bodies.lock() = entry(2, "a", 1000).bodies.lock().take();
        table.weigh(&old);
        assert_eq!(table.weight, weight);
        assert!(old.bodies.lock().is_none());
    }
}
