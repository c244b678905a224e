//! A hook's run as it is shown to people.
use super::report::{HookReport, Status};
use super::{HookFailure, Outcome};
use crate::config::{EventKind, Mode};
use crate::context::Edit;
use crate::inspect::{Clip, HookRun, Made, Said, Written};
use std::sync::Arc;

/// What is shown of a run; `None` where the hook did not run.
pub(super) fn run(event: EventKind, report: &HookReport, would: &[&'static str], room: &mut Clip) -> Option<HookRun> {
    let failure: Option<&HookFailure> = match &report.status {
        Status::SkippedByWhen => return None,
        Status::Ran => None,
        Status::Failed(failure) => Some(failure),
    };
    let outcome = report.would.as_ref().unwrap_or(&report.outcome);
    let audit = report.mode == Mode::Audit;
    Some(HookRun {
        event: event.name(),
        hook: report.hook.clone(),
        result: report.status.name(),
        failure: failure.map(|failure| room.take(&failure.to_string())),
        took_us: u64::try_from(report.duration.as_micros()).unwrap_or(u64::MAX),
        audit,
        effects: if audit { would.to_vec() } else { outcome.effects() },
        context_chars: outcome.context.iter().map(|text| text.chars().count()).sum(),
        edits: made(&outcome.edits, room),
        said: said(outcome, room),
    })
}

fn said(outcome: &Outcome, room: &mut Clip) -> Vec<Said> {
    let others = [
        ("block", &outcome.block),
        ("respond", &outcome.respond),
        ("continue", &outcome.continue_with),
        ("tool.deny", &outcome.tool.deny),
        ("tool.result", &outcome.tool.result),
    ];
    let others = others.into_iter().filter_map(|(what, text)| Some((what, text.as_ref()?)));
    let context = outcome.context.iter().map(|text| ("context", text));
    context.chain(others).map(|(what, text)| Said { what, text: room.take(text) }).collect()
}

/// What a rule says is the configuration's, and is in memory anyway. What a program said is written down.
fn made(edits: &Arc<[Edit]>, room: &mut Clip) -> Made {
    match edits.len() {
        0 => Made::Nothing,
        _ if Arc::strong_count(edits) > 1 => Made::Rule(edits.clone()),
        _ => Made::Written(edits.iter().map(|edit| Written::of(edit, room)).collect()),
    }
}
