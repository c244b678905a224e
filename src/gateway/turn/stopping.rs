//! `session.stopping`: asks hooks whether a turn may end, and sends the model back to work where they say so.
//!
//! The default is to stop: whatever goes wrong here, the answer that is there was complete, and the turn ends with it.
use super::Turns;
use super::occasion::{Occasion, Particulars, TurnEnd};
use crate::config::EventKind;
use crate::context::{Answer, Leg, LegReply, Usage};
use crate::dialect::{self, Endpoint};
use crate::gateway::answer_head;
use crate::gateway::leg_request::{LegBody, LegRequest};
use crate::gateway::legs::{Director, Ended, Next};
use crate::hooks::{FireContext, Verdict};
use crate::json::{Doc, Rope};
use crate::session::conversation::{Live, Said};
use crate::session::profile::Profile;
use crate::telemetry::names;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use http::response::Parts;
use parking_lot::Mutex;
use std::sync::Arc;

/// What is needed to ask, and to go on.
pub(super) struct Stopping {
    pub(super) turns: Arc<Turns>,
    pub(super) live: Arc<Live>,
    pub(super) occasion: Arc<Occasion>,
    /// The client's.
    pub(super) headers: Arc<HeaderMap>,
    pub(super) endpoint: Endpoint,
    /// Which client.
    pub(super) profile: Arc<Profile>,
    /// The media type of the first leg.
    pub(super) media_type: Option<Vec<u8>>,
    /// The running turn's id.
    pub(super) turn: String,
    /// What was said in the turn's earlier requests.
    pub(super) said: Said,
    pub(super) request: LegRequest,
    pub(super) joined: Arc<Mutex<Joined>>,
}

/// What the legs before the running one have left.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// The legs in order.
    legs: Vec<Leg>,
    /// What they said.
    said: Said,
    /// What each cost.
    costs: Vec<Usage>,
    /// The id of the newest answer: behind it the provider's history goes on.
    newest: Option<String>,
    /// The newest answer said nothing.
    is_mute: bool,
    /// The body of the newest request.
    sent: Rope,
}

impl Joined {
    /// Before the first answer to `sent`.
    pub(super) fn new(sent: Rope) -> Self {
        Self { sent, ..Self::default() }
    }

    /// The newest answer is followed by another one, to `sent`.
    fn go_on(&mut self, leg: Leg, answer: &Answer, sent: Rope) {
        self.said.text.push_str(&answer.text);
        self.costs.push(answer.usage);
        self.legs.push(leg);
        self.sent = sent;
    }

    /// What the model was told for the running leg.
    fn told(&self) -> Option<&str> {
        match &self.legs.last()?.reply {
            LegReply::Message(text) => Some(text),
            LegReply::Results(_) => None,
        }
    }

    /// Nothing followed: the newest answer is the last one.
    fn stay(&mut self) {
        self.legs.pop();
        self.costs.pop();
    }

    /// What the legs cost together.
    pub(super) fn cost(&self) -> Usage {
        self.costs.iter().fold(Usage::default(), |all, one| Usage {
            input: all.input.saturating_add(one.input),
            cached_input: all.cached_input.saturating_add(one.cached_input),
            output: all.output.saturating_add(one.output),
        })
    }

    /// What later requests have to hold: the legs before the last that said something, and the newest answer's id.
    pub(super) fn take(&mut self) -> (Vec<Leg>, Option<String>) {
        let mut is_mute = self.is_mute;
        while is_mute && let Some(leg) = self.legs.pop() {
            is_mute = leg.answer.is_empty();
        }
        (std::mem::take(&mut self.legs), self.newest.take())
    }
}

/// Why a model that a hook sends back to work stops all the same.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("continuation.max_per_turn is reached")]
    Cap,
    #[error("lifecycle.max_requests_per_turn is reached")]
    Requests,
    #[error("the same text brought the same answer again and again")]
    Circle,
    #[error("the answer can't be sent back to the model")]
    Unknown,
    #[error("the next request can't be made: {0}")]
    Body(String),
    #[error("the next request failed: {0}")]
    Upstream(String),
    #[error("the turn is not the running one any more")]
    Gone,
}

impl Refusal {
    /// Its word in metrics.
    const fn name(&self) -> &'static str {
        match self {
            Self::Cap => "cap",
            Self::Requests => "max_requests",
            Self::Circle => "circle",
            Self::Unknown | Self::Body(_) => "not_possible",
            Self::Upstream(_) => "upstream",
            Self::Gone => "gone",
        }
    }
}

/// Runs [`Stopping`] for the legs of one answer.
pub struct StopDirector(Arc<Stopping>);

impl StopDirector {
    pub(super) fn new(stopping: Stopping) -> Self {
        Self(Arc::new(stopping))
    }
}

impl Director for StopDirector {
    type Body = LegBody;

    fn after(&mut self, leg: Ended) -> BoxFuture<'static, Next<LegBody>> {
        let stopping = self.0.clone();
        async move { stopping.follow_up(leg).await.map_or(Next::End, Next::Leg) }.boxed()
    }

    fn heard(&mut self, answer: &Answer, spoken: bool) {
        let mut joined = self.0.joined.lock();
        joined.newest.clone_from(&answer.id);
        joined.is_mute = !spoken;
    }

    fn lost(&mut self, why: &str, spoken: bool) {
        let session = &self.0.live.key;
        metrics::counter!(names::CONTINUATIONS, "result" => "lost").increment(1);
        tracing::warn!(%session, why, spoken, "a further answer of a turn was lost");
        if !spoken {
            self.0.joined.lock().stay();
        }
    }
}

impl Stopping {
    /// The next leg, if a hook wants one and there can be one.
    async fn follow_up(&self, leg: Ended) -> Option<LegBody> {
        let answer = &leg.answer;
        if answer.refused || answer.many || !answer.calls.is_empty() {
            return None;
        }
        let message = match self.ask(answer).await {
            Ok(message) => message?,
            Err(refusal) => return self.refused(&refusal),
        };
        match self.go_on(leg, message).await {
            Ok(body) => Some(body),
            Err(refusal) => self.refused(&refusal),
        }
    }

    fn refused(&self, refusal: &Refusal) -> Option<LegBody> {
        metrics::counter!(names::CONTINUATIONS, "result" => refusal.name()).increment(1);
        let session = &self.live.key;
        tracing::warn!(%session, turn = self.occasion.turn, "the model is not sent back to work: {refusal}");
        None
    }

    /// What the hooks want the model to be told; `None`: it may stop.
    async fn ask(&self, answer: &Answer) -> Result<Option<String>, Refusal> {
        let end = self.end_so_far(answer)?;
        let kind = EventKind::SessionStopping;
        let Ok(Some(record)) = self.turns.sessions.records.get(&self.live.key).await else { return Ok(None) };
        let identity = format!("{}/{}", self.turn, end.attempt);
        let particulars = Particulars { identity: &identity, turn: Some(&end), ..Particulars::default() };
        let event = self.occasion.event(kind, Some(&record), particulars);
        let context = FireContext { headers: &self.headers, deadline: None };
        match Verdict::of(&self.turns.pipeline.fire(kind, &event, context).await) {
            Verdict::Stop => Ok(None),
            Verdict::Continue(message) => Ok(Some(message)),
        }
    }

    /// The turn as it would end with this answer.
    fn end_so_far(&self, answer: &Answer) -> Result<TurnEnd, Refusal> {
        let joined = self.joined.lock();
        let mut state = self.live.state.lock();
        let turn = state.record.turn.as_mut().filter(|turn| turn.id == self.turn).ok_or(Refusal::Gone)?;
        if let Some(told) = joined.told() {
            turn.note_round(told, answer);
        }
        if turn.goes_in_circles() {
            return Err(Refusal::Circle);
        }
        let mut end = TurnEnd::of(&self.turn, answer);
        end.continued(turn);
        end.usage.output += turn.output + joined.cost().output;
        end.put_before(&joined.said);
        end.put_before(&self.said);
        end.put_before(&turn.said);
        Ok(end)
    }

    async fn go_on(&self, leg: Ended, message: String) -> Result<LegBody, Refusal> {
        let Ended { answer, native } = leg;
        let native = native.ok_or(Refusal::Unknown)?;
        self.count()?;
        let leg = Leg { id: answer.id.clone(), answer: native, reply: LegReply::Message(message) };
        let body = self.next_body(leg.clone()).await?;
        let (head, next) =
            self.request.send(body.clone()).await.map_err(|error| Refusal::Upstream(error.to_string()))?;
        self.check(&head)?;
        metrics::counter!(names::CONTINUATIONS, "result" => "continued").increment(1);
        tracing::info!(session = %self.live.key, turn = self.occasion.turn, "a hook sends the model back to work");
        self.joined.lock().go_on(leg, &answer, body);
        Ok(next)
    }

    /// One more continuation of the turn, if it may have one. Counted before it is sent: a client that breaks off and tries
    /// again must not get more of them.
    fn count(&self) -> Result<(), Refusal> {
        let config = &self.turns.config;
        let mut state = self.live.state.lock();
        let turn = state.record.turn.as_mut().filter(|turn| turn.id == self.turn).ok_or(Refusal::Gone)?;
        if turn.continued >= config.continuation.max_per_turn {
            return Err(Refusal::Cap);
        }
        let limit = config.lifecycle.max_requests_per_turn;
        if limit > 0 && turn.requests >= limit {
            return Err(Refusal::Requests);
        }
        turn.requests += 1;
        turn.note_continuation();
        Ok(())
    }

    /// The newest request's body with the answer and the reply behind it. Read where it holds up nobody: it may be long.
    async fn next_body(&self, leg: Leg) -> Result<Rope, Refusal> {
        let sent = self.joined.lock().sent.to_bytes();
        let (turns, endpoint, profile) = (self.turns.clone(), self.endpoint.clone(), self.profile.clone());
        let work = move || -> Result<Rope, String> {
            let doc = Doc::parse(sent).map_err(|error| error.to_string())?;
            let view = turns.view(&doc, &endpoint, &profile).map_err(|error| error.to_string())?;
            let splice = dialect::of(endpoint.dialect).extend(&doc, &view, &leg).map_err(|error| error.to_string())?;
            splice.apply(doc.bytes()).map_err(|error| error.to_string())
        };
        let made = tokio::task::spawn_blocking(work).await.map_err(|error| Refusal::Body(error.to_string()))?;
        made.map_err(Refusal::Body)
    }

    /// Whether an answer with this head can be joined.
    fn check(&self, head: &Parts) -> Result<(), Refusal> {
        if !head.status.is_success() {
            return Err(Refusal::Upstream(format!("HTTP status {}", head.status.as_u16())));
        }
        if answer_head::encoding(&head.headers).is_some() {
            return Err(Refusal::Upstream("its answer is compressed, though identity was asked for".to_owned()));
        }
        match answer_head::media_type(&head.headers) == self.media_type {
            true => Ok(()),
            false => Err(Refusal::Upstream("its answer has another media type than the first".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::AnswerForm;

    fn said(text: &str) -> Answer {
        let body = format!(
            r#"{{"id":"msg","type":"message","role":"assistant","content":[{{"type":"text","text":"{text}"}}],
                "stop_reason":"end_turn","usage":{{"input_tokens":3,"output_tokens":5}}}}"#
        );
        let mut reader = dialect::of(dialect::DialectId::Anthropic).reader(AnswerForm::Json);
        reader.body(body.as_bytes());
        reader.finish()
    }

    /// Legs before the running one, each with these texts.
    fn joined(texts: &[&str]) -> Joined {
        let mut joined = Joined::default();
        for text in texts {
            let answer = (!text.is_empty()).then(|| (*text).to_owned()).into_iter().collect();
            let leg = Leg { id: None, answer, reply: LegReply::Message("go on".to_owned()) };
            joined.go_on(leg, &said(text), Rope::default());
        }
        joined
    }

    #[test]
    fn legs_that_said_nothing_at_the_end_are_none_of_the_message() {
        let table: [(&[&str], bool, usize); 6] = [
            (&["a"], false, 1),
            (&["a"], true, 0),
            (&["a", ""], false, 2),
            (&["a", ""], true, 0),
            (&["a", "", "b"], true, 2),
            (&["", ""], true, 0),
        ];
        for (texts, is_mute, kept) in table {
            let mut joined = joined(texts);
            joined.is_mute = is_mute;
            assert_eq!(joined.take().0.len(), kept, "{texts:?} {is_mute}");
        }
    }

    #[test]
    fn what_a_leg_cost_that_nothing_followed_is_not_counted_twice() {
        let mut joined = joined(&["a", "b"]);
        assert_eq!((joined.cost().input, joined.cost().output), (6, 10));
        joined.stay();
        assert_eq!((joined.cost().input, joined.cost().output), (3, 5));
    }
}
