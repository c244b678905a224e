//! What hooks send to other sessions, on its way to the bus.
use super::HookReport;
use super::contract::{Event, Sending};
use crate::bus::{Bus, Origin};
use crate::context::Digest;
use crate::session::record::{MAIN, SessionKey, Tenant};

/// Messages of one answer; what is beyond is left out.
const MAX_MESSAGES: usize = 16;

/// Sends what `report`'s hook says on `event`, to sessions of the same tenant and no other. What is not taken in is named in
/// the log, and costs nothing else.
pub(super) async fn hand_on(bus: &Bus, event: &Event, report: &HookReport) {
    let hook = &*report.hook;
    let session = &event.session;
    // A request of nobody's session has no tenant to send within.
    if session.tenant.is_empty() {
        tracing::warn!(hook, "hook {hook:?}: its messages were left out: the request belongs to nobody");
        return;
    }
    let beyond = report.outcome.send.len().saturating_sub(MAX_MESSAGES);
    if beyond > 0 {
        tracing::warn!(
            hook,
            "hook {hook:?}: {beyond} of its messages were left out, an answer may have {MAX_MESSAGES}"
        );
    }
    let tenant = Tenant(session.tenant.clone());
    let agent = SessionKey { tenant: tenant.clone(), id: session.id.clone(), agent: session.agent.clone() };
    let origin = Origin::Hook { agent, hook: hook.to_owned() };
    for (index, Sending { session: to, agent, message }) in report.outcome.send.iter().take(MAX_MESSAGES).enumerate() {
        let to = to.as_deref().unwrap_or(&session.id);
        let mut message = message.clone();
        // A hook that runs once more after a crash says the same.
        let own = || Digest::of(&[event.event_id.as_bytes(), hook.as_bytes(), &index.to_le_bytes()]);
        message.id = message.id.or_else(|| Some(format!("h_{}", own())));
        match bus.send_within(&tenant, to, agent.as_deref().unwrap_or(MAIN), message, &origin).await {
            Ok(receipts) => {
                for (to, receipt) in receipts {
                    match receipt {
                        Ok(_) => tracing::info!(hook, %to, "hook {hook:?} sent a message"),
                        Err(error) => tracing::warn!(hook, %to, "hook {hook:?}: a message was not taken in: {error}"),
                    }
                }
            }
            Err(error) => tracing::warn!(hook, to, "hook {hook:?}: a message was not taken in: {error}"),
        }
    }
}
