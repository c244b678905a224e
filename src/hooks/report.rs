//! What became of one hook on one event.
use super::{HookFailure, Outcome};
use crate::config::{Mode, OnError};
use std::sync::Arc;
use std::time::Duration;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It ran; its outcome counts unless it is audited.
    Ran,
    /// Its `when` was false: it did not run.
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
        matches!(self.status, Status::Failed(_)) && self.on_error == OnError::Block && self.mode == Mode::Enforce
    }

    /// It failed after all: what it asked for can't be done.
    pub(super) fn fail(&mut self, failure: HookFailure) {
        self.status = Status::Failed(failure);
        self.outcome = Outcome::default();
    }
}
