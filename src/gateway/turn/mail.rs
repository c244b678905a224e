//! Messages that come while the model answers: a turn that ends goes on with them, and a halt takes its calls away.
use super::Turns;
use super::again::{Again, Refusal};
use super::stopping::count;
use crate::bus::{Carrying, Mailbox, Message, Taking, frame};
use crate::context::LegReply;
use crate::gateway::leg_request::LegBody;
use crate::gateway::legs::Ended;
use crate::session::conversation::Live;
use crate::session::record::SessionKey;
use crate::telemetry::names;
use std::sync::Arc;

/// What the model is told of a call that is not made because of a halt; the message itself follows.
pub(super) const HALTED: &str = "This call was not made: a message on the session bus says that this turn is to end. Make no further \
                      tool calls, and close with a short answer.";

/// Looks for messages while one answer comes.
pub(super) struct Mail {
    turns: Arc<Turns>,
    live: Arc<Live>,
    /// The running turn's id.
    turn: String,
}

impl Turns {
    /// Whether a message may come while an answer of this session does. Without a spool that is only known of a session that
    /// had one before: holding the end of every answer is not free.
    pub(super) fn may_get_mail(&self, session: &SessionKey) -> bool {
        self.config.bus.maildir.is_some() || self.has_mailbox(session)
    }

    /// Whether a session ever had a message.
    pub(super) fn has_mailbox(&self, session: &SessionKey) -> bool {
        self.bus.mailbox(session).is_some()
    }

    /// What looks for messages in this turn, where there may be any.
    pub(super) fn mail(self: &Arc<Self>, live: &Arc<Live>, turn: &str) -> Option<Mail> {
        let mail = || Mail { turns: self.clone(), live: live.clone(), turn: turn.to_owned() };
        self.may_get_mail(&live.key).then(mail)
    }
}

impl Mail {
    fn mailbox(&self) -> Option<Arc<Mailbox>> {
        self.turns.bus.mailbox(&self.live.key)
    }

    /// What the model is told of its calls, if none of this turn is made any more.
    pub(super) fn halted(&self) -> Option<String> {
        self.mailbox().filter(|mailbox| mailbox.halts(&self.turn)).map(|_| {
            metrics::counter!(names::TOOL_CALLS, "ruling" => "halted").increment(1);
            HALTED.to_owned()
        })
    }

    /// The next leg, if a message wants one and there can be one.
    pub(super) async fn follow_up(&self, again: &Again, leg: &Ended) -> Option<LegBody> {
        let answer = &leg.answer;
        if answer.refused || answer.many || !answer.calls.is_empty() {
            return None;
        }
        self.mailbox().filter(|mailbox| mailbox.has_urgent())?;
        match self.go_on(again, leg).await {
            Ok(body) => body,
            Err(refusal) => {
                metrics::counter!(names::CONTINUATIONS, "result" => refusal.name()).increment(1);
                tracing::warn!(session = %self.live.key, "a message waits for the next prompt: {refusal}");
                None
            }
        }
    }

    async fn go_on(&self, again: &Again, leg: &Ended) -> Result<Option<LegBody>, Refusal> {
        if leg.native.is_none() {
            return Err(Refusal::Unknown);
        }
        count(&self.turns, &self.live, &self.turn)?;
        let Some((carrying, text)) = self.take(true).await else { return Ok(None) };
        let told = text.clone();
        let body = again.send(leg, LegReply::Message(text)).await?;
        again.origin.recording.goes_on("message", Some(&told));
        again.origin.recording.delivered(carrying.ids());
        again.joined.lock().carry(carrying);
        metrics::counter!(names::CONTINUATIONS, "result" => "message").increment(1);
        tracing::info!(session = %self.live.key, "a message sends the model back to work");
        Ok(Some(body))
    }

    /// Claims what waits, as one text. `urgent`: only what does not wait for a next request.
    pub(super) async fn take(&self, urgent: bool) -> Option<(Carrying, String)> {
        let mailbox = self.mailbox().filter(|mailbox| mailbox.has_waiting())?;
        let taking = Taking {
            conversation: &self.live.id,
            turn_id: &self.turn,
            standing: &[],
            has_room: true,
            urgent,
            // What another request left behind may stand in a ledger.
            only_new: true,
        };
        let taken: Option<(Carrying, Vec<Message>)> =
            self.turns.bus.take(&mailbox, taking).await.unwrap_or_else(|error| {
                tracing::error!(session = %self.live.key, %error, "messages wait: they can't be claimed now");
                None
            });
        taken.map(|(carrying, messages)| (carrying, frame::joined(&messages)))
    }
}
