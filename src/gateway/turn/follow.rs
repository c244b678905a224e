//! Follows a turn's answer on its way down, and says what became of the turn.
//!
//! The answer is watched, never held: only its terminal piece waits until a stop that it brings about is stored.
use super::Turns;
use super::ending::Ending;
use super::identify::Identity;
use super::occasion::{Occasion, TurnEnd};
use super::read::Read;
use super::watch::Watch;
use crate::config::EventKind;
use crate::context::answer::Ending as AnswerEnding;
use crate::context::{Answer, AnswerForm, Digest, Finish, Usage};
use crate::dialect::{self, DialectId};
use crate::gateway::guard::StreamGuard;
use crate::gateway::tap::{Cut, End, Tap};
use crate::session::answering::Answering;
use crate::session::barrier::Running;
use crate::session::chain::{Chain, answer_node};
use crate::session::conversation::{Live, Said, Turn};
use crate::session::tenant::Fingerprint;
use crate::telemetry::names;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What is known of a request when its answer comes.
pub struct Follow {
    turns: Arc<Turns>,
    live: Arc<Live>,
    /// Only where a hook listens to the end of turns.
    occasion: Option<Occasion>,
    /// The client's; empty without an occasion.
    headers: Arc<HeaderMap>,
    dialect: DialectId,
    form: AnswerForm,
    chain: Chain,
    scope: Digest,
    /// The node that the history will have with the answer; needs the request's last role, so it is kept as a switch.
    answer_ends_history: bool,
    /// The provider holds the history, so what is said is collected here.
    delta: bool,
    turn: Turn,
    said: Said,
    rebind: Option<Fingerprint>,
    settled: bool,
    /// The session is not idle before this answer is over.
    _answering: Answering,
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
    pub(super) fn new(turns: Arc<Turns>, read: Read, identity: Identity, said: Said) -> Self {
        let occasion = turns.ends().then(|| turns.occasion(&read, &identity));
        // Headers are slices of the connection's read buffer, and keep all of it for as long as the stream lasts.
        let headers = occasion.as_ref().map(|_| read.asked.headers.clone()).unwrap_or_default();
        let turn = identity.live.state.lock().record.turn.clone().unwrap_or_default();
        let answering = turns.sessions.answering.begin(&identity.key);
        Self {
            occasion,
            headers,
            dialect: read.endpoint().dialect,
            form: read.view.form,
            answer_ends_history: identity.chain.is_open(&read.view),
            delta: read.view.delta.is_some(),
            chain: identity.chain,
            scope: identity.scope,
            live: identity.live,
            turn,
            said,
            rebind: identity.rebind,
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

    /// The upstream answers with this head; the tap that watches its body.
    pub fn answered(
        mut self: Box<Self>,
        status: StatusCode,
        headers: &HeaderMap,
        guard: Option<StreamGuard>,
    ) -> Option<Box<dyn Tap>> {
        if !status.is_success() {
            self.fail("upstream_error", Some(&format!("HTTP status {}", status.as_u16())), None);
            return boxed(guard);
        }
        self.bind_credential();
        let encoding = headers.get(CONTENT_ENCODING).and_then(|v| v.to_str().ok());
        let Some(watch) = Watch::new(dialect::of(self.dialect), self.actual_form(headers), encoding) else {
            tracing::warn!(encoding, "an answer can't be read; no stop hook can run for it");
            self.settled = true;
            return boxed(guard);
        };
        Some(Box::new(TurnTap { watch, guard, follow: *self, storing: None, delivery: None }))
    }

    /// What the upstream really sends: some answer a stream request with one JSON body.
    fn actual_form(&self, headers: &HeaderMap) -> AnswerForm {
        let content_type = headers.get(http::header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        match self.form {
            _ if content_type.starts_with("text/event-stream") => AnswerForm::Sse,
            AnswerForm::JsonArray => AnswerForm::JsonArray,
            _ if content_type.contains("json") => AnswerForm::Json,
            form => form,
        }
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

    /// The whole answer was seen. The stop that follows once it is handed on, and the future that stores it before.
    fn complete(&mut self, answer: &Answer) -> Option<(Delivery, BoxFuture<'static, ()>)> {
        self.settled = true;
        let outcome = outcome(answer);
        if outcome == Outcome::Failed {
            self.fail(failure(answer), answer.error.as_deref(), Some(answer));
            return None;
        }
        let end = self.note(answer, outcome);
        if outcome != Outcome::Completed || !self.turns.pipeline.has(EventKind::SessionStop) {
            return None;
        }
        let ending = Ending { occasion: self.occasion.clone()?, turn: end, reason: None };
        let running = self.turns.sessions.barrier.raise(&self.live.key);
        let storing = self.turns.clone().remember(ending.clone()).boxed();
        Some((Delivery { ending, running }, storing))
    }

    /// Notes the answer in the conversation, so that the next request is known by it. Returns the turn with all that was
    /// said in it.
    fn note(&mut self, answer: &Answer, outcome: Outcome) -> TurnEnd {
        metrics::counter!(names::TURNS, "outcome" => name(outcome), "dialect" => self.dialect.name()).increment(1);
        self.turns.meters.tokens(&answer.usage);
        let mut nodes: Vec<Digest> = Vec::new();
        if self.answer_ends_history {
            nodes.extend(answer.link().map(|link| self.chain.end().then(link)));
        }
        nodes.extend(answer.id.as_deref().map(|id| answer_node(self.scope, id)));
        let mut end = TurnEnd::of(&self.turn.id, answer);
        let mut news = self.delta || !self.turns.sessions.conversations.has(&self.live, &nodes);
        {
            let mut state = self.live.state.lock();
            let record = &mut state.record;
            if record.tip == Some(self.chain.end()) {
                record.tip_answer = nodes.first().copied();
            }
            let turn = record.turn.as_mut().filter(|t| t.id == self.turn.id);
            if outcome == Outcome::Completed && turn.as_ref().is_none_or(|t| !t.done) {
                record.turns_done += 1;
                news = true;
            }
            if let Some(turn) = turn {
                turn.done |= outcome == Outcome::Completed;
                turn.output += answer.usage.output;
                end.usage = Usage { output: turn.output, ..answer.usage };
                if self.delta {
                    self.said = turn.said.clone();
                    turn.said.text.push_str(&answer.text);
                    turn.said.calls.extend(answer.calls.iter().cloned());
                }
                if outcome == Outcome::Completed {
                    turn.output = 0;
                    turn.said = Said::default();
                }
            }
        }
        end.text.insert_str(0, &self.said.text);
        end.calls.splice(0..0, self.said.calls.drain(..));
        if news {
            self.turns.announce(&self.live, nodes, true);
        }
        end
    }

    /// The turn failed; `session.fail` runs once for it, however often the client tries.
    fn fail(&mut self, reason: &str, error: Option<&str>, answer: Option<&Answer>) {
        self.settled = true;
        metrics::counter!(names::TURNS, "outcome" => "failed", "dialect" => self.dialect.name()).increment(1);
        tracing::info!(session = self.live.key.id, turn = self.turn.number, reason, error, "turn failed");
        {
            let mut state = self.live.state.lock();
            match state.record.turn.as_mut().filter(|t| t.id == self.turn.id) {
                Some(turn) if turn.failed => return,
                Some(turn) => turn.failed = true,
                None => {}
            }
        }
        let Some(occasion) = self.occasion.clone().filter(|_| self.turns.pipeline.has(EventKind::SessionFail)) else {
            return;
        };
        let mut turn = answer.map_or_else(|| unanswered(&self.turn.id), |a| TurnEnd::of(&self.turn.id, a));
        turn.text.insert_str(0, &self.said.text);
        turn.calls.splice(0..0, self.said.calls.drain(..));
        let ending = Ending { occasion, turn, reason: Some(reason.to_owned()) };
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

/// A completed turn whose terminal piece is on its way.
struct Delivery {
    ending: Ending,
    running: Running,
}

/// Watches the answer of one turn.
struct TurnTap {
    watch: Watch,
    /// Ends a cut event stream with the dialect's error.
    guard: Option<StreamGuard>,
    follow: Follow,
    storing: Option<BoxFuture<'static, ()>>,
    delivery: Option<Delivery>,
}

impl TurnTap {
    fn complete(&mut self, answer: &Answer) {
        if let Some((delivery, storing)) = self.follow.complete(answer) {
            self.delivery = Some(delivery);
            self.storing = Some(storing);
        }
    }
}

impl Tap for TurnTap {
    fn data(&mut self, bytes: &[u8]) {
        if let Some(guard) = &mut self.guard {
            guard.data(bytes);
        }
        if self.follow.settled {
            return;
        }
        self.watch.push(bytes);
        if self.watch.is_closed()
            && let Some(answer) = self.watch.finish()
        {
            self.complete(&answer);
        }
    }

    fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(storing) = &mut self.storing {
            ready!(storing.as_mut().poll(cx));
            self.storing = None;
        }
        Poll::Ready(())
    }

    fn is_whole(&mut self) -> bool {
        if self.follow.settled {
            return true;
        }
        match self.watch.finish() {
            Some(answer) if answer.ending == AnswerEnding::Cut => {
                self.follow.fail("cut", None, Some(&answer));
                false
            }
            Some(answer) => {
                self.complete(&answer);
                true
            }
            None => {
                tracing::warn!(
                    session = self.follow.session(),
                    "an answer was not seen whole; no stop hook runs for it"
                );
                self.follow.settled = true;
                true
            }
        }
    }

    fn handed_on(&mut self) {
        if let Some(Delivery { ending, running }) = self.delivery.take() {
            self.follow.turns.end(ending, self.follow.headers.clone(), running);
        }
    }

    fn is_terminal(&mut self) -> bool {
        self.watch.is_terminal()
    }

    fn cut(&mut self, why: Cut) -> Option<Bytes> {
        if !self.follow.settled {
            let answer = self.watch.finish();
            let reason = if why == Cut::Idle { "upstream_idle" } else { "cut" };
            self.follow.fail(reason, None, answer.as_ref());
        }
        self.guard.as_mut().and_then(|guard| guard.cut(why))
    }

    fn end(&mut self, how: End) {
        // The marker was seen, then the connection was lost or the client left: what was said is whole all the same.
        if self.follow.settled || !self.watch.is_terminal() {
            return;
        }
        if let Some(answer) = self.watch.finish() {
            self.complete(&answer);
        }
        if how == End::ClientGone {
            self.storing = None;
            self.handed_on();
        }
    }
}

impl Drop for TurnTap {
    /// The terminal piece was never taken: the client left before the end, and the stop that was stored for it is void.
    fn drop(&mut self) {
        let Some(Delivery { ending, running }) = self.delivery.take() else { return };
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let turns = self.follow.turns.clone();
        self.follow.turns.tasks.spawn(async move {
            turns.forget(&ending.id()).await;
            drop(running);
        });
        self.follow.fail("client_gone", None, None);
    }
}

fn boxed(guard: Option<StreamGuard>) -> Option<Box<dyn Tap>> {
    guard.map(|guard| Box::new(guard) as Box<dyn Tap>)
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
        calls: Vec::new(),
        finish: Finish::Error,
        native_finish: None,
        usage: Usage::default(),
    }
}
