//! `tool.result`: once per tool result, on its way to the model.
//!
//! The results of a step are those behind the last answer. What hooks give for one is recorded before the request goes up, and
//! stands in every later request that holds the result. A result that was answered before this gateway saw it is history, and
//! no event.
use super::identify::Identity;
use super::occasion::{Occasion, Particulars};
use super::opening::refusal;
use super::prompt::{charge, log_cuts};
use super::read::Read;
use super::{TurnError, Turns};
use crate::config::EventKind;
use crate::context::placement::{Placed, Scene};
use crate::context::{Call, Digest, Place, Role, Step};
use crate::dialect::ToolResult;
use crate::hooks::contract::ToolInfo;
use crate::hooks::{FireContext, HookFailure, HookReport};
use crate::session::anchor::ResultSpot;
use crate::session::chain::Chain;
use crate::session::conversation::Live;
use crate::session::ledger::{Entry, What};
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use serde_json::value::RawValue;

/// Results of one step whose hooks run at the same time. A step may bring any number of results, and every hook that is a
/// program is a process.
const AT_ONCE: usize = 8;

/// One result of the step.
struct Brought {
    spot: ResultSpot,
    result: ToolResult,
    said: Digest,
}

impl Brought {
    fn new(spot: ResultSpot, result: ToolResult) -> Self {
        let said = Digest::of(&[result.text.as_bytes(), &[u8::from(result.is_error)]]);
        Self { spot, result, said }
    }

    /// Names the event, the same one after a crash.
    fn event(&self, live: &Live) -> String {
        format!("{}/{}/{}", live.id, self.spot.name(), self.said)
    }
}

impl Turns {
    /// Runs the hooks of results that they have not seen, and records what they gave. Returns the gateway's answer when a hook
    /// that must not fail did, now or in an earlier try.
    pub(super) async fn hear_results(&self, read: &Read, identity: &mut Identity) -> Option<String> {
        if !self.pipeline.has(EventKind::ToolResult) {
            return None;
        }
        let step = step(read, identity);
        if step.iter().any(|brought| !is_judged(&identity.live, brought)) {
            let live = identity.live.clone();
            let _gate = live.gate.lock().await;
            // A retry that waited here finds what the first one stored.
            let news: Vec<&Brought> = step.iter().filter(|brought| !is_judged(&live, brought)).collect();
            if !news.is_empty() {
                self.begin_step(read, identity).await;
                let reports = self.fire_results(read, identity, &news).await;
                let entries = self.place_results(read, identity, &news, &reports);
                self.record(identity, entries).await;
            }
        }
        let refused = step.iter().find_map(|brought| refused(&identity.live, brought))?;
        self.leave_out(read, identity, &refused).await;
        Some(refused)
    }

    /// What a conversation that is first seen in the middle of a turn has to begin with.
    async fn begin_step(&self, read: &Read, identity: &mut Identity) {
        let Step::Tool { item } = read.view.step else { return };
        self.join_turn(read, identity, item).await;
        self.settle_baseline(read, identity).await;
    }

    async fn fire_results(&self, read: &Read, identity: &Identity, news: &[&Brought]) -> Vec<Vec<HookReport>> {
        let kind = EventKind::ToolResult;
        let occasion = self.occasion(read, identity);
        let request = self.neutral(read, kind);
        let fired = news.iter().zip(calls(read, identity, news)).map(|(brought, call)| {
            let (event_identity, request) = (brought.event(&identity.live), request.clone());
            let occasion = &occasion;
            async move {
                let tool = Some(tool(&brought.result, call));
                let particulars = Particulars { identity: &event_identity, request, tool, ..Particulars::default() };
                self.fire_result(read, identity, occasion, particulars, brought.spot).await
            }
        });
        // Boxed one by one: a step may have many, and few of them run.
        let fired: Vec<_> = fired.map(Box::pin).collect();
        stream::iter(fired).buffered(AT_ONCE).collect().await
    }

    /// All hooks of one result, at the same time; their reports in config order.
    async fn fire_result(
        &self,
        read: &Read,
        identity: &Identity,
        occasion: &Occasion,
        particulars: Particulars<'_>,
        spot: ResultSpot,
    ) -> Vec<HookReport> {
        let kind = EventKind::ToolResult;
        let event = occasion.event(kind, Some(&identity.record), particulars);
        let context = FireContext { headers: &read.asked.headers, deadline: Some(read.deadline) };
        let firing = self.pipeline.firing(kind, &event, context);
        let hooks: Vec<_> = self.pipeline.in_order(kind).collect();
        let fired = hooks.iter().map(|hook| hook.fire(&firing, |report| has_place(read, spot, report)));
        join_all(fired).await.into_iter().map(|(report, _)| report).collect()
    }

    fn place_results(
        &self,
        read: &Read,
        identity: &Identity,
        news: &[&Brought],
        reports: &[Vec<HookReport>],
    ) -> Vec<Entry> {
        let slots = self.slots(&identity.record);
        let scenery = self.scenery(read, identity, &slots);
        let mut state = identity.live.state.lock();
        let mut budget = self.room(&state);
        let mut cuts = Vec::new();
        let entries = news.iter().zip(reports).map(|(brought, reports)| {
            let refused = refusal(reports);
            let is_refused = refused.is_some();
            let (replace, texts): (Option<String>, Vec<Placed>) = match refused {
                Some(text) => (Some(text), Vec::new()),
                None => {
                    let given = reports.iter().flat_map(|r| r.outcome.context.iter().map(|text| (&*r.hook, &**text)));
                    let replace = reports.iter().rev().find_map(|report| report.outcome.tool.result.clone());
                    (replace, scenery.aside(given, &mut budget, &mut cuts))
                }
            };
            let what = What::Result { said: brought.said, replace, texts, refused: is_refused };
            Entry { anchor: brought.spot.anchor(), what }
        });
        let entries = entries.collect();
        charge(&mut state, &budget);
        log_cuts(&cuts, scenery.budget);
        self.show_budget(budget.spent(), &cuts);
        entries
    }

    /// Of a request that is no turn and does not hold all that was placed in its conversation: what stands in the place of
    /// results must not be undone by it.
    pub(super) async fn replacements(&self, read: &Read) -> Result<Scene, TurnError> {
        let Some(owner) = self.owner(read).await? else { return Ok(Scene::empty()) };
        let chain = Chain::new(owner.scope, &read.view);
        let Some(place) = self.place(&chain).await.filter(|place| owner.may_be(&place.live.key)) else {
            return Ok(Scene::empty());
        };
        let anchors = super::identify::anchors(read, &chain, &place.live);
        let results = place.live.state.lock().ledger.replacements(&anchors);
        Ok(Scene { results, ..Scene::empty() })
    }
}

/// The results behind the last answer.
fn step(read: &Read, identity: &Identity) -> Vec<Brought> {
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

fn is_judged(live: &Live, brought: &Brought) -> bool {
    live.state.lock().ledger.result(&brought.spot.anchor(), brought.said).is_some()
}

fn refused(live: &Live, brought: &Brought) -> Option<String> {
    match live.state.lock().ledger.result(&brought.spot.anchor(), brought.said)? {
        What::Result { refused: true, replace, .. } => replace.clone(),
        _ => None,
    }
}

/// The call of each result: in the history, back to the turn's prompt, or where the provider holds it among those that its
/// answers brought.
fn calls(read: &Read, identity: &Identity, news: &[&Brought]) -> Vec<Option<Call>> {
    let mut found: Vec<Option<Call>> = vec![None; news.len()];
    let fill = |found: &mut [Option<Call>], mut calls: Vec<Call>| {
        for (call, brought) in found.iter_mut().zip(news).filter(|(call, _)| call.is_none()) {
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

fn tool(result: &ToolResult, call: Option<Call>) -> ToolInfo {
    let (id, name, input) = match call {
        Some(call) => (call.id, call.name, call.input),
        None => (result.id.clone(), result.name.clone(), RawValue::NULL.to_owned()),
    };
    ToolInfo { id, name, input, result: Some(result.text.clone()), is_error: result.is_error }
}

/// Whether the result takes what a hook gives; a screenshot, for one, has no place for a text.
fn has_place(read: &Read, spot: ResultSpot, report: &HookReport) -> Result<(), HookFailure> {
    let (replace, append) = (report.outcome.tool.result.clone(), report.outcome.context.clone());
    if replace.is_none() && append.is_empty() {
        return Ok(());
    }
    let place = Place::Result { item: spot.item, result: spot.result, replace, append };
    let lowered = read.dialect().lower(&read.doc, &read.view, &[place]);
    lowered.map(drop).map_err(|error| HookFailure::NoPlace(error.to_string()))
}
