//! What became of one hook on one event.
use super::contract::BLOCK;
use super::{HookFailure, Outcome};
use crate::config::{EventKind, Mode, OnError};
use std::sync::Arc;
use std::time::Duration;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It ran; its outcome counts unless it is audited.
    Ran,
    /// Its `when` was false, or nothing of it is there for this event: it did not run.
    SkippedByWhen,
    /// It failed; its outcome is empty.
    Failed(HookFailure),
}

impl Status {
    /// The label in metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ran => "ok",
            Self::SkippedByWhen => "skipped",
            Self::Failed(_) => "failed",
        }
    }
}

/// One hook, one event.
#[derive(Debug, Clone)]
pub struct HookReport {
    /// The hook's name.
    pub hook: Arc<str>,
    /// The persistent slot that it owns.
    pub slot: Arc<str>,
    /// How it ended.
    pub status: Status,
    /// From the start of `when` to the end.
    pub duration: Duration,
    /// What counts; empty unless the hook ran in enforce mode.
    pub outcome: Outcome,
    /// What it would have done; only in audit mode.
    pub would: Option<Outcome>,
    /// What was wrong with its answer but not wrong enough to fail.
    pub warnings: Vec<String>,
    /// What a failure does.
    pub on_error: OnError,
    /// Whether its answer counts.
    pub mode: Mode,
}

impl HookReport {
    /// Whether its failure blocks the prompt: it failed, says `on_error: block` and is not merely audited.
    #[must_use]
    pub fn blocks(&self) -> bool {
        self.must_hold() && self.mode == Mode::Enforce
    }

    /// What an audited hook would have done on `event`, by the names of [`Outcome::effects`]: a failure may have blocked.
    #[must_use]
    pub fn would_effects(&self, event: EventKind) -> Vec<&'static str> {
        let can_block = matches!(event, EventKind::SessionStart | EventKind::PromptSubmit | EventKind::ModelContext);
        match &self.would {
            Some(would) => would.effects(),
            None if can_block && self.must_hold() && self.mode == Mode::Audit => vec![BLOCK],
            None => Vec::new(),
        }
    }

    /// It failed after all: what it asked for can't be done.
    pub(super) fn fail(&mut self, failure: HookFailure) {
        self.status = Status::Failed(failure);
        self.outcome = Outcome::default();
    }

    /// It failed, and its failure is no leave to go on.
    fn must_hold(&self) -> bool {
        matches!(self.status, Status::Failed(_)) && self.on_error == OnError::Block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_audited_hook_would_have_done_is_named() {
        let report = |status, mode, would| HookReport {
            hook: "a".into(),
            slot: "a".into(),
            status,
            duration: Duration::ZERO,
            outcome: Outcome::default(),
            would,
            warnings: Vec::new(),
            on_error: OnError::Block,
            mode,
        };
        let words = Outcome { context: vec!["x".into()], veto: true, ..Outcome::default() };
        let failed = || Status::Failed(HookFailure::Exit(1));
        let prompt = EventKind::PromptSubmit;
        for (event, report, expected) in [
            (prompt, report(Status::Ran, Mode::Audit, Some(words)), vec!["context", "veto"]),
            (prompt, report(Status::Ran, Mode::Audit, Some(Outcome::default())), vec![]),
            (prompt, report(failed(), Mode::Audit, None), vec!["block"]),
            (prompt, report(failed(), Mode::Enforce, None), vec![]),
            (EventKind::SessionStop, report(failed(), Mode::Audit, None), vec![]),
            (prompt, report(Status::SkippedByWhen, Mode::Audit, None), vec![]),
        ] {
            assert_eq!(report.would_effects(event), expected, "{report:?}");
        }
    }
}
