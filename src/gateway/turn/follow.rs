//! What becomes of a turn, by its answer: noted in the conversation, and told to hooks when the turn has ended.
mod note;

use super::Turns;
use super::asking::Asking;
use super::director::{AnswerDirector, Directing};
use super::ending::Ending;
use super::gate::Gate;
use super::identify::Identity;
use super::judge::Judge;
use super::occasion::Occasion;
use super::outcome::{Outcome, failure};
use super::read::Read;
use super::stopping::Stopping;
use super::turn_tap::{Delivery, TurnTap};
use super::watch::{Legs, Watch, Watched, actual_form};
use crate::bus::Carrying;
use crate::config::EventKind;
use crate::context::{Answer, AnswerForm, Binding, Digest};
use crate::dialect::{self, DialectId};
use crate::gateway::answer_head;
use crate::gateway::errors::GatewayError;
use crate::gateway::guard::StreamGuard;
use crate::gateway::leg_request::LegRequest;
use crate::gateway::legs::Bound;
use crate::inspect::Recording;
use crate::json::Rope;
use crate::session::answering::Answering;
use crate::session::barrier::Running;
use crate::session::chain::Chain;
use crate::session::conversation::{Live, Said};
use crate::session::tenant::Fingerprint;
use crate::telemetry::traces::Trace;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, OptionFuture};
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// What is known of a request when its answer comes.
pub struct Follow {
    turns: Arc<Turns>,
    live: Arc<Live>,
    recording: Recording,
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
    /// The model's resolved name.
    model: String,
    trace: Trace,
    said: Said,
    /// Only where the answer may get further legs, or other calls than the model made.
    gate: Option<Gate>,
    rebind: Option<Fingerprint>,
    /// Messages that the request shows.
    mail: Option<Carrying>,
    /// Notes them as delivered.
    noting: Option<JoinHandle<()>>,
    /// Stores the answer's place in the history, where the client's next request may come to another gateway.
    storing: Option<BoxFuture<'static, ()>>,
    settled: bool,
    /// The session is not idle before this answer is over.
    _answering: Answering,
}

impl Follow {
    pub(super) fn new(turns: Arc<Turns>, read: Read, identity: Identity, said: Said, binding: Binding) -> Self {
        let occasion = (turns.ends() || turns.pipeline.has(EventKind::ToolCall))
            .then(|| Arc::new(turns.occasion(&read, &identity)));
        let headers = turns.kept_headers(&read.asked.headers);
        let turn = identity.live.state.lock().record.turn.as_ref().map(|turn| (turn.id.clone(), turn.number));
        let (turn, number) = turn.unwrap_or_default();
        let gate = Gate::of(&turns, &read, &identity, binding);
        let answering = turns.sessions.answering.begin(&identity.key);
        let model = turns.model(&read).resolved;
        let trace = read.asked.trace.clone();
        trace.note(|noted| noted.session.clone_from(&identity.key.id));
        Self {
            model,
            trace,
            occasion,
            headers,
            recording: read.recording.clone(),
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
            storing: None,
            settled: false,
            _answering: answering,
            turns,
        }
    }

    /// The session's id, for the response header.
    pub fn session(&self) -> &str {
        &self.live.key.id
    }

    /// The request.
    pub fn recording(&self) -> &Recording {
        &self.recording
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
        self.recording.answered(status.as_u16());
        if !status.is_success() {
            self.fail("upstream_error", Some(&format!("HTTP status {}", status.as_u16())), None);
            return Ok(Watched::only(guard));
        }
        self.bind_credential();
        self.note_mail();
        let encoding = answer_head::encoding(headers);
        let form = actual_form(self.form, headers);
        let gate = self.gate.as_ref().filter(|gate| gate.must_hold || encoding.is_none());
        let binding = gate.and_then(|gate| gate.binding.clone());
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
        let gate = self.gate.as_ref()?;
        let again = gate.origin.again(head, request, sent, gate.joined.clone());
        let asks = gate.binding.is_some() && self.turns.pipeline.has(EventKind::ToolCall);
        let stops = self.turns.pipeline.has(EventKind::SessionStopping);
        let asking = self.occasion.clone().map(|occasion| {
            Arc::new(Asking {
                turns: self.turns.clone(),
                live: self.live.clone(),
                occasion,
                headers: self.headers.clone(),
                recording: self.recording.clone(),
                turn: self.turn.clone(),
            })
        });
        let judge = asking.clone().filter(|_| asks).map(Judge);
        let stopping = asking.filter(|_| stops).map(|asking| Stopping { asking, said: self.said.clone() });
        let mail = self.turns.mail(&self.live, &self.turn);
        Some(Directing { again, may_go_on: gate.may_go_on, judge, stopping, mail })
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
        self.turns.end(ending, self.headers.clone(), running, self.recording.clone());
    }

    /// A stop that is void: the answer was not delivered.
    pub(super) fn forget(&self, ending: Ending, running: Running) {
        let turns = self.turns.clone();
        self.turns.tasks.spawn(async move {
            turns.forget(&ending.place()).await;
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
        self.recording.delivered(mail.ids());
        let (turns, number) = (self.turns.clone(), self.number);
        self.noting = Some(self.turns.tasks.spawn(async move { turns.delivered(mail, number).await }));
    }

    /// The whole answer was seen. The stop that follows once it is handed on, and what is to be stored before.
    pub(super) fn complete(&mut self, answer: &Answer) -> (Option<Delivery>, Option<BoxFuture<'static, ()>>) {
        self.settled = true;
        let keeping = self.gate.as_ref().and_then(|gate| gate.keep(&self.live, answer, self.number));
        let keeping = match (self.noting.take(), keeping) {
            (None, keeping) => keeping,
            (Some(noting), keeping) => Some(noting.map(drop).then(|()| OptionFuture::from(keeping)).map(drop).boxed()),
        };
        let outcome = Outcome::of(answer);
        if outcome == Outcome::Failed {
            self.fail(failure(answer), answer.error.as_deref(), Some(answer));
            return (None, keeping);
        }
        let end = self.note(answer, outcome);
        let keeping = match (keeping, self.storing.take()) {
            (Some(keeping), Some(storing)) => Some(keeping.then(|()| storing).boxed()),
            (keeping, storing) => keeping.or(storing),
        };
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
        self.recording.over();
        // Idle time begins with the end of the answer.
        self.turns.sessions.records.touch(&self.live.key, Timestamp::now());
    }
}
