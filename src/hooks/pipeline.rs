//! The hooks of a config, and what happens to them on an event.
use super::contract::Event;
use super::report::{HookReport, Status};
use super::runner::{self, House, Invocation, MAX_PROCESSES, Output, Runner};
use super::variables::Variables;
use super::{HookFailure, HooksError, Outcome, Parsed, Sight, When, Witness, proposals};
use crate::config::{self, EventKind, Mode};
use crate::knowledge::Knowledge;
use crate::session::record::SessionKey;
use crate::telemetry::names;
use futures_util::FutureExt;
use futures_util::future::join_all;
use http::HeaderMap;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::Instrument;

/// How long a hook may take that says nothing (CONTRACT section 2, `timeout`).
const fn default_timeout(kind: EventKind) -> Duration {
    match kind {
        EventKind::PromptSubmit => Duration::from_secs(15),
        // What decides whether work is done runs builds and tests.
        EventKind::SessionStopping => Duration::from_secs(120),
        EventKind::SessionStart
        | EventKind::ModelContext
        | EventKind::ToolResult
        | EventKind::ToolCall
        | EventKind::SessionStop
        | EventKind::SessionFail
        | EventKind::SessionEnd => Duration::from_secs(5),
    }
}

/// The configured hooks, in order, ready to run. Shared by all requests.
#[derive(Debug)]
pub struct Pipeline {
    hooks: Vec<Arc<Entry>>,
    house: House,
    output_limit: usize,
    text_limit: usize,
    witness: Option<Arc<Witness>>,
}

/// What surrounds an event.
#[derive(Debug, Clone, Copy)]
pub struct FireContext<'a> {
    /// The client's headers, for `when`.
    pub headers: &'a HeaderMap,
    /// When all hooks must be done, whatever their own timeouts; `None` when nobody waits for them.
    pub deadline: Option<Instant>,
}

impl Pipeline {
    /// Makes every hook ready.
    ///
    /// # Errors
    /// The first hook that can't work.
    pub fn new(hooks: &[config::Hook], limits: &config::Limits, knowledge: Arc<Knowledge>) -> Result<Self, HooksError> {
        let none = Self {
            hooks: Vec::new(),
            house: House { processes: Arc::new(Semaphore::new(MAX_PROCESSES)), knowledge },
            output_limit: limits.hook_output,
            text_limit: limits.outcome_text,
            witness: None,
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
        Ok(Self {
            hooks: hooks.iter().map(entry).collect::<Result<_, _>>()?,
            house: self.house.clone(),
            output_limit: limits.hook_output,
            text_limit: limits.outcome_text,
            witness: self.witness.clone(),
        })
    }

    /// Somebody watches what becomes of requests.
    #[must_use]
    pub fn watched(self, witness: Arc<Witness>) -> Self {
        Self { witness: Some(witness), ..self }
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
        let variables = Variables::new(kind, event, context.headers);
        Firing { pipeline: self, kind, event, deadline: context.deadline, variables }
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
    }

    /// Deletes what hooks keep of a session beside the store.
    pub async fn forget(&self, session: &SessionKey) {
        join_all(self.hooks.iter().map(|hook| hook.runner.forget(session))).await;
    }

    fn listening(&self, kind: EventKind) -> impl Iterator<Item = &Entry> {
        self.hooks.iter().map(Arc::as_ref).filter(move |hook| hook.config.on.contains(&kind))
    }
}

/// One hook whose turn it is.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    kind: EventKind,
    hook: &'a Entry,
}

impl Turn<'_> {
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
        firing.record(&report);
        firing.propose(&report).await;
        (report, made)
    }
}

/// One hook.
#[derive(Debug)]
struct Entry {
    config: config::Hook,
    name: Arc<str>,
    slot: Arc<str>,
    runner: Box<dyn Runner>,
    when: Option<When>,
}

impl Entry {
    fn wants_request(&self, kind: EventKind) -> bool {
        self.config.include_request
            || self.runner.wants_request(kind)
            || self.when.as_ref().is_some_and(When::needs_request)
    }

    fn new(hook: &config::Hook, house: &House) -> Result<Self, HooksError> {
        let when = hook.when.as_deref().map(When::compile).transpose();
        Ok(Self {
            name: hook.name.as_str().into(),
            slot: hook.slot.as_str().into(),
            runner: runner::of(hook, house)?,
            when: when.map_err(|source| HooksError::When { hook: hook.name.clone(), source })?,
            config: hook.clone(),
        })
    }
}

/// One event on its way through the pipeline.
#[derive(Debug)]
pub struct Firing<'a> {
    pipeline: &'a Pipeline,
    kind: EventKind,
    event: &'a Event,
    deadline: Option<Instant>,
    variables: Variables<'a>,
}

impl Firing<'_> {
    async fn report(&self, hook: &Entry) -> HookReport {
        let report = self.run_guarded(hook).await;
        self.record(&report);
        self.propose(&report).await;
        report
    }

    /// Not recorded yet.
    async fn run_guarded(&self, hook: &Entry) -> HookReport {
        let span = tracing::info_span!("hook", hook = &*hook.name, event = self.kind.name());
        let started = Instant::now();
        // A panic in here is a defect, but it must stay inside this hook.
        let result = AssertUnwindSafe(self.bounded(hook, started)).catch_unwind().instrument(span).await;
        let result = result.unwrap_or_else(|panic| Err(HookFailure::Panicked(panic_text(&*panic))));
        hook_report(hook, result, started.elapsed())
    }

    /// The parsed answer within the time that there is; `None` when `when` is false.
    async fn bounded(&self, hook: &Entry, started: Instant) -> Result<Option<Parsed>, HookFailure> {
        let usual = || hook.runner.timeout(self.kind).unwrap_or(default_timeout(self.kind));
        let timeout = hook.config.timeout.unwrap_or_else(usual);
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(started));
        let (time, failure) = match left {
            Some(left) if left < timeout => (left, HookFailure::Deadline(left)),
            _ => (timeout, HookFailure::TimedOut(timeout)),
        };
        tokio::time::timeout(time, self.run(hook, time)).await.unwrap_or(Err(failure))
    }

    async fn run(&self, hook: &Entry, time: Duration) -> Result<Option<Parsed>, HookFailure> {
        if let Some(when) = &hook.when
            && !when.holds(&self.variables).await?
        {
            return Ok(None);
        }
        if time.is_zero() && hook.runner.acts() {
            return Err(HookFailure::Deadline(time));
        }
        let call = Invocation {
            kind: self.kind,
            event: self.event,
            hook: &hook.name,
            include_request: hook.config.include_request,
            output_limit: self.pipeline.output_limit,
            time,
        };
        let text_limit = self.pipeline.text_limit;
        match hook.runner.run(&call).await? {
            Output::Edits(edits) => {
                let outcome = Outcome { edits, ..Outcome::default() };
                Ok(Some(Parsed { outcome, ..Parsed::default() }))
            }
            Output::Text(text) => Ok(Some(Outcome::plain(self.kind, &text, text_limit))),
            Output::Outcome(parsed) => Ok(Some(*parsed)),
            Output::Nothing => Ok(None),
            Output::Written(bytes) => Outcome::parse(self.kind, &bytes, text_limit).map(Some),
        }
    }

    /// Hands on what a hook proposes.
    async fn propose(&self, report: &HookReport) {
        if !report.outcome.propose.is_empty() {
            proposals::hand_on(self.pipeline.knowledge(), self.event, report).await;
        }
    }

    /// Counts the run, and logs once what an operator has to know. The words stand in the message too, so that a plain
    /// search of the log for the hook's name finds what became of it.
    fn record(&self, report: &HookReport) {
        let (name, event) = (&*report.hook, self.kind.name());
        let labels = [("hook", report.hook.clone().into()), ("event", metrics::SharedString::const_str(event))];
        let result = report.status.name();
        let [hook_label, event_label] = labels.clone();
        metrics::counter!(names::HOOK_RUNS, &[hook_label, event_label, ("result", result.into())][..]).increment(1);
        if report.status != Status::SkippedByWhen {
            metrics::histogram!(names::HOOK_SECONDS, &labels[..]).record(report.duration);
        }
        match &report.status {
            // Why it ended was logged once, when it did.
            Status::Failed(failure @ HookFailure::WorkerDown) => {
                tracing::debug!(hook = name, event, "hook {name:?} failed: {failure}");
            }
            Status::Failed(failure) => tracing::warn!(hook = name, event, "hook {name:?} failed: {failure}"),
            Status::SkippedByWhen => tracing::debug!(hook = name, event, "hook {name:?} skipped: not for this event"),
            Status::Ran => tracing::debug!(hook = name, event, took = ?report.duration, "hook {name:?} ran"),
        }
        for warning in &report.warnings {
            tracing::warn!(hook = name, event, "hook {name:?}: {warning}");
        }
        let would = report.would_effects(self.kind);
        if !would.is_empty() {
            let effects = would.join(", ");
            tracing::info!(hook = name, event, effects, "hook {name:?} is audited: nothing applied");
        }
        for effect in would {
            let [hook_label, event_label] = labels.clone();
            let labels = [hook_label, event_label, ("effect", metrics::SharedString::const_str(effect))];
            metrics::counter!(names::HOOK_AUDITS, &labels[..]).increment(1);
        }
        if let Some(witness) = self.pipeline.witness() {
            witness.see(Sight::Hook { event: self.kind, report: Box::new(report.clone()) });
        }
    }
}

fn hook_report(hook: &Entry, result: Result<Option<Parsed>, HookFailure>, duration: Duration) -> HookReport {
    let (status, parsed) = match result {
        Ok(Some(parsed)) => (Status::Ran, parsed),
        Ok(None) => (Status::SkippedByWhen, Parsed::default()),
        Err(failure) => (Status::Failed(failure), Parsed::default()),
    };
    let (outcome, would) = match hook.config.mode {
        Mode::Enforce => (parsed.outcome, None),
        Mode::Audit => (Outcome::default(), (status == Status::Ran).then_some(parsed.outcome)),
    };
    HookReport {
        hook: Arc::clone(&hook.name),
        slot: Arc::clone(&hook.slot),
        status,
        duration,
        outcome,
        would,
        warnings: parsed.warnings,
        on_error: hook.config.on_error,
        mode: hook.config.mode,
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests;
