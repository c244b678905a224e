//! What becomes of a turn, by its answer: noted in the conversation, and told to hooks when the turn has ended.
use super::Turns;
use super::again::Again;
use super::asking::Asking;
use super::director::{AnswerDirector, Directing};
use super::ending::Ending;
use super::identify::Identity;
use super::joined::Joined;
use super::judge::Judge;
use super::occasion::{Occasion, TurnEnd};
use super::read::Read;
use super::stopping::Stopping;
use super::turn_tap::{Delivery, TurnTap};
use super::watch::{Legs, Watch, Watched, actual_form};
use crate::bus::Carrying;
use crate::config::EventKind;
use crate::context::answer::Ending as AnswerEnding;
use crate::context::{Answer, AnswerForm, Binding, Delta, Digest, Finish, Roster, Usage};
use crate::dialect::{self, DialectId, Endpoint};
use crate::gateway::answer_head;
use crate::gateway::errors::GatewayError;
use crate::gateway::guard::StreamGuard;
use crate::gateway::leg_request::LegRequest;
use crate::gateway::legs::Bound;
use crate::json::Rope;
use crate::session::anchor::Anchor;
use crate::session::answering::Answering;
use crate::session::barrier::Running;
use crate::session::chain::{Chain, answer_node};
use crate::session::conversation::{Change, GoesOn, Live, Said};
use crate::session::ledger::{Entry, What};
use crate::session::profile::Profile;
use crate::session::store::StoreError;
use crate::session::tenant::Fingerprint;
use crate::telemetry::names;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, OptionFuture};
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// What is known of a request when its answer comes.
pub struct Follow {
    turns: Arc<Turns>,
    live: Arc<Live>,
    /// Only where a hook listens to the end of turns.
    occasion: Option<Arc<Occasion>>,
    /// The client's; empty where no hook reads them.
    headers: Arc<HeaderMap>,
    dialect: DialectId,
    form: AnswerForm,
    chain: Chain,
    scope: Digest,
    /// The node that the history will have with the answer; needs the request's last role, so it is kept as a switch.
    answer_ends_history: bool,
    /// The provider holds the history, so what is said is collected here.
    delta: bool,
    /// The provider keeps the answer: a later request may show nothing of it.
    kept: bool,
    /// The turn's id.
    turn: String,
    /// Its ordinal in the session.
    number: u64,
    said: Said,
    /// Only where the answer may get further legs, or other calls than the model made.
    gate: Option<Gate>,
    rebind: Option<Fingerprint>,
    /// Messages that the request shows.
    mail: Option<Carrying>,
    /// Notes them as delivered.
    noting: Option<JoinHandle<()>>,
    settled: bool,
    /// The session is not idle before this answer is over.
    _answering: Answering,
}

/// What it takes to hold an answer to its tools and to continue it, and to remember that.
struct Gate {
    endpoint: Endpoint,
    profile: Arc<Profile>,
    /// The item that the answer stands behind; `None` where the provider holds the history.
    anchor: Option<Anchor>,
    /// The client names this answer in a later request.
    is_named: bool,
    /// The provider's conversation that the answer goes into, where the client names that.
    conversation: Option<String>,
    joined: Arc<Mutex<Joined>>,
    /// What its calls are held to; `None`: whatever the model calls passes.
    binding: Option<Arc<Binding>>,
    /// Whether it may have further legs.
    may_go_on: bool,
}

/// How a turn's request ended, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The turn was completed.
    Completed,
    /// The model waits for tool results, or the server for the same request again.
    Step,
    /// The turn failed.
    Failed,
}

impl Follow {
    pub(super) fn new(turns: Arc<Turns>, read: Read, identity: Identity, said: Said, binding: Binding) -> Self {
        let occasion = (turns.ends() || binding.asks).then(|| Arc::new(turns.occasion(&read, &identity)));
        let headers = turns.kept_headers(&read.asked.headers);
        let turn = identity.live.state.lock().record.turn.as_ref().map(|turn| (turn.id.clone(), turn.number));
        let (turn, number) = turn.unwrap_or_default();
        let gate = turns.gate(&read, &identity, binding);
        let answering = turns.sessions.answering.begin(&identity.key);
        Self {
            occasion,
            headers,
            dialect: read.endpoint().dialect,
            form: read.view.form,
            answer_ends_history: identity.chain.is_open(&read.view),
            delta: read.view.delta.is_some(),
            kept: read.is_kept(),
            chain: identity.chain,
            scope: identity.scope,
            live: identity.live,
            turn,
            number,
            said,
            gate,
            rebind: identity.rebind,
            mail: identity.mail,
            noting: None,
            settled: false,
            _answering: answering,
            turns,
        }
    }

    /// The session's id, for the response header.
    pub fn session(&self) -> &str {
        &self.live.key.id
    }

    /// The upstream was not reached, or did not answer.
    pub fn unanswered(mut self: Box<Self>, error: &str) {
        self.fail("upstream_error", Some(error), None);
    }

    /// Whether the answer may be changed or continued: its request is kept, and its bytes must be readable.
    pub fn is_gated(&self) -> bool {
        self.gate.is_some()
    }

    /// The upstream answers with this head. `again`: the request, to be sent again, and its body.
    ///
    /// # Errors
    /// [`GatewayError::Withheld`] when the answer can't be held to its tools.
    pub fn answered(
        mut self: Box<Self>,
        status: StatusCode,
        headers: &HeaderMap,
        guard: Option<StreamGuard>,
        again: Option<(LegRequest, Rope)>,
    ) -> Result<Watched, GatewayError> {
        if !status.is_success() {
            self.fail("upstream_error", Some(&format!("HTTP status {}", status.as_u16())), None);
            return Ok(Watched::only(guard));
        }
        self.bind_credential();
        self.note_mail();
        let encoding = answer_head::encoding(headers);
        let form = actual_form(self.form, headers);
        let binding = self.gate.as_ref().and_then(|gate| gate.binding.clone());
        if binding.is_some() && encoding.is_some() {
            self.fail("withheld", Some("the answer is compressed though identity was asked for"), None);
            return Err(GatewayError::Withheld);
        }
        let Some(watch) = Watch::new(dialect::of(self.dialect), form, encoding.and_then(|v| v.to_str().ok())) else {
            tracing::warn!(?encoding, "an answer can't be read; no stop hook can run for it");
            self.settled = true;
            return Ok(Watched::only(guard));
        };
        if again.is_some() && encoding.is_some() {
            tracing::warn!(?encoding, "an answer is compressed though identity was asked for; its turn ends unasked");
        }
        let directing = again.filter(|_| encoding.is_none()).and_then(|again| self.directing(headers, again));
        let limit = self.turns.config.limits.held_response;
        let legs = directing.map(|directing| Legs {
            director: AnswerDirector::new(directing),
            form,
            binding: binding.map(|to| Bound { to, limit }),
        });
        Ok(Watched { tap: Some(Box::new(TurnTap::new(watch, guard, *self))), legs })
    }

    fn directing(&self, head: &HeaderMap, (request, sent): (LegRequest, Rope)) -> Option<Directing> {
        let Gate { endpoint, profile, joined, binding, may_go_on, .. } = self.gate.as_ref()?;
        *joined.lock() = Joined::new(sent);
        let again = Again {
            turns: self.turns.clone(),
            endpoint: endpoint.clone(),
            profile: profile.clone(),
            media_type: answer_head::media_type(head),
            request,
            joined: joined.clone(),
        };
        let asks = binding.as_ref().is_some_and(|binding| binding.asks);
        let stops = self.turns.pipeline.has(EventKind::SessionStopping);
        let asking = self.occasion.clone().map(|occasion| {
            Arc::new(Asking {
                turns: self.turns.clone(),
                live: self.live.clone(),
                occasion,
                headers: self.headers.clone(),
                turn: self.turn.clone(),
            })
        });
        let judge = asking.clone().filter(|_| asks).map(Judge);
        let stopping = asking.filter(|_| stops).map(|asking| Stopping { asking, said: self.said.clone() });
        Some(Directing { again, may_go_on: *may_go_on, judge, stopping })
    }

    /// Whether it is known what became of the turn.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Nothing more is to be said about the turn.
    pub(super) fn settle(&mut self) {
        self.settled = true;
    }

    /// The stop of a turn that was delivered.
    pub(super) fn end(&self, ending: Ending, running: Running) {
        self.turns.end(ending, self.headers.clone(), running);
    }

    /// A stop that is void: the answer was not delivered.
    pub(super) fn forget(&self, ending: Ending, running: Running) {
        let turns = self.turns.clone();
        self.turns.tasks.spawn(async move {
            turns.forget(&ending.id()).await;
            drop(running);
        });
    }

    /// A rotated credential reaches the session from now on: its history extends the session's, and the upstream took it.
    fn bind_credential(&mut self) {
        let Some(fingerprint) = self.rebind.take() else { return };
        let (turns, key) = (self.turns.clone(), self.live.key.clone());
        self.turns.tasks.spawn(async move {
            match turns.sessions.records.update(&key, |record| record.admit(fingerprint.clone())).await {
                Ok(_) => tracing::info!(
                    session = key.id,
                    "a new credential was bound to a session whose history it continues"
                ),
                Err(error) => tracing::error!(session = key.id, %error, "a new credential can't be bound"),
            }
        });
    }

    /// The upstream has accepted the request: what it shows is delivered. Noted before the client sees the answer's end.
    fn note_mail(&mut self) {
        let Some(mail) = self.mail.take() else { return };
        let (turns, number) = (self.turns.clone(), self.number);
        self.noting = Some(self.turns.tasks.spawn(async move { turns.delivered(mail, number).await }));
    }

    /// The whole answer was seen. The stop that follows once it is handed on, and what is to be stored before.
    pub(super) fn complete(&mut self, answer: &Answer) -> (Option<Delivery>, Option<BoxFuture<'static, ()>>) {
        self.settled = true;
        let keeping = match (self.noting.take(), self.keep_legs(answer)) {
            (None, keeping) => keeping,
            (Some(noting), keeping) => Some(noting.map(drop).then(|()| OptionFuture::from(keeping)).map(drop).boxed()),
        };
        let outcome = outcome(answer);
        if outcome == Outcome::Failed {
            self.fail(failure(answer), answer.error.as_deref(), Some(answer));
            return (None, keeping);
        }
        let end = self.note(answer, outcome);
        let stops = outcome == Outcome::Completed && self.turns.pipeline.has(EventKind::SessionStop);
        let Some(occasion) = self.occasion.clone().filter(|_| stops) else { return (None, keeping) };
        let ending = Ending { occasion: (*occasion).clone(), turn: end, reason: None };
        let running = self.turns.sessions.barrier.raise(&self.live.key);
        let remembering = self.turns.clone().remember(ending.clone());
        let storing = async move {
            if let Some(keeping) = keeping {
                keeping.await;
            }
            remembering.await;
        };
        (Some(Delivery { ending, running }), Some(storing.boxed()))
    }

    /// Remembers of what legs the client's message is made, and what calls it does not show: the ledger puts the model's
    /// own words into later requests.
    fn keep_legs(&self, answer: &Answer) -> Option<BoxFuture<'static, ()>> {
        let Gate { anchor, is_named, conversation, joined, .. } = self.gate.as_ref()?;
        let kept = joined.lock().take();
        if kept.legs.is_empty() && kept.restored.is_empty() && conversation.is_none() {
            return None;
        }
        let owed = kept.owed();
        let last = kept.newest.clone().or_else(|| answer.id.clone());
        let goes_on = answer.id.clone().zip(last).filter(|_| *is_named);
        let goes_on = goes_on.filter(|(first, last)| first != last || !owed.is_empty());
        // What a conversation is owed is told once: behind an answer that owes nothing, nothing is.
        let conversation = conversation.clone().map(|id| (id.clone(), GoesOn { id, owed: owed.clone() }));
        let goes_on: Vec<_> =
            goes_on.map(|(first, id)| (first, GoesOn { id, owed })).into_iter().chain(conversation).collect();
        let link = answer.link();
        let whats = [
            (!kept.legs.is_empty()).then(|| What::Joined {
                legs: kept.legs.into(),
                answer: link,
                messages: Vec::new(),
            }),
            (!kept.restored.is_empty()).then(|| What::Restored { calls: kept.restored.into(), answer: link }),
        ];
        let anchor = anchor.clone();
        let entries = whats.into_iter().flatten().filter_map(move |what| Some(Entry { anchor: anchor.clone()?, what }));
        let (turns, live, entries) = (self.turns.clone(), self.live.clone(), entries.collect());
        Some(async move { turns.keep_legs(&live, entries, goes_on).await }.boxed())
    }

    /// Notes the answer in the conversation, so that the next request is known by it. Returns the turn with all that was
    /// said in it.
    fn note(&mut self, answer: &Answer, outcome: Outcome) -> TurnEnd {
        metrics::counter!(names::TURNS, "outcome" => name(outcome), "dialect" => self.dialect.name()).increment(1);
        // The client's figures are those of the last leg, which is what it takes for the size of its context.
        let before = self.gate.as_ref().map(|gate| gate.joined.lock().cost()).unwrap_or_default();
        self.turns.meters.tokens(&Usage {
            input: before.input + answer.usage.input,
            cached_input: before.cached_input + answer.usage.cached_input,
            output: answer.usage.output,
        });
        let mut nodes: Vec<Digest> = Vec::new();
        if self.answer_ends_history {
            nodes.extend(answer.link().map(|link| self.chain.end().then(link)));
        }
        nodes.extend(answer.id.as_deref().map(|id| answer_node(self.scope, id)));
        let mut end = TurnEnd::of(&self.turn, answer);
        let mut news = self.kept || !self.turns.sessions.conversations.has(&self.live, &nodes);
        {
            let mut state = self.live.state.lock();
            let record = &mut state.record;
            if record.tip == Some(self.chain.end()) {
                record.tip_answer = nodes.first().copied();
            }
            let turn = record.turn.as_mut().filter(|t| t.id == self.turn);
            if outcome == Outcome::Completed && turn.as_ref().is_none_or(|t| !t.done) {
                record.turns_done += 1;
                news = true;
            }
            if let Some(turn) = turn {
                turn.done |= outcome == Outcome::Completed;
                turn.output += answer.usage.output;
                end.usage = Usage { output: turn.output, ..answer.usage };
                end.continued(turn);
                if self.kept {
                    match self.delta {
                        true => self.said = turn.said.clone(),
                        false => turn.said = self.said.clone(),
                    }
                    turn.said.text.push_str(&answer.text);
                    turn.said.calls.extend(answer.calls.iter().cloned());
                }
                if outcome == Outcome::Completed {
                    turn.output = 0;
                    turn.said = Said::default();
                }
            }
        }
        end.put_before(&self.said);
        if news {
            self.turns.announce(&self.live, nodes, true);
        }
        end
    }

    /// The turn failed; `session.fail` runs once for it, however often the client tries.
    pub(super) fn fail(&mut self, reason: &str, error: Option<&str>, answer: Option<&Answer>) {
        self.settled = true;
        metrics::counter!(names::TURNS, "outcome" => "failed", "dialect" => self.dialect.name()).increment(1);
        tracing::info!(session = self.live.key.id, turn = self.number, reason, error, "turn failed");
        let mut turn = answer.map_or_else(|| unanswered(&self.turn), |a| TurnEnd::of(&self.turn, a));
        {
            let mut state = self.live.state.lock();
            match state.record.turn.as_mut().filter(|t| t.id == self.turn) {
                Some(running) if running.failed => return,
                Some(running) => {
                    running.failed = true;
                    turn.continued(running);
                }
                None => {}
            }
        }
        let Some(occasion) = self.occasion.clone().filter(|_| self.turns.pipeline.has(EventKind::SessionFail)) else {
            return;
        };
        turn.put_before(&self.said);
        turn.error = error.map(str::to_owned);
        let ending = Ending { occasion: (*occasion).clone(), turn, reason: Some(reason.to_owned()) };
        let running = self.turns.sessions.barrier.raise(&self.live.key);
        self.turns.end(ending, self.headers.clone(), running);
    }
}

impl Drop for Follow {
    /// The answer is over. When it was not seen whole, the client left before.
    fn drop(&mut self) {
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        if !self.settled {
            self.fail("client_gone", None, None);
        }
        // Idle time begins with the end of the answer.
        self.turns.sessions.records.touch(&self.live.key, Timestamp::now());
    }
}

impl Turns {
    /// What it takes to hold the answer of this request to its tools and to continue it; `None` where it passes as it comes.
    /// Never continued: an answer of a shape that the client parses as a whole, since two of them are none; one of several;
    /// one that goes on with the client's own beginning of it.
    fn gate(&self, read: &Read, identity: &Identity, binding: Binding) -> Option<Gate> {
        let view = &read.view;
        let may_go_on = !view.structured && view.choices <= 1 && identity.chain.is_open(view);
        let asks = may_go_on && self.pipeline.has(EventKind::SessionStopping);
        let conversation = match &view.delta {
            Some(Delta::Conversation(id)) => Some(id.clone()),
            _ => None,
        };
        let binds = binding.asks || !matches!(binding.tools, Roster::Any);
        if !asks && !binds {
            return None;
        }
        let behind = if view.is_delta() { None } else { read.answered_item() };
        Some(Gate {
            endpoint: read.endpoint().clone(),
            profile: read.profile.clone(),
            anchor: behind.and_then(|item| identity.anchors.at(view, item)),
            is_named: read.endpoint().dialect == DialectId::Responses
                || matches!(view.delta, Some(Delta::ThreadCreate | Delta::ThreadContinue(_))),
            conversation: conversation.filter(|_| binds),
            joined: Arc::default(),
            binding: binds.then(|| Arc::new(binding)),
            may_go_on,
        })
    }

    /// Stores what later requests have to hold of an answer, and how the provider goes on behind it.
    async fn keep_legs(&self, live: &Live, entries: Vec<Entry>, goes_on: Vec<(String, GoesOn)>) {
        if !entries.is_empty() {
            let dropped = {
                let mut state = live.state.lock();
                entries.into_iter().flat_map(|entry| state.ledger.push(entry)).collect()
            };
            self.commit(live, Change { dropped, ..Change::default() }).await;
        }
        for (first, goes_on) in goes_on {
            if let Err(error) = self.keep_going_on(live, &first, goes_on).await {
                self.sessions.records.report(&error);
            }
        }
    }

    /// Where nothing is owed, and nothing was, there is nothing to note.
    async fn keep_going_on(&self, live: &Live, first: &str, goes_on: GoesOn) -> Result<(), StoreError> {
        let conversations = &self.sessions.conversations;
        if goes_on == GoesOn::behind(first) && conversations.successor(&live.key, first).await?.is_none() {
            return Ok(());
        }
        conversations.succeed(live, first, goes_on).await
    }
}

fn outcome(answer: &Answer) -> Outcome {
    match (answer.ending, answer.finish) {
        (AnswerEnding::Complete, Finish::Stop) => Outcome::Completed,
        (AnswerEnding::Complete, Finish::ToolCalls | Finish::Pause) => Outcome::Step,
        _ => Outcome::Failed,
    }
}

fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Step => "step",
        Outcome::Failed => "failed",
    }
}

/// `reason` of `session.fail`.
fn failure(answer: &Answer) -> &'static str {
    match (answer.ending, answer.finish) {
        (AnswerEnding::Cut, _) => "cut",
        (_, Finish::Length) => "length",
        (_, Finish::Refusal) => "refusal",
        _ => "upstream_error",
    }
}

fn unanswered(id: &str) -> TurnEnd {
    TurnEnd {
        id: id.to_owned(),
        message_id: None,
        text: String::new(),
        last_from: 0,
        calls: Vec::new(),
        finish: Finish::Error,
        native_finish: None,
        usage: Usage::default(),
        legs: 1,
        continuing: false,
        attempt: 1,
        error: None,
    }
}
