//! Writes down what becomes of one request while it goes on.
use super::bodies::{Kept, MAX_BODY};
use super::news::News;
use super::recorder::Recorder;
use super::request::{Budget, Cache, Continuation, Request, Standing, State};
use super::run::HookRun;
use super::table::Entry;
use super::texts::{Clip, MAX_WORDS, clip};
use crate::context::placement::TextKind;
use crate::context::{Answer, Usage};
use crate::json::Rope;
use parking_lot::Mutex;
use std::sync::Arc;

/// Runs of hooks that are kept of one request. A request of many tool results can have hundreds.
const MAX_RUNS: usize = 200;
/// Tools called, messages and legs that are kept of one request.
const MAX_LISTED: usize = 100;

/// Writes down what becomes of one request. When the last clone is gone, so is the request.
#[derive(Debug, Clone, Default)]
pub struct Recording(Option<Arc<Open>>);

#[derive(Debug)]
struct Open {
    recorder: Recorder,
    entry: Arc<Entry>,
    /// The request before, for texts that stand in both.
    before: Mutex<Option<Arc<Entry>>>,
    room: Mutex<Clip>,
}

impl Recording {
    /// Of a request that nobody wants to see.
    pub const NONE: Self = Self(None);

    pub(super) fn new(recorder: Recorder, entry: Arc<Entry>, before: Option<Arc<Entry>>) -> Self {
        let open = Open { recorder, entry, before: Mutex::new(before), room: Mutex::default() };
        open.tell();
        Self(Some(Arc::new(open)))
    }

    /// Whether anything is written down.
    #[must_use]
    pub const fn is_some(&self) -> bool {
        self.0.is_some()
    }

    fn note(&self, write: impl FnOnce(&Open, &mut Request)) {
        if let Some(open) = &self.0 {
            write(open, &mut open.entry.request.lock());
        }
    }

    /// A hook has run for it.
    pub fn hook(&self, run: impl FnOnce(&mut Clip) -> Option<HookRun>) {
        let Some(open) = &self.0 else { return };
        let Some(run) = run(&mut open.room.lock()) else { return };
        let mut request = open.entry.request.lock();
        open.recorder.tell(Some(&open.entry.key), || News::Hook { request: Some(&request.id), run: run.bare() });
        if request.hooks.len() < MAX_RUNS {
            request.hooks.push(run);
        }
    }

    /// Room was given to new texts, at one of the times when it is in a request.
    pub fn budget(&self, budget: impl FnOnce() -> Budget) {
        self.note(|_, request| {
            let Budget { used, limit, cut, left_out } = budget();
            let all = request.budget.get_or_insert(Budget { used: 0, limit, cut: Vec::new(), left_out: Vec::new() });
            all.used += used;
            all.cut.extend(cut);
            all.left_out.extend(left_out);
        });
    }

    /// A text stands in it. `origin`: whose it is and how long it counts, where the request before did not have it.
    pub fn stands(
        &self,
        place: &'static str,
        item: Option<usize>,
        text: &str,
        origin: impl FnOnce() -> (String, TextKind),
    ) {
        self.note(|open, request| {
            request.standing += 1;
            request.standing_chars += text.chars().count();
            let mut standing = open.known(text).unwrap_or_else(|| {
                let (source, kind) = origin();
                let kind = match kind {
                    TextKind::Persistent => "persistent",
                    TextKind::Ephemeral => "ephemeral",
                };
                Standing { source: source.into(), kind, place, item, is_new: true, text: open.clip(text).into() }
            });
            if request.texts.len() < MAX_LISTED {
                (standing.place, standing.item) = (place, item);
                request.texts.push(standing);
            }
        });
    }

    /// How much of the request before is a prefix of it.
    pub fn cache(&self, cache: impl FnOnce() -> Cache) {
        self.note(|_, request| request.cache = Some(cache()));
    }

    /// It goes up: `before` as it came, `after` where that is another body.
    pub fn goes_up(&self, turn: u64, before: &[u8], after: Option<&Rope>) {
        let Some(open) = &self.0 else { return };
        let sent = after.map_or(before.len(), Rope::len);
        {
            let mut request = open.entry.request.lock();
            request.turn = turn;
            request.sent = Some(sent);
            request.prepared_us = Some(open.elapsed());
        }
        if open.recorder.keeps_bodies() && before.len() <= MAX_BODY && sent <= MAX_BODY {
            let before: Arc<[u8]> = before.into();
            let after = after.map_or_else(|| before.clone(), |rope| rope.to_bytes()[..].into());
            *open.entry.bodies.lock() = Some(Kept { before, after });
            open.recorder.weigh(&open.entry);
        }
        // Nothing of the request before is needed any more.
        open.before.lock().take();
        open.tell();
    }

    /// The upstream answers.
    pub fn answered(&self, status: u16) {
        self.note(|open, request| {
            request.status = Some(status);
            request.answered_us = Some(open.elapsed());
            request.state = State::Answering;
        });
        if let Some(open) = &self.0 {
            open.tell();
        }
    }

    /// Messages of the session bus were delivered with it.
    pub fn delivered(&self, ids: &[String]) {
        self.note(|_, request| {
            let left = MAX_LISTED.saturating_sub(request.messages.len());
            request.messages.extend(ids.iter().take(left).cloned());
        });
    }

    /// The model is sent back to work: by a hook, a message, or because its calls were refused.
    pub fn goes_on(&self, by: &'static str, text: Option<&str>) {
        self.note(|open, request| {
            if request.continuations.len() < MAX_LISTED {
                request.continuations.push(Continuation { by, text: text.map(|text| open.clip(text)) });
            }
        });
        if let Some(open) = &self.0 {
            open.tell();
        }
    }

    /// The answer is whole. `usage`: of all its legs.
    pub fn completed(&self, outcome: &'static str, answer: &Answer, usage: Usage) {
        self.note(|_, request| {
            request.outcome = Some(outcome);
            request.finish = Some(answer.finish);
            let calls = answer.calls.iter().take(MAX_LISTED);
            request.calls = calls.map(|call| clip(&call.name, MAX_WORDS).into_string()).collect();
            request.usage = Some(usage.into());
            let bytes = request.received;
            if let Some(cache) = &mut request.cache {
                cache.estimate(answer.usage.input, answer.usage.cached_input, bytes);
            }
        });
    }

    /// It came to nothing.
    pub fn failed(&self, reason: &str, error: Option<&str>) {
        self.note(|_, request| {
            request.outcome = Some("failed");
            request.reason = Some(reason.to_owned());
            request.error = error.map(|error| clip(error, MAX_WORDS));
        });
    }

    /// The gateway answers itself.
    pub fn replied(&self) {
        self.note(|_, request| request.outcome = Some("replied"));
        self.over();
    }

    /// Nothing more comes of it but what hooks do afterwards.
    pub fn over(&self) {
        if let Some(open) = &self.0 {
            open.over();
        }
    }
}

impl Open {
    fn elapsed(&self) -> u64 {
        u64::try_from(self.entry.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn clip(&self, text: &str) -> Box<str> {
        self.room.lock().take(text)
    }

    /// A text that the request before has, too.
    fn known(&self, text: &str) -> Option<Standing> {
        let before = self.before.lock();
        let before = before.as_ref()?.request.lock();
        let known = before.texts.iter().find(|standing| *standing.text == *text)?;
        Some(Standing { is_new: false, ..known.clone() })
    }

    fn over(&self) {
        {
            let mut request = self.entry.request.lock();
            if request.state == State::Done {
                return;
            }
            request.state = State::Done;
            request.took_us = Some(self.elapsed());
            let otherwise = if request.sent.is_some() { "unfollowed" } else { "refused" };
            request.outcome.get_or_insert(otherwise);
            self.recorder.count_breaks(&request);
        }
        self.tell();
    }

    fn tell(&self) {
        self.recorder.tell(Some(&self.entry.key), || News::Request(Box::new(self.entry.request.lock().summary())));
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.over();
        self.recorder.weigh(&self.entry);
    }
}
