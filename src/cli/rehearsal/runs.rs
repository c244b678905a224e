//! What became of each hook, from what a witness saw.
use crate::config::{Config, EventKind, Mode};
use crate::context::Edit;
use crate::hooks::{HookReport, Outcome, Sight, Status};
use serde::Serialize;

/// One run of one hook.
#[derive(Debug, Clone, Serialize)]
pub(in crate::cli) struct HookRun {
    /// The event.
    pub(in crate::cli) event: &'static str,
    /// The hook's name.
    pub(in crate::cli) hook: String,
    /// How it ended.
    pub(in crate::cli) result: RunResult,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) reason: Option<String>,
    /// How long it took, in milliseconds.
    pub(in crate::cli) milliseconds: u128,
    /// What it did; of an audited one, what it would have done.
    pub(in crate::cli) effects: Vec<&'static str>,
    /// The operations of its edits.
    pub(in crate::cli) edits: Vec<&'static str>,
    /// The texts that it gave.
    pub(in crate::cli) context: Vec<String>,
    /// Whether its edits changed the body; absent where it made none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) changed_body: Option<bool>,
    /// What was wrong with its answer but not wrong enough to fail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::cli) warnings: Vec<String>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli) enum RunResult {
    /// It ran, and what it said counts.
    Ran,
    /// Its `when` was false.
    Skipped,
    /// It failed.
    Failed,
    /// It ran, and what it said does not count.
    Audited,
}

impl RunResult {
    /// The word in tables and cases.
    pub(in crate::cli) const fn word(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Audited => "audited",
        }
    }
}

/// The runs, event by event, in the order of the configuration: hooks of one event end in any order.
pub(in crate::cli) fn runs(config: &Config, sights: &[Sight]) -> Vec<HookRun> {
    let mut runs: Vec<HookRun> = Vec::new();
    let mut body = None;
    for sight in sights {
        match sight {
            Sight::Hook { event, report } => runs.push(run(*event, report)),
            Sight::Draft { hook, body: next } => {
                let changed = body.replace(next).is_some_and(|before| before != next);
                let is_its = |run: &&mut HookRun| hook.as_ref() == Some(&run.hook) && run.result == RunResult::Ran;
                // Edits of a prompt are made later than the hook runs.
                if let Some(run) = runs.iter_mut().rev().filter(|run| !run.edits.is_empty()).find(is_its) {
                    run.changed_body = Some(changed);
                }
            }
            Sight::Request(_) | Sight::Budget(_) | Sight::Texts(_) => {}
        }
    }
    let place = |run: &HookRun| config.hooks.iter().position(|hook| hook.name == run.hook);
    for group in runs.chunk_by_mut(|a, b| a.event == b.event) {
        group.sort_by_key(place);
    }
    runs
}

fn run(event: EventKind, report: &HookReport) -> HookRun {
    let silent = Outcome::default();
    let (result, said) = match (&report.status, report.mode) {
        (Status::SkippedByWhen, _) => (RunResult::Skipped, &silent),
        (Status::Failed(_), _) => (RunResult::Failed, &silent),
        (Status::Ran, Mode::Audit) => (RunResult::Audited, report.would.as_ref().unwrap_or(&silent)),
        (Status::Ran, Mode::Enforce) => (RunResult::Ran, &report.outcome),
    };
    let reason = match &report.status {
        Status::Failed(failure) => Some(failure.to_string()),
        Status::Ran | Status::SkippedByWhen => None,
    };
    let effects = match report.mode {
        Mode::Audit => report.would_effects(event),
        Mode::Enforce => said.effects(),
    };
    HookRun {
        event: event.name(),
        hook: report.hook.to_string(),
        result,
        reason,
        milliseconds: report.duration.as_millis(),
        effects,
        edits: said.edits.iter().map(Edit::name).collect(),
        context: said.context.clone(),
        changed_body: None,
        warnings: report.warnings.clone(),
    }
}
