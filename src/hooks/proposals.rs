//! What hooks propose, on its way to its review.
use super::HookReport;
use super::contract::Event;
use crate::knowledge::{Knowledge, Origin};
use crate::session::record::Tenant;
use std::sync::Arc;

/// Proposals of one answer; what is beyond is left out.
const MAX_PROPOSALS: usize = 32;

/// Stores what `report`'s hook proposes on `event`. What can't be stored is named in the log, and costs nothing else.
pub(super) async fn hand_on(knowledge: &Arc<Knowledge>, event: &Event, report: &HookReport) {
    let session = &event.session;
    let hook = &*report.hook;
    let beyond = report.outcome.propose.len().saturating_sub(MAX_PROPOSALS);
    if beyond > 0 {
        tracing::warn!(
            hook,
            "hook {hook:?}: {beyond} of its proposals were left out, an answer may have {MAX_PROPOSALS}"
        );
    }
    for draft in report.outcome.propose.iter().take(MAX_PROPOSALS).cloned() {
        let origin = Origin {
            session: Some(session.id.clone()).filter(|id| !id.is_empty()),
            agent: Some(session.agent.clone()),
            project: session.project.clone(),
            turn: Some(session.turn),
            hook: Some(hook.to_owned()),
        };
        // A request of nobody's session has no tenant, and what has none would be everybody's.
        if session.tenant.is_empty() {
            tracing::warn!(hook, "hook {hook:?}: a proposal was left out: the request belongs to nobody");
            continue;
        }
        match knowledge.propose(Some(Tenant(session.tenant.clone())), origin, draft).await {
            Ok((entry, true)) => {
                tracing::info!(hook, id = entry.id, title = entry.title, "hook {hook:?} proposed something")
            }
            Ok((entry, false)) => tracing::debug!(hook, id = entry.id, "hook {hook:?} proposed what is known"),
            Err(error) => tracing::warn!(hook, "hook {hook:?}: a proposal was left out: {error}"),
        }
    }
}
