//! The results of a step together: for hook scripts that know an event of the whole step (Claude Code's `PostToolBatch`).
//!
//! Once per step, when something of it is new, behind the hooks of each result. What they say stands behind the step's last
//! result, recorded and replayed with what was said of that.
use super::Turns;
use super::identify::Identity;
use super::occasion::Particulars;
use super::opening::could_not_be_made;
use super::read::Read;
use super::results::{New, has_place, takes_text};
use super::tool_step::{Brought, calls, tool};
use crate::config::EventKind;
use crate::context::Digest;
use crate::hooks::contract::ToolInfo;
use crate::hooks::{FireContext, HookReport};
use crate::session::conversation::Live;
use crate::session::ledger::What;
use futures_util::future::join_all;

/// What hooks say of a step.
#[derive(Default)]
pub(super) struct Together {
    /// The index, among the results that are new, of the one that it stands behind.
    pub(super) at: usize,
    reports: Vec<HookReport>,
}

impl Together {
    /// The texts for the model, each with its hook.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.reports.iter().flat_map(|report| report.outcome.context.iter().map(|text| (&*report.hook, &**text)))
    }

    /// A hook stops the turn, for this reason.
    pub(super) fn halted(&self) -> Option<String> {
        self.reports.iter().find_map(|report| report.outcome.block.clone())
    }

    /// A check that must be made was not: none of the results goes up.
    pub(super) fn unchecked(&self) -> Option<String> {
        self.reports.iter().find(|report| report.blocks()).map(|report| could_not_be_made(&report.hook))
    }
}

impl Turns {
    /// Runs the hooks of `step`, of which `news` was heard now, with these reports.
    pub(super) async fn fire_batch(
        &self,
        read: &Read,
        identity: &Identity,
        step: &[Brought],
        news: &[New<'_>],
        reports: &[Vec<HookReport>],
    ) -> Together {
        let kind = EventKind::ToolResult;
        let hooks: Vec<_> = self.pipeline.in_order(kind).filter(|hook| hook.wants_batch()).collect();
        if hooks.is_empty() {
            return Together::default();
        }
        let at = news.iter().rposition(|new| takes_text(read, new.brought)).unwrap_or(news.len().saturating_sub(1));
        let Some(spot) = news.get(at).map(|new| new.brought.spot) else { return Together::default() };
        let batch = told(read, identity, step, |brought| {
            match news.iter().position(|new| std::ptr::eq(new.brought, brought)) {
                Some(new) => reports[new].iter().rev().find_map(|report| report.outcome.tool.result.clone()),
                None => replaced(&identity.live, brought),
            }
        });
        let names: Vec<String> = step.iter().map(|brought| brought.event(&identity.live)).collect();
        let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let event_identity = format!("{}/step/{}", identity.live.id, Digest::of(&names));
        let request = self.neutral(read, kind);
        let particulars =
            Particulars { identity: &event_identity, request, batch: Some(batch.into()), ..Particulars::default() };
        let event = self.occasion(read, identity).event(kind, Some(&identity.record), particulars);
        let context =
            FireContext { headers: &read.asked.headers, deadline: Some(read.deadline), recording: &read.recording };
        let firing = self.pipeline.firing(kind, &event, context);
        let fired = hooks.iter().map(|hook| hook.fire(&firing, |report| has_place(read, spot, report)));
        let reports = join_all(fired).await.into_iter().map(|(report, _)| report).collect();
        Together { at, reports }
    }
}

/// The calls of a step with what the model gets for them: the results, or what hooks put in their place.
fn told(
    read: &Read,
    identity: &Identity,
    step: &[Brought],
    instead: impl Fn(&Brought) -> Option<String>,
) -> Vec<ToolInfo> {
    let all: Vec<&Brought> = step.iter().collect();
    let told = all.iter().zip(calls(read, identity, &all)).map(|(brought, call)| {
        let tool = tool(&brought.result, call);
        ToolInfo { result: instead(brought).or(tool.result), ..tool }
    });
    told.collect()
}

/// What an earlier request put in the place of a result.
fn replaced(live: &Live, brought: &Brought) -> Option<String> {
    match live.state.lock().ledger.result(&brought.spot.anchor(), brought.said)? {
        What::Result { replace, .. } => replace.clone(),
        _ => None,
    }
}
