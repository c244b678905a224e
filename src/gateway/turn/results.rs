//! `tool.result`: once per tool result, on its way to the model.
//!
//! The results of a step are those behind the last answer. What hooks give for one is recorded before the request goes up, and
//! stands in every later request that holds the result. A result that was answered before this gateway saw it is history, and
//! no event.
use super::identify::Identity;
use super::occasion::{Occasion, Particulars};
use super::opening::refusal;
use super::prompt::charge;
use super::read::Read;
use super::tool_batch::Together;
use super::tool_step::{Brought, calls, is_judged, refused, step, tool};
use super::{TurnError, Turns};
use crate::config::EventKind;
use crate::context::placement::{Placed, Scene};
use crate::context::{Call, Place, Step};
use crate::hooks::{FireContext, HookFailure, HookReport};
use crate::session::anchor::ResultSpot;
use crate::session::chain::Chain;
use crate::session::conversation::{Beside, Live, State};
use crate::session::ledger::{Entry, What};
use crate::session::placing::aside;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};

/// Results of one step whose hooks run at the same time. A step may bring any number of results, and every hook that is a
/// program is a process.
const AT_ONCE: usize = 8;

/// A result that hooks have not seen, and its call.
pub(super) struct New<'a> {
    pub(super) brought: &'a Brought,
    pub(super) call: Option<Call>,
}

impl Turns {
    /// Runs the hooks of results that they have not seen, and records what they gave, and what was said of their calls.
    /// Returns the gateway's answer when a hook does not let the step go up, now or in an earlier try.
    pub(super) async fn hear_results(&self, read: &Read, identity: &mut Identity) -> Option<String> {
        if !self.pipeline.has(EventKind::ToolResult) && !has_beside(&identity.live) {
            return None;
        }
        let step = step(read, identity);
        if step.iter().any(|brought| !is_judged(&identity.live, brought)) {
            let live = identity.live.clone();
            let _gate = live.gate.lock().await;
            // A retry that waited here finds what the first one stored.
            let news = self.news(read, identity, &step);
            if !news.is_empty() {
                self.begin_step(read, identity).await;
                let reports = self.fire_results(read, identity, &news).await;
                let together = self.fire_batch(read, identity, &step, &news, &reports).await;
                let entries = self.place_results(read, identity, &news, &reports, &together);
                self.record(identity, entries).await;
            }
        }
        let refused = step.iter().find_map(|brought| refused(read, &identity.live, brought))?;
        self.leave_out(read, identity, &refused).await;
        Some(refused)
    }

    /// Where no hook listens to results, only those count of whose calls something was said.
    fn news<'s>(&self, read: &Read, identity: &Identity, step: &'s [Brought]) -> Vec<New<'s>> {
        let unheard: Vec<&Brought> = step.iter().filter(|brought| !is_judged(&identity.live, brought)).collect();
        let calls = calls(read, identity, &unheard);
        let mut news: Vec<_> = unheard.into_iter().zip(calls).map(|(brought, call)| New { brought, call }).collect();
        if !self.pipeline.has(EventKind::ToolResult) {
            let mut state = identity.live.state.lock();
            news.retain(|new| beside(&mut state, new).is_some());
        }
        news
    }

    /// What a conversation that is first seen in the middle of a turn has to begin with.
    async fn begin_step(&self, read: &Read, identity: &mut Identity) {
        let Step::Tool { item } = read.view.step else { return };
        self.join_turn(read, identity, item).await;
        self.settle_baseline(read, identity).await;
    }

    async fn fire_results(&self, read: &Read, identity: &Identity, news: &[New<'_>]) -> Vec<Vec<HookReport>> {
        let kind = EventKind::ToolResult;
        let occasion = self.occasion(read, identity);
        let request = self.neutral(read, kind);
        let fired = news.iter().map(|New { brought, call }| {
            let (event_identity, request) = (brought.event(&identity.live), request.clone());
            let occasion = &occasion;
            async move {
                let tool = Some(tool(&brought.result, call.clone()));
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
        let context =
            FireContext { headers: &read.asked.headers, deadline: Some(read.deadline), recording: &read.recording };
        let firing = self.pipeline.firing(kind, &event, context);
        let hooks: Vec<_> = self.pipeline.in_order(kind).collect();
        let fired = hooks.iter().map(|hook| hook.fire(&firing, |report| has_place(read, spot, report)));
        join_all(fired).await.into_iter().map(|(report, _)| report).collect()
    }

    fn place_results(
        &self,
        read: &Read,
        identity: &Identity,
        news: &[New<'_>],
        reports: &[Vec<HookReport>],
        together: &Together,
    ) -> Vec<Entry> {
        let unchecked = together.unchecked();
        let mut state = identity.live.state.lock();
        let mut budget = self.room(&state);
        let mut cuts = Vec::new();
        let entries = news.iter().zip(reports).enumerate().map(|(index, (new, reports))| {
            let (anchor, said) = (new.brought.spot.anchor(), new.brought.said);
            if let Some(text) = refusal(reports).or_else(|| unchecked.clone()) {
                let what = What::Result { said, replace: Some(text), texts: Vec::new(), refused: true, halted: None };
                return Entry { anchor, what };
            }
            let together = (index == together.at).then_some(together);
            let own = reports.iter().flat_map(|r| r.outcome.context.iter().map(|text| (&*r.hook, &**text)));
            let given = own.chain(together.iter().flat_map(|together| together.texts()));
            let mut texts = self.said_of_call(read, &mut state, new);
            texts.extend(aside(self.config.injection.wrap, given, &mut budget, &mut cuts));
            let replace = reports.iter().rev().find_map(|report| report.outcome.tool.result.clone());
            let halted = together.and_then(Together::halted);
            Entry { anchor, what: What::Result { said, replace, texts, refused: false, halted } }
        });
        let entries = entries.collect();
        charge(&mut state, &budget);
        self.account(&read.recording, budget.spent(), &cuts);
        entries
    }

    /// What hooks said of the result's call before it was made; it had its room then.
    fn said_of_call(&self, read: &Read, state: &mut State, new: &New<'_>) -> Vec<Placed> {
        let Some(beside) = beside(state, new) else { return Vec::new() };
        if !takes_text(read, new.brought) {
            tracing::warn!("what a hook said of a tool call is left out: its result has no place for a text");
            return Vec::new();
        }
        beside.place(&new.brought.spot.anchor())
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

/// Whether the result takes what a hook gives; a screenshot, for one, has no place for a text.
pub(super) fn has_place(read: &Read, spot: ResultSpot, report: &HookReport) -> Result<(), HookFailure> {
    let (replace, append) = (report.outcome.tool.result.clone(), report.outcome.context.clone());
    if replace.is_none() && append.is_empty() {
        return Ok(());
    }
    let place = Place::Result { item: spot.item, result: spot.result, replace, append };
    let lowered = read.dialect().lower(&read.doc, &read.view, &[place]);
    lowered.map(drop).map_err(|error| HookFailure::NoPlace(error.to_string()))
}

/// Whether a text can stand behind the result.
pub(super) fn takes_text(read: &Read, brought: &Brought) -> bool {
    let (item, result) = (brought.spot.item, brought.spot.result);
    let place = Place::Result { item, result, replace: None, append: vec!["text".to_owned()] };
    read.dialect().lower(&read.doc, &read.view, &[place]).is_ok()
}

fn has_beside(live: &Live) -> bool {
    live.state.lock().record.turn.as_ref().is_some_and(|turn| !turn.beside.is_empty())
}

fn beside<'s>(state: &'s mut State, new: &New<'_>) -> Option<&'s mut Beside> {
    let turn = state.record.turn.as_mut()?;
    turn.beside(&new.brought.spot.anchor(), &new.brought.result.id, new.call.as_ref())
}
