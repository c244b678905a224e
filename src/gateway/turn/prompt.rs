//! `prompt.submit`: once per user prompt, however many requests it takes to answer it.
use super::Turns;
use super::identify::{Identity, now_ms};
use super::occasion::Particulars;
use super::opening::{edits_of, refusal};
use super::read::Read;
use crate::config::EventKind;
use crate::context::budget::Budget;
use crate::context::digest::NormalForm;
use crate::context::{Digest, Step};
use crate::hooks::{FireContext, HookReport};
use crate::inspect::Recording;
use crate::session::anchor::Anchor;
use crate::session::conversation::{Change, ConversationLayout, State, Turn};
use crate::session::ledger::{Entry, What};
use crate::session::placing::Cut;
use crate::session::record::SessionRecord;
use crate::telemetry::names;
use std::sync::Arc;

impl Turns {
    /// Runs the hooks of a new prompt and records what they gave before anything goes up. Returns the gateway's answer when
    /// a hook refuses the prompt, or refused it before.
    pub(super) async fn submit(self: &Arc<Self>, read: &Read, identity: &mut Identity) -> Option<String> {
        let item = match read.view.step {
            Step::Prompt { item } => item,
            Step::Tool { item } => {
                self.join_turn(read, identity, item).await;
                return None;
            }
            Step::Resume => read.prefilled_prompt()?,
            Step::Empty => return None,
        };
        let anchor = identity.anchors.at(&read.view, item)?;
        let turn = turn_id(identity, item, &anchor);
        if let Some(known) = handled(&mut identity.live.state.lock(), &anchor, &turn) {
            return known.reply;
        }
        let live = identity.live.clone();
        let _gate = live.gate.lock().await;
        // A retry that waited here finds what the first one stored.
        if let Some(known) = handled(&mut live.state.lock(), &anchor, &turn) {
            return known.reply;
        }
        self.wait_for_stops(read, identity).await;
        self.begin_turn(read, identity, item, turn.clone()).await;
        let reports = self.fire_submit(read, identity, &turn).await;
        let refused = refusal(&reports);
        let placing = match &refused {
            Some(reply) => Placing::answered(anchor, reply),
            None => {
                let mut by = std::mem::take(&mut identity.start_edits);
                by.extend(edits_of(&reports));
                let edited = (!by.is_empty()).then(|| Entry { anchor: anchor.clone(), what: What::Edited { by } });
                let mut placing = self.place_prompt(read, identity, anchor, &reports);
                placing.entries.extend(edited);
                placing
            }
        };
        self.account(&read.recording, placing.spent, &placing.cuts);
        self.record(identity, placing.entries).await;
        refused
    }

    /// Stop before next prompt, bounded by the deadline that all hooks of this request share.
    async fn wait_for_stops(self: &Arc<Self>, read: &Read, identity: &mut Identity) {
        let passed = self.stops_passed(&identity.key);
        if tokio::time::timeout_at(read.deadline, passed).await.is_err() {
            tracing::warn!(session = identity.key.id, "a stop hook still runs; the next prompt does not wait longer");
        }
    }

    /// A tool step of a conversation that is first seen in the middle of a turn: the turn counts, its prompt was submitted
    /// elsewhere.
    pub(super) async fn join_turn(&self, read: &Read, identity: &mut Identity, step: usize) {
        if identity.live.state.lock().record.turn.is_some() {
            return;
        }
        let prompt = (0..step).rev().find(|i| read.view.items[*i].facts.prompt.is_some()).unwrap_or(step);
        if let Some(anchor) = identity.anchors.at(&read.view, prompt) {
            let id = turn_id(identity, prompt, &anchor);
            self.begin_turn(read, identity, prompt, id).await;
        }
    }

    /// Counts the turn and makes it the running one.
    async fn begin_turn(&self, read: &Read, identity: &mut Identity, item: usize, id: String) {
        let model = self.model(read);
        let count = |record: &mut SessionRecord| {
            if record.counted.as_ref() != Some(&id) {
                record.turns += 1;
                record.counted = Some(id.clone());
            }
            record.model = Some(model.clone());
            true
        };
        match self.sessions.records.update(&identity.key, count).await {
            Ok(record) => identity.record = record,
            Err(error) => tracing::error!(session = %identity.key, %error, "a turn can't be counted"),
        }
        let number = identity.record.turns;
        // Elsewhere every request of the turn shows its prompt.
        let prompt = if read.is_kept() { self.prompt_text(read, item) } else { String::new() };
        tracing::debug!(session = identity.key.id, turn = number, "new prompt");
        identity.live.state.lock().record.turn = Some(Turn { id, number, prompt, ..Turn::default() });
    }

    async fn fire_submit(&self, read: &Read, identity: &Identity, turn: &str) -> Vec<HookReport> {
        let kind = EventKind::PromptSubmit;
        if !self.pipeline.has(kind) {
            return Vec::new();
        }
        let particulars = Particulars { identity: turn, request: self.neutral(read, kind), ..Particulars::default() };
        let event = self.occasion(read, identity).event(kind, Some(&identity.record), particulars);
        let context =
            FireContext { headers: &read.asked.headers, deadline: Some(read.deadline), recording: &read.recording };
        self.pipeline.fire(kind, &event, context).await
    }

    fn place_prompt(&self, read: &Read, identity: &Identity, anchor: Anchor, reports: &[HookReport]) -> Placing {
        let slots = self.slots(&identity.record);
        let scenery = self.scenery(read, identity, &slots);
        let mut cuts = Vec::new();
        let mut state = identity.live.state.lock();
        let mut budget = self.room(&state);
        if scenery.settle_retention(&mut state) {
            tracing::warn!(
                session = identity.key.id,
                "injection.retain is `turn`, but this history is signed: text of earlier turns stays where it is"
            );
        }
        scenery.renew_baseline(&mut state, now_ms());
        let (baseline, mut texts) = match state.record.baseline_set {
            true => (None, scenery.updates(&state, &mut budget, &mut cuts)),
            false => (scenery.set_baseline(&mut state, &mut budget, &mut cuts), Vec::new()),
        };
        let mut entries: Vec<Entry> = baseline.into_iter().collect();
        if state.record.layout == ConversationLayout::System {
            // The slots take their room first; what stands in the system prompt is built with the request.
            scenery.persistent(&mut budget, &mut cuts);
        }
        let given = reports.iter().flat_map(|r| r.outcome.context.iter().map(|t| (r.hook.to_string(), t.clone())));
        texts.extend(scenery.ephemeral(&state, given, &mut budget, &mut cuts));
        entries.push(Entry { anchor, what: What::Prompt { texts } });
        charge(&mut state, &budget);
        Placing { entries, cuts, spent: budget.spent() }
    }

    /// The room that the running turn has left for hooks' texts.
    pub(super) fn room(&self, state: &State) -> Budget {
        let placed = state.record.turn.as_ref().map_or(0, |turn| turn.placed);
        Budget::new(self.config.lifecycle.max_injected_context_chars.saturating_sub(placed))
    }

    /// Counts and logs what became of the room for hooks' texts.
    pub(super) fn account(&self, recording: &Recording, spent: usize, cuts: &[Cut]) {
        self.meters.injected(spent);
        let limit = self.config.lifecycle.max_injected_context_chars;
        for Cut { source, partly, lost } in cuts {
            metrics::counter!(names::TRUNCATED_CHARS, "hook" => source.clone()).increment(*lost as u64);
            let what = if *partly { "truncated" } else { "left out" };
            tracing::warn!(
                hook = source,
                "context of hook {source:?} was {what}: over max_injected_context_chars ({limit})"
            );
        }
        self.show_budget(recording, spent, cuts);
    }

    /// Puts entries into the ledger and stores them with the node of this request, durably: a crash from here on replays
    /// text that the model may not have seen, which is harmless; the reverse is not.
    pub(super) async fn record(&self, identity: &Identity, entries: Vec<Entry>) {
        let mut change = Change { nodes: identity.new_nodes(), ..Change::default() };
        {
            let mut state = identity.live.state.lock();
            for entry in entries {
                change.dropped.extend(state.ledger.push(entry));
            }
            identity.set_tip(&mut state);
        }
        self.commit(&identity.live, change).await;
    }
}

/// What a prompt leaves in the ledger.
struct Placing {
    /// New ones.
    entries: Vec<Entry>,
    /// Texts that did not fit.
    cuts: Vec<Cut>,
    /// Room that they took.
    spent: usize,
}

impl Placing {
    fn answered(anchor: Anchor, reply: &str) -> Self {
        Self { entries: vec![Entry { anchor, what: answered(reply) }], cuts: Vec::new(), spent: 0 }
    }
}

/// The running turn has less [`Turns::room`] then.
pub(super) fn charge(state: &mut State, budget: &Budget) {
    if let Some(turn) = &mut state.record.turn {
        turn.placed = turn.placed.saturating_add(budget.spent());
    }
}

struct Handled {
    reply: Option<String>,
}

/// What is known of a prompt that was seen before; makes its turn the running one.
fn handled(state: &mut State, anchor: &Anchor, turn: &str) -> Option<Handled> {
    let reply = match state.ledger.prompt(anchor)? {
        What::Answered { reply, .. } => Some(reply.clone()),
        _ => None,
    };
    match &mut state.record.turn {
        Some(running) if running.id == turn => running.ask_again(),
        // A rewind to an earlier prompt: its turn runs again under its own id.
        other => {
            let number = other.as_ref().map_or(1, |t| t.number);
            *other = Some(Turn { id: turn.to_owned(), number, ..Turn::default() });
        }
    }
    Some(Handled { reply })
}

/// Conversation, ordinal among prompts, normal form: the same for every request and retry of one prompt.
fn turn_id(identity: &Identity, item: usize, anchor: &Anchor) -> String {
    let ordinal = identity.anchors.prompts_before(item);
    let digest = match anchor {
        Anchor::Prompt { digest, .. } => *digest,
        Anchor::Result { call, .. } => Digest::of(&[call.as_bytes()]),
        // No item's anchor.
        Anchor::Call { hash, .. } => Digest::of(&[&hash.to_le_bytes()]),
    };
    let id = Digest::of(&[identity.live.id.as_bytes(), &(ordinal as u64).to_le_bytes(), &digest.0]);
    format!("turn_{id}")
}

fn answered(reply: &str) -> What {
    What::Answered { reply: reply.to_owned(), answer: normal_form(reply) }
}

/// What an answer of these words is known by when the client sends it back.
pub(super) fn normal_form(reply: &str) -> Option<Digest> {
    let mut form = NormalForm::new();
    form.text(reply);
    form.digest()
}
