//! `session.stopping`: asks hooks whether a turn may end, and sends the model back to work where they say so.
//!
//! The default is to stop: whatever goes wrong here, the answer that is there was complete, and the turn ends with it.
use super::Turns;
use super::again::{Again, Refusal};
use super::asking::Asking;
use super::occasion::{Particulars, TurnEnd};
use crate::config::EventKind;
use crate::context::{Answer, LegReply};
use crate::gateway::leg_request::LegBody;
use crate::gateway::legs::Ended;
use crate::hooks::{FireContext, Verdict};
use crate::session::conversation::{Live, Said};
use crate::telemetry::names;
use std::sync::Arc;

/// Asks whether a turn may end.
pub(super) struct Stopping {
    pub(super) asking: Arc<Asking>,
    /// What was said in the turn's earlier requests.
    pub(super) said: Said,
}

impl Stopping {
    /// The next leg, if a hook wants one and there can be one.
    pub(super) async fn follow_up(&self, again: &Again, leg: Ended) -> Option<LegBody> {
        let answer = &leg.answer;
        if answer.refused || answer.many || !answer.calls.is_empty() {
            return None;
        }
        let message = match self.ask(again, answer).await {
            Ok(message) => message?,
            Err(refusal) => return self.refused(&refusal),
        };
        match self.go_on(again, &leg, message).await {
            Ok(body) => Some(body),
            Err(refusal) => self.refused(&refusal),
        }
    }

    fn refused(&self, refusal: &Refusal) -> Option<LegBody> {
        metrics::counter!(names::CONTINUATIONS, "result" => refusal.name()).increment(1);
        let session = &self.asking.live.key;
        tracing::warn!(%session, turn = self.asking.occasion.turn, "the model is not sent back to work: {refusal}");
        None
    }

    /// What the hooks want the model to be told; `None`: it may stop.
    async fn ask(&self, again: &Again, answer: &Answer) -> Result<Option<String>, Refusal> {
        let end = self.end_so_far(again, answer)?;
        let kind = EventKind::SessionStopping;
        let Ok(Some(record)) = self.asking.turns.sessions.records.get(&self.asking.live.key).await else {
            return Ok(None);
        };
        let identity = format!("{}/{}", self.asking.turn, end.attempt);
        let particulars = Particulars { identity: &identity, turn: Some(&end), ..Particulars::default() };
        let event = self.asking.occasion.event(kind, Some(&record), particulars);
        let context = FireContext { headers: &self.asking.headers, deadline: None, recording: &again.origin.recording };
        match Verdict::of(&self.asking.turns.pipeline.fire(kind, &event, context).await) {
            Verdict::Stop => Ok(None),
            Verdict::Continue(message) => Ok(Some(message)),
        }
    }

    /// The turn as it would end with this answer.
    fn end_so_far(&self, again: &Again, answer: &Answer) -> Result<TurnEnd, Refusal> {
        let joined = again.joined.lock();
        let mut state = self.asking.live.state.lock();
        let turn = self.asking.running(&mut state).ok_or(Refusal::Gone)?;
        if let Some(told) = joined.told() {
            turn.note_round(told, answer);
        }
        if turn.goes_in_circles() {
            return Err(Refusal::Circle);
        }
        let mut end = TurnEnd::of(&self.asking.turn, answer);
        end.continued(turn);
        end.usage.output += turn.output + joined.cost().output;
        end.put_before(joined.said());
        end.put_before(&self.said);
        end.put_before(&turn.said);
        Ok(end)
    }

    async fn go_on(&self, again: &Again, leg: &Ended, message: String) -> Result<LegBody, Refusal> {
        if leg.native.is_none() {
            return Err(Refusal::Unknown);
        }
        count(&self.asking.turns, &self.asking.live, &self.asking.turn)?;
        let told = message.clone();
        let body = again.send(leg, LegReply::Message(message)).await?;
        again.origin.recording.goes_on("hook", Some(&told));
        metrics::counter!(names::CONTINUATIONS, "result" => "continued").increment(1);
        tracing::info!(session = %self.asking.live.key, turn = self.asking.occasion.turn, "a hook sends the model back to work");
        Ok(body)
    }
}

/// One more continuation of the turn, if it may have one. Counted before it is sent: a client that breaks off and tries
/// again must not get more of them.
pub(super) fn count(turns: &Turns, live: &Live, turn_id: &str) -> Result<(), Refusal> {
    let config = &turns.config;
    let mut state = live.state.lock();
    let turn = state.record.turn.as_mut().filter(|turn| turn.id == turn_id).ok_or(Refusal::Gone)?;
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
