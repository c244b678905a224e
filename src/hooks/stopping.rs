//! What the hooks of `session.stopping` decide together.
use super::HookReport;

/// Whether the turn ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It ends.
    Stop,
    /// The model is told this and goes on.
    Continue(String),
}

impl Verdict {
    /// From the reports of one event, in config order. A veto wins, wherever it stands; the messages of several hooks are
    /// joined by a blank line. A hook that failed or is audited has no outcome, so it neither continues nor vetoes,
    /// whatever its `on_error` says: on any doubt the turn ends.
    #[must_use]
    pub fn of(reports: &[HookReport]) -> Self {
        if reports.iter().any(|report| report.outcome.veto) {
            return Self::Stop;
        }
        let messages: Vec<&str> = reports.iter().filter_map(|r| r.outcome.continue_with.as_deref()).collect();
        if messages.is_empty() { Self::Stop } else { Self::Continue(messages.join("\n\n")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Mode, OnError};
    use crate::hooks::{HookFailure, Outcome, Status};
    use std::time::Duration;

    fn report(status: Status, outcome: Outcome) -> HookReport {
        HookReport {
            hook: "hook".into(),
            slot: "hook".into(),
            status,
            duration: Duration::ZERO,
            outcome,
            would: None,
            warnings: Vec::new(),
            on_error: OnError::Block,
            mode: Mode::Enforce,
        }
    }

    fn says(message: &str) -> HookReport {
        report(Status::Ran, Outcome { continue_with: Some(message.into()), ..Outcome::default() })
    }

    fn vetoes() -> HookReport {
        report(Status::Ran, Outcome { veto: true, ..Outcome::default() })
    }

    fn silent() -> HookReport {
        report(Status::Ran, Outcome::default())
    }

    fn failed() -> HookReport {
        report(Status::Failed(HookFailure::Exit(1)), Outcome::default())
    }

    fn skipped() -> HookReport {
        report(Status::SkippedByWhen, Outcome::default())
    }

    #[test]
    fn any_veto_wins_and_messages_are_joined_in_config_order() {
        let goes_on = |message: &str| Verdict::Continue(message.to_owned());
        let both = report(Status::Ran, Outcome { continue_with: Some("a".into()), veto: true, ..Outcome::default() });
        for (reports, expected) in [
            (vec![], Verdict::Stop),
            (vec![silent()], Verdict::Stop),
            (vec![says("a")], goes_on("a")),
            (vec![says("b"), silent(), says("a")], goes_on("b\n\na")),
            (vec![vetoes()], Verdict::Stop),
            (vec![vetoes(), says("a")], Verdict::Stop),
            (vec![says("a"), vetoes()], Verdict::Stop),
            (vec![both], Verdict::Stop),
            (vec![failed()], Verdict::Stop),
            (vec![failed(), says("a"), skipped()], goes_on("a")),
        ] {
            assert_eq!(Verdict::of(&reports), expected, "{reports:?}");
        }
    }
}
