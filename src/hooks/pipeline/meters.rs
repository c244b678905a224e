//! Counts what becomes of one hook. Each figure is looked up once, when it is first needed: a look-up by name and labels costs
//! more than a condition that does not hold, and a thousand hooks that never ran are no figures.
use super::tally::{Tallies, Tally};
use crate::config::EventKind;
use crate::hooks::report::{HookReport, Status};
use crate::telemetry::names;
use metrics::{Counter, Histogram, SharedString};
use std::sync::{Arc, OnceLock};

/// The figures of one hook, for each event that it listens to.
#[derive(Debug)]
pub(super) struct Meters(Vec<(EventKind, Figures)>);

#[derive(Debug, Default)]
struct Figures {
    ran: OnceLock<Counter>,
    skipped: OnceLock<Counter>,
    failed: OnceLock<Counter>,
    seconds: OnceLock<Histogram>,
    tallies: Tallies,
}

impl Meters {
    pub(super) fn new(kinds: &[EventKind]) -> Self {
        Self(kinds.iter().map(|kind| (*kind, Figures::default())).collect())
    }

    /// Counts a hook whose condition does not hold.
    pub(super) fn skip(&self, kind: EventKind, hook: &Arc<str>) {
        if let Some(figures) = self.runs(kind, &Status::SkippedByWhen, hook) {
            figures.tallies.skip();
        }
    }

    /// Counts a run, and what an audited hook would have done.
    pub(super) fn count(&self, kind: EventKind, report: &HookReport, would: &[&'static str]) {
        let Some(figures) = self.runs(kind, &report.status, &report.hook) else { return };
        if report.status != Status::SkippedByWhen {
            let seconds = figures
                .seconds
                .get_or_init(|| metrics::histogram!(names::HOOK_SECONDS, &labels(kind, &report.hook)[..]));
            seconds.record(report.duration);
        }
        figures.tallies.count(report, would);
        for effect in would {
            let [hook, event] = labels(kind, &report.hook);
            let labels = [hook, event, ("effect", SharedString::const_str(effect))];
            metrics::counter!(names::HOOK_AUDITS, &labels[..]).increment(1);
        }
    }

    /// What became of it, by event.
    pub(super) fn tallies(&self) -> Vec<(EventKind, Tally)> {
        self.0.iter().map(|(kind, figures)| (*kind, figures.tallies.now())).collect()
    }

    fn runs(&self, kind: EventKind, status: &Status, hook: &Arc<str>) -> Option<&Figures> {
        let (_, figures) = self.0.iter().find(|(listened, _)| *listened == kind)?;
        let cell = match status {
            Status::Ran => &figures.ran,
            Status::SkippedByWhen => &figures.skipped,
            Status::Failed(_) => &figures.failed,
        };
        let counter = cell.get_or_init(|| {
            let [hook, event] = labels(kind, hook);
            metrics::counter!(names::HOOK_RUNS, &[hook, event, ("result", status.name().into())][..])
        });
        counter.increment(1);
        Some(figures)
    }
}

fn labels(kind: EventKind, hook: &Arc<str>) -> [(&'static str, SharedString); 2] {
    [("hook", hook.clone().into()), ("event", SharedString::const_str(kind.name()))]
}
