//! The hooks of a config, and what happens to them on an event.
mod audited;
mod entry;
mod firing;
mod meters;
mod tally;

use self::entry::Entry;
pub use self::firing::Firing;
pub use self::tally::{Tallied, Tally};
use super::contract::Event;
use super::runner::{House, MAX_PROCESSES};
use super::{HookFailure, HookReport, HooksError, When, Witness};
use crate::bus::Bus;
use crate::config::{self, EventKind, Guard, Inspect};
use crate::inspect::{Recorder, Recording};
use crate::knowledge::Knowledge;
use crate::session::record::SessionKey;
use crate::telemetry::audit::Audit;
use futures_util::future::join_all;
use http::HeaderMap;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// The configured hooks, in order, ready to run. Shared by all requests.
#[derive(Debug)]
pub struct Pipeline {
    hooks: Vec<Arc<Entry>>,
    /// Those that listen to each event, at the event's place in [`EventKind::ALL`]: most requests ask for events that none of
    /// a thousand hooks listens to.
    listening: [Vec<Arc<Entry>>; EventKind::ALL.len()],
    house: House,
    output_limit: usize,
    text_limit: usize,
    witness: Option<Arc<Witness>>,
    guard: Option<Arc<dyn Guard>>,
    bus: Option<Arc<Bus>>,
    audit: Audit,
    recorder: Recorder,
}

/// What surrounds an event.
#[derive(Debug, Clone, Copy)]
pub struct FireContext<'a> {
    /// The client's headers, for `when`.
    pub headers: &'a HeaderMap,
    /// When all hooks must be done, whatever their own timeouts; `None` when nobody waits for them.
    pub deadline: Option<Instant>,
    /// The request that they run for; [`Recording::NONE`] at the end of a session.
    pub recording: &'a Recording,
}

impl Pipeline {
    /// Makes every hook ready.
    ///
    /// # Errors
    /// The first hook that can't work.
    pub fn new(hooks: &[config::Hook], limits: &config::Limits, knowledge: Arc<Knowledge>) -> Result<Self, HooksError> {
        let none = Self {
            hooks: Vec::new(),
            listening: Default::default(),
            house: House { processes: Arc::new(Semaphore::new(MAX_PROCESSES)), knowledge },
            output_limit: limits.hook_output,
            text_limit: limits.outcome_text,
            witness: None,
            guard: None,
            bus: None,
            audit: Audit::default(),
            recorder: Recorder::new(Inspect::NONE),
        };
        none.under(hooks, limits)
    }

    /// Another pipeline that shares with this one the places for processes, and the hooks that are in both: what runs for
    /// such a hook goes on running.
    ///
    /// # Errors
    /// As [`Pipeline::new`].
    pub fn under(&self, hooks: &[config::Hook], limits: &config::Limits) -> Result<Self, HooksError> {
        let entry = |hook: &config::Hook| match self.hooks.iter().find(|entry| entry.config == *hook) {
            Some(entry) => Ok(Arc::clone(entry)),
            None => Entry::new(hook, &self.house).map(Arc::new),
        };
        let hooks: Vec<_> = hooks.iter().map(entry).collect::<Result<_, _>>()?;
        let listens = |kind| hooks.iter().filter(|hook| hook.config.on.contains(&kind)).map(Arc::clone).collect();
        Ok(Self {
            listening: EventKind::ALL.map(listens),
            hooks,
            house: self.house.clone(),
            output_limit: limits.hook_output,
            text_limit: limits.outcome_text,
            witness: self.witness.clone(),
            guard: self.guard.clone(),
            bus: self.bus.clone(),
            audit: self.audit.clone(),
            recorder: self.recorder.clone(),
        })
    }

    /// Somebody watches what becomes of requests.
    #[must_use]
    pub fn watched(self, witness: Arc<Witness>) -> Self {
        Self { witness: Some(witness), ..self }
    }

    /// Somebody has to agree with what hooks run, each time.
    #[must_use]
    pub fn guarded(self, guard: Option<Arc<dyn Guard>>) -> Self {
        Self { guard, ..self }
    }

    /// What hooks send goes to this bus; without one nothing is sent.
    #[must_use]
    pub fn posting(self, bus: Arc<Bus>) -> Self {
        Self { bus: Some(bus), ..self }
    }

    /// What hooks decide is written there.
    #[must_use]
    pub fn recorded(self, audit: Audit) -> Self {
        Self { audit, ..self }
    }

    /// Where decisions are written.
    #[must_use]
    pub const fn audit(&self) -> &Audit {
        &self.audit
    }

    /// What hooks do is shown by this.
    #[must_use]
    pub fn recording(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }

    /// What shows what hooks do.
    #[must_use]
    pub const fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// What became of each hook since it is there, in config order.
    #[must_use]
    pub fn tallies(&self) -> Vec<Tallied> {
        self.hooks.iter().map(|hook| Tallied { hook: hook.name.clone(), events: hook.meters.tallies() }).collect()
    }

    /// Who watches.
    #[must_use]
    pub fn witness(&self) -> Option<&Witness> {
        self.witness.as_deref()
    }

    /// What was learned: hooks propose to it.
    #[must_use]
    pub fn knowledge(&self) -> &Arc<Knowledge> {
        &self.house.knowledge
    }

    /// Whether any hook listens to this event.
    #[must_use]
    pub fn has(&self, kind: EventKind) -> bool {
        self.listening(kind).next().is_some()
    }

    /// Whether [`Event::request`] must be there when this event fires: a hook includes it, or its `when` names it.
    #[must_use]
    pub fn wants_request(&self, kind: EventKind) -> bool {
        self.listening(kind).any(|hook| hook.wants_request(kind))
    }

    /// Whether a condition on one of these events names `headers`.
    #[must_use]
    pub fn reads_headers(&self, kinds: &[EventKind]) -> bool {
        let reads = |hook: &Entry| hook.when.as_ref().is_some_and(When::needs_headers);
        kinds.iter().any(|kind| self.listening(*kind).any(reads))
    }

    /// Runs every hook that listens to `kind`, all at the same time, and reports on each in config order.
    ///
    /// Each ends at its own timeout or at the deadline, whichever comes first. Dropping the future ends all of them.
    /// `event` needs no hook name: each hook gets its own.
    pub async fn fire(&self, kind: EventKind, event: &Event, context: FireContext<'_>) -> Vec<HookReport> {
        let firing = self.firing(kind, event, context);
        join_all(self.listening(kind).map(|hook| firing.report(hook))).await
    }

    /// An event for hooks of which each is fired by itself ([`Turn::fire`]). Conditions share what they see of it.
    #[must_use]
    pub fn firing<'a>(&'a self, kind: EventKind, event: &'a Event, context: FireContext<'a>) -> Firing<'a> {
        Firing::new(self, kind, event, context)
    }

    /// How many hooks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hooks.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// The hooks that listen to an event whose hooks run one after the other, each on what those before it made.
    pub fn in_order(&self, kind: EventKind) -> impl Iterator<Item = Turn<'_>> {
        self.listening(kind).map(move |hook| Turn { kind, hook })
    }

    /// Ends what hooks keep running between events.
    pub async fn close(&self) {
        join_all(self.hooks.iter().map(|hook| hook.runner.close())).await;
        self.audit.flush().await;
    }

    /// Deletes what hooks keep of a session beside the store.
    pub async fn forget(&self, session: &SessionKey) {
        join_all(self.hooks.iter().map(|hook| hook.runner.forget(session))).await;
    }

    fn listening(&self, kind: EventKind) -> impl Iterator<Item = &Entry> {
        self.listening[kind as usize].iter().map(Arc::as_ref)
    }
}

/// One hook whose turn it is.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    kind: EventKind,
    hook: &'a Entry,
}

impl Turn<'_> {
    /// Whether it may run on an event. One whose condition can't hold is counted as skipped, and nothing else is done for
    /// it: of a thousand rules a handful concern a request.
    #[must_use]
    pub fn concerns(&self, firing: &Firing<'_>) -> bool {
        firing.concerns(self.hook)
    }

    /// Whether it takes [`Event::request`].
    #[must_use]
    pub fn wants_request(&self) -> bool {
        self.hook.wants_request(self.kind)
    }

    /// Whether it takes [`Event::roster`].
    #[must_use]
    pub fn wants_roster(&self) -> bool {
        self.hook.runner.wants_roster()
    }

    /// Whether it takes [`Event::batch`].
    #[must_use]
    pub fn wants_batch(&self) -> bool {
        self.hook.runner.wants_batch()
    }

    /// Runs it on an event, and makes what it asks for with `make`, whose failure is the hook's: a hook that could not be obeyed did not
    /// run well, and must not be counted as if it had. What was made; `None` when it failed.
    pub async fn fire<T>(
        &self,
        firing: &Firing<'_>,
        make: impl FnOnce(&HookReport) -> Result<T, HookFailure>,
    ) -> (HookReport, Option<T>) {
        let mut report = firing.run_guarded(self.hook).await;
        let made = make(&report).map_err(|failure| report.fail(failure)).ok();
        firing.close(self.hook, &report).await;
        (report, made)
    }
}

#[cfg(test)]
mod tests;
