//! One event on its way through the hooks that listen to it.
use super::entry::Entry;
use super::{FireContext, Pipeline, audited};
use crate::config::{EventKind, Mode};
use crate::hooks::contract::Event;
use crate::hooks::report::{HookReport, Status};
use crate::hooks::runner::{Invocation, Output};
use crate::hooks::variables::Variables;
use crate::hooks::{HookFailure, Outcome, Parsed, Sight, proposals, recorded, sending};
use crate::inspect::{Clip, News, Recording};
use crate::session::record::{SessionKey, Tenant};
use crate::telemetry::audit::Who;
use futures_util::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::Instrument;

/// How long a hook may take that says nothing (config/hookgate.yaml, `timeout`).
pub(super) const fn default_timeout(kind: EventKind) -> Duration {
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

/// One event on its way through the pipeline.
#[derive(Debug)]
pub struct Firing<'a> {
    pipeline: &'a Pipeline,
    kind: EventKind,
    event: &'a Event,
    deadline: Option<Instant>,
    recording: &'a Recording,
    variables: Variables<'a>,
}

impl<'a> Firing<'a> {
    pub(super) fn new(pipeline: &'a Pipeline, kind: EventKind, event: &'a Event, context: FireContext<'a>) -> Self {
        let variables = Variables::new(kind, event, context.headers);
        Self { pipeline, kind, event, deadline: context.deadline, recording: context.recording, variables }
    }
}

impl Firing<'_> {
    pub(super) async fn report(&self, hook: &Entry) -> HookReport {
        let report = self.run_guarded(hook).await;
        self.close(hook, &report).await;
        report
    }

    /// Whether the condition may hold. One that can't is counted; a witness has it reported.
    pub(super) fn concerns(&self, hook: &Entry) -> bool {
        if self.may_run(hook) || self.pipeline.witness().is_some() {
            return true;
        }
        hook.meters.skip(self.kind, &hook.name);
        false
    }

    fn may_run(&self, hook: &Entry) -> bool {
        hook.when.as_ref().is_none_or(|when| when.may_hold(self.event))
    }

    /// Not recorded yet.
    pub(super) async fn run_guarded(&self, hook: &Entry) -> HookReport {
        if !self.may_run(hook) {
            return hook_report(hook, Ok(None), Duration::ZERO);
        }
        let started = Instant::now();
        // A panic in here is a defect, but it must stay inside this hook.
        let result = AssertUnwindSafe(self.bounded(hook, started)).catch_unwind().await;
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
        self.agreed(hook).await?;
        let call = Invocation {
            kind: self.kind,
            event: self.event,
            hook: &hook.name,
            include_request: hook.config.include_request,
            output_limit: self.pipeline.output_limit,
            time,
        };
        let span = tracing::info_span!("hook", hook = &*hook.name, event = self.kind.name());
        let text_limit = self.pipeline.text_limit;
        match hook.runner.run(&call).instrument(span).await? {
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

    /// Whether the pipeline's guard agrees, which reads what the hook would run.
    async fn agreed(&self, hook: &Entry) -> Result<(), HookFailure> {
        let Some(guard) = self.pipeline.guard.clone() else { return Ok(()) };
        let config = hook.config.clone();
        let asked = tokio::task::spawn_blocking(move || guard.lets_run(&config)).await;
        asked.map_err(|defect| HookFailure::Panicked(defect.to_string()))?.map_err(HookFailure::Refused)
    }

    /// What follows a run, however it ended: it is counted and logged, and what the hook proposes and sends is handed on.
    pub(super) async fn close(&self, hook: &Entry, report: &HookReport) {
        self.record(hook, report);
        if self.pipeline.audit.is_on() {
            audited::write(&self.pipeline.audit, self.event, report);
        }
        if !report.outcome.propose.is_empty() {
            proposals::hand_on(self.pipeline.knowledge(), self.event, report).await;
            self.pipeline.recorder.tell(None, || News::Proposal { id: None });
        }
        if let Some(bus) = self.pipeline.bus.as_deref().filter(|_| !report.outcome.send.is_empty()) {
            sending::hand_on(bus, self.event, report).await;
        }
    }

    fn trace(&self, report: &HookReport) {
        let result = match &report.status {
            Status::Ran => Ok(()),
            Status::Failed(failure) => Err(failure.to_string()),
            Status::SkippedByWhen => return,
        };
        let session = &self.event.session;
        let who = Who { tenant: &session.tenant, session: &session.id, agent: &session.agent };
        self.event.trace.hook(&report.hook, self.kind.name(), who, result, report.duration);
    }

    /// Counts the run, and logs once what an operator has to know. The words stand in the message too, so that a plain
    /// search of the log for the hook's name finds what became of it.
    fn record(&self, hook: &Entry, report: &HookReport) {
        let (name, event) = (&*report.hook, self.kind.name());
        let would = report.would_effects(self.kind);
        hook.meters.count(self.kind, report, &would);
        self.trace(report);
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
        if !would.is_empty() {
            let effects = would.join(", ");
            tracing::info!(hook = name, event, effects, "hook {name:?} is audited: nothing applied");
        }
        self.show(report, &would);
        if let Some(witness) = self.pipeline.witness() {
            witness.see(Sight::Hook { event: self.kind, report: Box::new(report.clone()) });
        }
    }
}

impl Firing<'_> {
    /// Shows the run to people: with its request, or as what happened to a session.
    fn show(&self, report: &HookReport, would: &[&'static str]) {
        let run = |room: &mut Clip| recorded::run(self.kind, report, would, room);
        if self.recording.is_some() {
            return self.recording.hook(run);
        }
        let recorder = &self.pipeline.recorder;
        let Some(run) = recorder.is_watched().then(|| run(&mut Clip::default())).flatten() else { return };
        let session = &self.event.session;
        let tenant = Tenant(session.tenant.clone());
        let key = SessionKey { tenant, id: session.id.clone(), agent: session.agent.clone() };
        recorder.tell(Some(&key), || News::Hook { request: None, run: run.bare() });
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
