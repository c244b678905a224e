//! `tool.call`: hooks decide on a call before the client sees it.
use super::Turns;
use super::occasion::{Occasion, Particulars};
use crate::config::EventKind;
use crate::context::{Call, Ruling, answer::call_key};
use crate::hooks::contract::ToolInfo;
use crate::hooks::{FireContext, HookFailure, HookReport};
use crate::session::conversation::Live;
use crate::telemetry::names;
use http::HeaderMap;
use serde_json::value::RawValue;
use std::sync::Arc;

/// What is needed to ask.
pub(super) struct Judge {
    pub(super) turns: Arc<Turns>,
    pub(super) live: Arc<Live>,
    pub(super) occasion: Arc<Occasion>,
    /// The client's.
    pub(super) headers: Arc<HeaderMap>,
    /// The running turn's id.
    pub(super) turn: String,
}

impl Judge {
    /// Asks the hooks one after the other; each sees the input that those before it gave. The first one that denies has
    /// the last word.
    pub(super) async fn decide(self: Arc<Self>, call: Call) -> Ruling {
        let kind = EventKind::ToolCall;
        let record = self.turns.sessions.records.get(&self.live.key).await.ok().flatten();
        let identity = format!("{}/{}", self.turn, call_key(&call.id, &call.name, call.input.get()));
        let mut input = call.input.clone();
        for turn in self.turns.pipeline.in_order(kind) {
            let particulars = Particulars {
                identity: &identity,
                tool: Some(ToolInfo {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    input: input.clone(),
                    result: None,
                    is_error: false,
                }),
                ..Particulars::default()
            };
            let event = self.occasion.event(kind, record.as_deref(), particulars);
            let context = FireContext { headers: &self.headers, deadline: None };
            let firing = self.turns.pipeline.firing(kind, &event, context);
            let (report, _) = turn.fire(&firing, |report| fits(report, &call)).await;
            if let Some(reason) = denial(&report) {
                metrics::counter!(names::TOOL_CALLS, "ruling" => "denied").increment(1);
                tracing::info!(session = %self.live.key, hook = &*report.hook, tool = call.name, "a tool call was denied");
                return Ruling::Refuse(reason);
            }
            if let Some(other) = replaced(&report) {
                input = other;
            }
        }
        if input.get() == call.input.get() {
            return Ruling::Allow;
        }
        metrics::counter!(names::TOOL_CALLS, "ruling" => "replaced").increment(1);
        tracing::info!(session = %self.live.key, tool = call.name, "a tool call got another input");
        Ruling::Replace(input.get().to_owned())
    }
}

/// Why the call is not made, if it isn't.
fn denial(report: &HookReport) -> Option<String> {
    let failed = || format!("This call was stopped: the check {:?} could not be made.", report.hook);
    report.outcome.tool.deny.clone().or_else(|| report.blocks().then(failed))
}

/// A function's arguments are an object: a text is for free-form tools.
fn fits(report: &HookReport, call: &Call) -> Result<(), HookFailure> {
    let is_text = report.outcome.tool.input.as_ref().is_some_and(serde_json::Value::is_string);
    match is_text && call.input.get().starts_with('{') {
        true => Err(HookFailure::WrongType { field: "tool.input", expected: "an object" }),
        false => Ok(()),
    }
}

fn replaced(report: &HookReport) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(report.outcome.tool.input.as_ref()?).ok()
}
