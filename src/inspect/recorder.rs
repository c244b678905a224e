//! Keeps the last requests, and tells who watches what happens.
use super::bodies::Bodies;
use super::breaks::{Break, Breaks};
use super::news::{Happened, News};
use super::opening::Opening;
use super::recording::Recording;
use super::request::Request;
use super::table::{Entry, Table};
use crate::config::Inspect;
use crate::session::record::SessionKey;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::broadcast;

/// Things that wait for a reader, of some KB at most each. A reader that is further behind is dropped: it asks for what there
/// is then, and begins anew.
const MAX_BEHIND: usize = 1024;

/// Keeps the last requests, as far as the configuration wants them. Clones share what they keep.
#[derive(Debug, Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
    settings: Inspect,
}

#[derive(Debug)]
struct Shared {
    table: Mutex<Table>,
    next: AtomicU64,
    breaks: Mutex<Breaks>,
    stream: broadcast::Sender<Happened>,
    watchers: AtomicUsize,
}

impl Recorder {
    /// With nothing in it.
    #[must_use]
    pub fn new(settings: Inspect) -> Self {
        let shared = Shared {
            table: Mutex::default(),
            next: AtomicU64::new(0),
            breaks: Mutex::default(),
            stream: broadcast::Sender::new(MAX_BEHIND),
            watchers: AtomicUsize::new(0),
        };
        Self { shared: Arc::new(shared), settings }
    }

    /// The same under another configuration.
    #[must_use]
    pub fn under(&self, settings: Inspect) -> Self {
        Self { shared: self.shared.clone(), settings }
    }

    /// Lets go of what this configuration does not want kept.
    pub fn fit(&self) {
        self.shared.table.lock().fit(self.settings.requests_per_session, self.settings.bodies);
    }

    /// A request begins.
    pub fn begin(&self, opening: Opening<'_>) -> Recording {
        if self.settings.requests_per_session == 0 {
            return Recording::NONE;
        }
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let entry = Arc::new(Entry::new(number, opening.key.clone(), opening.request()));
        let before = self.shared.table.lock().push(entry.clone(), self.settings.requests_per_session);
        Recording::new(self.clone(), entry, before)
    }

    pub(super) const fn keeps_bodies(&self) -> bool {
        self.settings.bodies
    }

    /// A request has grown: the table is to know.
    pub(super) fn weigh(&self, entry: &Entry) {
        self.shared.table.lock().weigh(entry);
    }

    pub(super) fn count_breaks(&self, request: &Request) {
        if let Some(cache) = request.cache.as_ref().filter(|cache| !cache.broken_by.is_empty()) {
            self.shared.breaks.lock().count(cache);
        }
    }

    /// The requests of a session without their texts, newest first.
    #[must_use]
    pub fn requests(&self, key: &SessionKey) -> Vec<Request> {
        // Read where no request waits for the table.
        let entries = self.shared.table.lock().of(key);
        entries.iter().rev().map(|entry| entry.request.lock().summary()).collect()
    }

    /// One request with its texts, and its bodies where they are kept. Comparing these takes a while.
    #[must_use]
    pub fn request(&self, key: &SessionKey, id: &str) -> Option<(Request, Option<Bodies>)> {
        let entries = self.shared.table.lock().of(key);
        let entry = entries.iter().rev().find(|entry| entry.request.lock().id == id)?;
        let request = entry.request.lock().clone();
        // One that went up under another configuration may have some.
        let kept = entry.bodies.lock().clone().filter(|_| self.settings.bodies);
        Some((request, kept.map(|kept| kept.compared())))
    }

    /// What a hook cost of providers' caches.
    #[must_use]
    pub fn breaks(&self, hook: &str) -> Break {
        self.shared.breaks.lock().of(hook)
    }

    /// Forgets a session.
    pub fn forget(&self, key: &SessionKey) {
        self.shared.table.lock().forget(key);
        self.tell(Some(key), || News::Session { state: "deleted" });
    }

    /// Tells who watches. Nothing is made where nobody does.
    pub fn tell<'a>(&self, whose: Option<&SessionKey>, news: impl FnOnce() -> News<'a>) {
        if self.is_watched() {
            // Who has left meanwhile needs not be told.
            let _ = self.shared.stream.send(Happened::new(whose, &news()));
        }
    }

    /// Whether anybody watches.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.shared.watchers.load(Ordering::Relaxed) > 0
    }

    /// Watches from now on.
    #[must_use]
    pub fn watch(&self) -> Watching {
        self.shared.watchers.fetch_add(1, Ordering::Relaxed);
        Watching { happened: self.shared.stream.subscribe(), shared: self.shared.clone() }
    }
}

/// Somebody watches.
#[derive(Debug)]
pub struct Watching {
    happened: broadcast::Receiver<Happened>,
    shared: Arc<Shared>,
}

impl Watching {
    /// What happens next; `None` when the reader is too slow and has missed something.
    pub async fn next(&mut self) -> Option<Happened> {
        self.happened.recv().await.ok()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.shared.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bodies::MAX_BODY;
    use super::super::table::MAX_WEIGHT;
    use super::super::testing::key;
    use super::*;

    fn recorder(requests_per_session: usize) -> Recorder {
        Recorder::new(Inspect { requests_per_session, bodies: false })
    }

    #[tokio::test]
    async fn nothing_is_made_for_nobody_and_everybody_hears_the_same() {
        let recorder = recorder(1);
        recorder.tell(None, || panic!("nobody watches"));
        let (mut one, mut other) = (recorder.watch(), recorder.watch());
        recorder.tell(Some(&key("s")), || News::Context { slot: "notes" });
        for watching in [&mut one, &mut other] {
            let happened = watching.next().await.unwrap();
            assert_eq!(happened.name, "context");
            assert_eq!(&*happened.data, r#"{"tenant":"t","session":"s","agent":"main","slot":"notes"}"#);
        }
        drop((one, other));
        recorder.tell(None, || panic!("nobody watches any more"));
    }

    fn begun(recorder: &Recorder, id: &str) -> Recording {
        recorder.begin(Opening {
            id: id.into(),
            key: &Arc::new(key("s")),
            kind: "turn",
            step: "prompt",
            client: "generic",
            model: "m",
            resolved: "m",
            dialect: "anthropic",
            upstream: "u",
            items: 1,
            received: 0,
        })
    }

    #[test]
    fn bodies_of_requests_under_way_count() {
        let recorder = Recorder::new(Inspect { requests_per_session: 100, bodies: true });
        let body = vec![0; MAX_BODY];
        let fitting = MAX_WEIGHT / (2 * MAX_BODY);
        let open: Vec<_> = (0..=fitting).map(|number| begun(&recorder, &number.to_string())).collect();
        open.iter().for_each(|recording| recording.goes_up(1, &body, None));
        let has = |number: usize| recorder.request(&key("s"), &number.to_string()).is_some();
        assert!(!has(0) && has(fitting), "{} requests", recorder.requests(&key("s")).len());
    }

    #[test]
    fn bodies_are_hidden_from_the_moment_that_nobody_wants_them() {
        let recorder = Recorder::new(Inspect { requests_per_session: 1, bodies: true });
        let recording = begun(&recorder, "1");
        let without = recorder.under(Inspect { requests_per_session: 1, bodies: false });
        without.fit();
        recording.goes_up(1, b"{}", None);
        assert!(without.request(&key("s"), "1").unwrap().1.is_none());
    }

    #[tokio::test]
    async fn a_reader_that_is_too_slow_is_dropped() {
        let recorder = recorder(1);
        let mut slow = recorder.watch();
        for _ in 0..=MAX_BEHIND {
            recorder.tell(None, || News::Proposal { id: None });
        }
        assert!(slow.next().await.is_none());
    }
}
