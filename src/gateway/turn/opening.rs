//! `session.start`: once per activation of a session key, and once per compaction.
use super::Turns;
use super::identify::Identity;
use super::occasion::Particulars;
use super::prompt::normal_form;
use super::read::Read;
use crate::config::{EventKind, OnError};
use crate::context::Step;
use crate::hooks::{FireContext, HookReport};
use crate::session::ledger::{Entry, HookEdits, What};
use crate::session::record::SessionRecord;

impl Turns {
    /// Runs the hooks of a session that begins, resumes or was compacted. Other requests of the session wait meanwhile.
    /// Returns the gateway's answer when a hook refuses the request.
    pub(super) async fn open(&self, read: &Read, identity: &mut Identity) -> Option<String> {
        let _others_wait = identity.opening.take()?;
        let kind = EventKind::SessionStart;
        let activation = identity.record.activation.to_string();
        let request = self.neutral(read, kind);
        let particulars = Particulars { identity: &activation, request, ..Particulars::default() };
        let event = self.occasion(read, identity).event(kind, Some(&identity.record), particulars);
        let context =
            FireContext { headers: &read.asked.headers, deadline: Some(read.deadline), recording: &read.recording };
        let reports = self.pipeline.fire(kind, &event, context).await;
        if let Some(text) = refusal(&reports) {
            self.leave_out(read, identity, &text).await;
            return Some(text);
        }
        identity.start_edits = edits_of(&reports);
        let project = identity.project.clone();
        let begin = |record: &mut SessionRecord| {
            self.lay_out(record, project.as_deref());
            record.started = true;
        };
        identity.record = self.apply(identity.record.clone(), kind, &reports, begin).await;
        None
    }

    /// A prompt that was refused does not go up with the next one either.
    pub(super) async fn leave_out(&self, read: &Read, identity: &Identity, reply: &str) {
        let Step::Prompt { item } = read.view.step else { return };
        let Some(anchor) = identity.anchors.at(&read.view, item) else { return };
        let entry = Entry { anchor, what: What::Unopened { answer: normal_form(reply) } };
        let known = identity.live.state.lock().ledger.entries().iter().any(|(_, known)| *known == entry);
        if !known {
            self.record(identity, vec![entry]).await;
        }
    }
}

/// What the client reads when a hook that must hold has failed.
pub(super) fn could_not_be_made(hook: &str) -> String {
    format!("This request was stopped: the check {hook:?} could not be made.")
}

/// What each hook changes of the requests of a turn.
pub(super) fn edits_of(reports: &[HookReport]) -> Vec<HookEdits> {
    let edits = |report: &HookReport| HookEdits {
        hook: report.hook.to_string(),
        must_hold: report.on_error == OnError::Block,
        edits: report.outcome.edits.to_vec(),
    };
    reports.iter().filter(|report| !report.outcome.edits.is_empty()).map(edits).collect()
}

/// What the client reads instead of an answer: the first refusal in config order, else the first answer that a hook gave.
pub(super) fn refusal(reports: &[HookReport]) -> Option<String> {
    let blocked = reports.iter().find_map(|report| match &report.outcome.block {
        Some(reason) => Some(reason.clone()),
        None => report.blocks().then(|| could_not_be_made(&report.hook)),
    });
    blocked.or_else(|| reports.iter().find_map(|report| report.outcome.respond.clone()))
}
