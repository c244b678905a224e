//! A step: the results behind the last answer, and the calls that they are of.
use super::identify::Identity;
use super::read::Read;
use crate::context::{Call, Digest, Role, Step};
use crate::dialect::ToolResult;
use crate::hooks::contract::ToolInfo;
use crate::session::anchor::ResultSpot;
use crate::session::conversation::Live;
use crate::session::ledger::What;
use serde_json::value::RawValue;

/// One result of the step.
pub(super) struct Brought {
    pub(super) spot: ResultSpot,
    pub(super) result: ToolResult,
    /// What it says; with another text it is another result.
    pub(super) said: Digest,
}

impl Brought {
    fn new(spot: ResultSpot, result: ToolResult) -> Self {
        let said = Digest::of(&[result.text.as_bytes(), &[u8::from(result.is_error)]]);
        Self { spot, result, said }
    }

    /// Names the event, the same one after a crash.
    pub(super) fn event(&self, live: &Live) -> String {
        format!("{}/{}/{}", live.id, self.spot.name(), self.said)
    }
}

/// The results behind the last answer.
pub(super) fn step(read: &Read, identity: &Identity) -> Vec<Brought> {
    let mut step: Vec<Brought> = Vec::new();
    let mut item: Option<(usize, Vec<ToolResult>)> = None;
    for spot in identity.anchors.results_from(begin(read)) {
        if item.as_ref().is_none_or(|(known, _)| *known != spot.item) {
            item = Some((spot.item, read.dialect().results(&read.doc, &read.view, spot.item)));
        }
        let result = item.as_mut().and_then(|(_, results)| results.get_mut(spot.result));
        step.extend(result.map(|result| Brought::new(*spot, std::mem::take(result))));
    }
    step
}

/// The item that the step begins with.
fn begin(read: &Read) -> usize {
    let items = &read.view.items[..read.prefill().unwrap_or(read.view.items.len())];
    items.iter().rposition(|item| item.role() == Role::Assistant).map_or(0, |answer| answer + 1)
}

/// Whether the hooks of results were run for it.
pub(super) fn is_judged(live: &Live, brought: &Brought) -> bool {
    live.state.lock().ledger.result(&brought.spot.anchor(), brought.said).is_some()
}

/// The gateway's answer to a request that ends with this result, if a hook does not let it go up. A hook that stopped the
/// turn has no say on a new prompt.
pub(super) fn refused(read: &Read, live: &Live, brought: &Brought) -> Option<String> {
    match live.state.lock().ledger.result(&brought.spot.anchor(), brought.said)? {
        What::Result { refused: true, replace, .. } => replace.clone(),
        What::Result { halted, .. } if matches!(read.view.step, Step::Tool { .. }) => halted.clone(),
        _ => None,
    }
}

/// The call of each result: in the history, back to the turn's prompt, or where the provider holds it among those that its
/// answers brought.
pub(super) fn calls(read: &Read, identity: &Identity, results: &[&Brought]) -> Vec<Option<Call>> {
    let mut found: Vec<Option<Call>> = vec![None; results.len()];
    let fill = |found: &mut [Option<Call>], mut calls: Vec<Call>| {
        for (call, brought) in found.iter_mut().zip(results).filter(|(call, _)| call.is_none()) {
            *call = take_call(&mut calls, &brought.result);
        }
        found.iter().all(Option::is_some)
    };
    for index in (0..begin(read)).rev() {
        let item = &read.view.items[index];
        let is_done = match item.role() {
            Role::Assistant => fill(&mut found, read.dialect().said(&read.doc, &read.view, index).1),
            _ => item.facts.prompt.is_some(),
        };
        if is_done {
            break;
        }
    }
    if read.view.is_delta() {
        let said = identity.live.state.lock().record.turn.as_ref().map(|turn| turn.said.calls.clone());
        fill(&mut found, said.unwrap_or_default());
    }
    found
}

/// The call with the result's id, else the first of the same function.
fn take_call(calls: &mut Vec<Call>, result: &ToolResult) -> Option<Call> {
    let by_id = calls.iter().position(|call| !result.id.is_empty() && call.id == result.id);
    let by_name = || calls.iter().position(|call| !result.name.is_empty() && call.name == result.name);
    by_id.or_else(by_name).map(|at| calls.remove(at))
}

pub(super) fn tool(result: &ToolResult, call: Option<Call>) -> ToolInfo {
    let (id, name, input) = match call {
        Some(call) => (call.id, call.name, call.input),
        None => (result.id.clone(), result.name.clone(), RawValue::NULL.to_owned()),
    };
    ToolInfo { id, name, input, result: Some(result.text.clone()), is_error: result.is_error }
}
