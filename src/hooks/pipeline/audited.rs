//! What of a hook's answer stands in the audit log. Edits of requests don't: they are written where it is known whether they
//! changed anything.
use crate::hooks::contract::{BLOCK, Event, ToolOutcome};
use crate::hooks::report::HookReport;
use crate::telemetry::audit::{Audit, Change, Line, Who};

/// By its name in [`crate::hooks::Outcome::effects`].
const EDITS: &str = "edits";

/// Writes what the hook decided; nothing where it decided nothing, or is only tried out.
pub(super) fn write(audit: &Audit, event: &Event, report: &HookReport) {
    let mut what = report.outcome.effects();
    what.retain(|effect| *effect != EDITS);
    // A failure that blocks is a decision, too.
    let fails = report.blocks();
    if fails && !what.contains(&BLOCK) {
        what.push(BLOCK);
    }
    if what.is_empty() {
        return;
    }
    let tool = &report.outcome.tool;
    audit.write(&Line {
        who: Who { tenant: &event.session.tenant, session: &event.session.id, agent: &event.session.agent },
        event: event.event,
        hook: Some(&report.hook),
        action: action(&what, tool),
        what: &what,
        tool: event.tool.as_ref().map(|tool| &*tool.name),
        request_id: None,
        change: change(audit, event, tool),
    });
}

fn action(what: &[&str], tool: &ToolOutcome) -> &'static str {
    match tool {
        _ if what.contains(&BLOCK) => "blocked",
        ToolOutcome { deny: Some(_), .. } => "denied",
        ToolOutcome { input: None, result: None, .. } => "said",
        _ => "changed",
    }
}

/// What a tool is called with, or what came of it.
fn change(audit: &Audit, event: &Event, tool: &ToolOutcome) -> Option<Change> {
    let asked = event.tool.as_ref()?;
    let of = |before: &str, after: &str| audit.change([before.as_bytes()], [after.as_bytes()]);
    match (&tool.input, &tool.result) {
        (Some(input), _) => Some(of(asked.input.get(), &input.to_string())),
        (None, Some(result)) => Some(of(asked.result.as_deref().unwrap_or_default(), result)),
        (None, None) => None,
    }
}
