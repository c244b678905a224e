//! How a turn's request ended.
use crate::context::answer::Ending;
use crate::context::{Answer, Finish};

/// How a turn's request ended, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The turn was completed.
    Completed,
    /// The model waits for tool results, or the server for the same request again.
    Step,
    /// The turn failed.
    Failed,
}

impl Outcome {
    /// By its answer.
    pub(super) fn of(answer: &Answer) -> Self {
        match (answer.ending, answer.finish) {
            (Ending::Complete, Finish::Stop) => Self::Completed,
            (Ending::Complete, Finish::ToolCalls | Finish::Pause) => Self::Step,
            _ => Self::Failed,
        }
    }

    /// Its word in metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Step => "step",
            Self::Failed => "failed",
        }
    }
}

/// `reason` of `session.fail`.
pub(super) fn failure(answer: &Answer) -> &'static str {
    match (answer.ending, answer.finish) {
        (Ending::Cut, _) => "cut",
        (_, Finish::Length) => "length",
        (_, Finish::Refusal) => "refusal",
        _ => "upstream_error",
    }
}
