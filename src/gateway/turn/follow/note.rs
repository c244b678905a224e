//! What an answer leaves in its conversation, and a turn that failed in its session.
use super::super::ending::Ending;
use super::super::occasion::TurnEnd;
use super::super::outcome::Outcome;
use super::Follow;
use crate::config::EventKind;
use crate::context::{Answer, Digest, Finish, Usage};
use crate::session::chain::answer_node;
use crate::session::conversation::Said;
use crate::telemetry::names;

impl Follow {
    /// Notes the answer in the conversation, so that the next request is known by it. Returns the turn with all that was
    /// said in it.
    pub(super) fn note(&mut self, answer: &Answer, outcome: Outcome) -> TurnEnd {
        metrics::counter!(names::TURNS, "outcome" => outcome.name(), "dialect" => self.dialect.name()).increment(1);
        // The client's figures are those of the last leg, which is what it takes for the size of its context.
        let before = self.gate.as_ref().map(|gate| gate.joined.lock().cost()).unwrap_or_default();
        let usage = Usage {
            input: before.input + answer.usage.input,
            cached_input: before.cached_input + answer.usage.cached_input,
            output: answer.usage.output,
        };
        self.turns.meters.tokens(&self.model, &usage);
        self.recording.completed(outcome.name(), answer, usage);
        self.trace.note(|noted| {
            noted.response.clone_from(&answer.id);
            noted.finish.clone_from(&answer.native_finish);
            noted.tokens = Some((usage.input, usage.cached_input, usage.output));
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
        match news {
            true if self.turns.is_shared() => self.storing = Some(self.turns.store_answer(&self.live, nodes)),
            true => self.turns.announce(&self.live, nodes, true),
            false => {}
        }
        end
    }

    /// The turn failed; `session.fail` runs once for it, however often the client tries.
    pub(in crate::gateway::turn) fn fail(&mut self, reason: &str, error: Option<&str>, answer: Option<&Answer>) {
        self.settled = true;
        metrics::counter!(names::TURNS, "outcome" => "failed", "dialect" => self.dialect.name()).increment(1);
        tracing::info!(session = self.live.key.id, turn = self.number, reason, error, "turn failed");
        if let Some(answer) = answer {
            self.recording.completed("failed", answer, answer.usage);
        }
        self.recording.failed(reason, error);
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
        self.turns.end(ending, self.headers.clone(), running, self.recording.clone());
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
