//! `tool.call`: hooks decide on a call before the client sees it.
use super::asking::Asking;
use super::occasion::Particulars;
use crate::config::EventKind;
use crate::context::budget::Budget;
use crate::context::{Call, Ruling, answer::call_key};
use crate::hooks::contract::ToolInfo;
use crate::hooks::{FireContext, HookFailure, HookReport};
use crate::session::conversation::{Beside, Change};
use crate::session::placing::aside;
use crate::telemetry::names;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Asks the hooks of one answer's calls.
pub(super) struct Judge(pub(super) Arc<Asking>);

impl Judge {
    /// What is decided about the call. Answers that come at the same time, as those of retries do, share one run of the hooks
    /// for a call that is in both.
    pub(super) fn decide(&self, call: Call) -> BoxFuture<'static, Ruling> {
        let identity = format!("{}/{}", self.0.turn, call_key(&call.id, &call.name, call.input.get()));
        let asking = self.0.clone();
        let run = || {
            let identity = identity.clone();
            async move { asking.ask(&identity, call).await }.boxed()
        };
        self.0.live.judging.join(&identity, run).boxed()
    }
}

impl Asking {
    /// Asks the hooks one after the other; each sees the input that those before it gave. The first one that denies has
    /// the last word.
    async fn ask(&self, identity: &str, call: Call) -> Ruling {
        let kind = EventKind::ToolCall;
        let record = self.turns.sessions.records.get(&self.live.key).await.ok().flatten();
        let mut input = call.input.clone();
        let mut said: Vec<(Arc<str>, String)> = Vec::new();
        for turn in self.turns.pipeline.in_order(kind) {
            let particulars = Particulars { identity, tool: Some(asked(&call, &input)), ..Particulars::default() };
            let event = self.occasion.event(kind, record.as_deref(), particulars);
            let context = FireContext { headers: &self.headers, deadline: None, recording: &self.recording };
            let firing = self.turns.pipeline.firing(kind, &event, context);
            let (report, _) = turn.fire(&firing, |report| fits(report, &call)).await;
            said.extend(report.outcome.context.iter().map(|text| (report.hook.clone(), text.clone())));
            if let Some(reason) = denial(&report) {
                metrics::counter!(names::TOOL_CALLS, "ruling" => "denied").increment(1);
                tracing::info!(session = %self.live.key, hook = &*report.hook, tool = call.name, "a tool call was denied");
                // What was said of the call stands beside its result, which is the reason.
                let texts = std::iter::once(reason).chain(said.into_iter().map(|(_, text)| text));
                return Ruling::Refuse(texts.collect::<Vec<_>>().join("\n\n"));
            }
            if let Some(other) = replaced(&report) {
                input = other;
            }
        }
        self.keep_beside(&Call { input: input.clone(), ..call.clone() }, &said).await;
        if input.get() == call.input.get() {
            return Ruling::Allow;
        }
        metrics::counter!(names::TOOL_CALLS, "ruling" => "replaced").increment(1);
        tracing::info!(session = %self.live.key, tool = call.name, "a tool call got another input");
        Ruling::Replace(input.get().to_owned())
    }

    /// Keeps what hooks said of a call until its result comes: stored before the client has the call.
    async fn keep_beside(&self, call: &Call, said: &[(Arc<str>, String)]) {
        if said.is_empty() {
            return;
        }
        let config = &self.turns.config;
        let limit = config.lifecycle.max_injected_context_chars;
        let (mut cuts, given) = (Vec::new(), said.iter().map(|(hook, text)| (&**hook, &**text)));
        let spent = {
            let mut state = self.live.state.lock();
            let Some(turn) = self.running(&mut state) else { return };
            let mut budget = Budget::new(limit.saturating_sub(turn.placed));
            let texts = aside(config.injection.wrap, given, &mut budget, &mut cuts);
            turn.placed = turn.placed.saturating_add(budget.spent());
            if !texts.is_empty() {
                turn.beside.push(Beside::new(call, texts));
            }
            budget.spent()
        };
        self.turns.account(&self.recording, spent, &cuts);
        self.turns.commit(&self.live, Change::default()).await;
    }
}

/// A call with the input that it has now.
fn asked(call: &Call, input: &RawValue) -> ToolInfo {
    ToolInfo { id: call.id.clone(), name: call.name.clone(), input: input.to_owned(), result: None, is_error: false }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Mode, OnError};
    use crate::hooks::contract::ToolOutcome;
    use crate::hooks::{Outcome, Status};
    use serde_json::{Value, json};
    use std::time::Duration;

    fn gives(input: Option<Value>) -> HookReport {
        let tool = ToolOutcome { input, ..ToolOutcome::default() };
        HookReport {
            hook: "a".into(),
            slot: "a".into(),
            status: Status::Ran,
            duration: Duration::ZERO,
            outcome: Outcome { tool, ..Outcome::default() },
            would: None,
            warnings: Vec::new(),
            on_error: OnError::Skip,
            mode: Mode::Enforce,
        }
    }

    #[test]
    fn a_text_is_the_input_of_free_form_tools_only() {
        for (of, given, fit) in [
            (r#"{"a":1}"#, None, true),
            (r#"{"a":1}"#, Some(json!({"a": 2})), true),
            (r#"{"a":1}"#, Some(json!("text")), false),
            ("{}", Some(json!("{}")), false),
            (r#""*** Begin""#, Some(json!("*** End")), true),
            (r#""*** Begin""#, Some(json!({"patch": 1})), true),
        ] {
            let input = RawValue::from_string(of.to_owned()).unwrap();
            let call = Call { id: "c".into(), name: "t".into(), input };
            assert_eq!(fits(&gives(given.clone()), &call).is_ok(), fit, "{of} {given:?}");
        }
    }
}
