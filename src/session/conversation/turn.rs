//! The running turn of a conversation: what is kept of it from one request to the next.
use crate::context::answer::call_key;
use crate::context::placement::Placed;
use crate::context::{Answer, Call, Digest};
use crate::session::anchor::Anchor;
use serde::{Deserialize, Serialize};

/// Equal rounds in a row that are a circle: the first repetition may be chance, and the default of
/// `continuation.max_per_turn` ends a turn before this does.
const CIRCLE: usize = 3;

/// The running or last turn.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Turn {
    /// Stable over retries: conversation, ordinal and normal form of the prompt.
    pub id: String,
    /// Ordinal within the session, from 1.
    pub number: u64,
    /// Ended by itself and delivered.
    pub done: bool,
    /// `session.fail` was fired for it.
    pub failed: bool,
    /// The user's words, where later requests of the turn do not show them (deltas).
    pub prompt: String,
    /// Model-facing requests so far.
    pub requests: u32,
    /// How often a hook has sent the model back to work, over all requests of the turn.
    #[serde(default)]
    pub continued: u32,
    /// Digests of what the model was told then and what it answered, of the last three times.
    #[serde(default)]
    pub rounds: Vec<Digest>,
    /// Characters of hooks' text placed in it so far (`lifecycle.max_injected_context_chars`).
    #[serde(default)]
    pub placed: usize,
    /// Output tokens over all its requests.
    pub output: u64,
    /// What was said in requests whose history the provider holds; elsewhere the request itself shows it.
    pub said: Said,
    /// What hooks said of its calls before they were made; as much as the turn has room for.
    #[serde(default)]
    pub beside: Vec<Beside>,
}

/// Texts that stand beside the result of a call, once that is there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Beside {
    id: String,
    /// Name and arguments, for a call whose id the client does not keep.
    key: String,
    /// Where they stand.
    at: Option<Anchor>,
    texts: Vec<Placed>,
}

impl Beside {
    /// The texts, which stand at this place from now on: there again, should the result say something else.
    pub fn place(&mut self, at: &Anchor) -> Vec<Placed> {
        self.at = Some(at.clone());
        self.texts.clone()
    }

    /// Of a call as the client gets it.
    pub fn new(call: &Call, texts: Vec<Placed>) -> Self {
        let key = call_key("", &call.name, call.input.get());
        Self { id: call.id.clone(), key, at: None, texts }
    }

    /// Whether a result with this id, of this call, is the one that they stand beside.
    fn is_of(&self, result: &str, call: Option<&Call>) -> bool {
        if !self.id.is_empty() && self.id == result {
            return true;
        }
        let is_nameless = |call: &&Call| self.id.is_empty() || (call.id.is_empty() && result.is_empty());
        call.filter(is_nameless).is_some_and(|call| call_key("", &call.name, call.input.get()) == self.key)
    }
}

impl Turn {
    /// A hook sends the model back to work.
    pub fn note_continuation(&mut self) {
        self.continued = self.continued.saturating_add(1);
    }

    /// Sent back with `message`, the model gave this answer.
    pub fn note_round(&mut self, message: &str, answer: &Answer) {
        let answer = answer.link().map_or([0; 16], |link| link.0);
        self.rounds.push(Digest::of(&[message.as_bytes(), &answer]));
        let excess = self.rounds.len().saturating_sub(CIRCLE);
        self.rounds.drain(..excess);
    }

    /// Whether the same words brought the same answer three times in a row: going on would change nothing.
    pub fn goes_in_circles(&self) -> bool {
        let first = self.rounds.first();
        self.rounds.len() == CIRCLE && self.rounds.iter().all(|round| Some(round) == first)
    }

    /// Where what was said of a call stands that has the result with this id, at this place.
    pub fn beside(&mut self, at: &Anchor, result: &str, call: Option<&Call>) -> Option<&mut Beside> {
        let placed = self.beside.iter().position(|beside| beside.at.as_ref() == Some(at));
        let waits = || self.beside.iter().position(|beside| beside.at.is_none() && beside.is_of(result, call));
        placed.or_else(waits).and_then(|index| self.beside.get_mut(index))
    }

    /// Its prompt is asked again. If it was done this is a regeneration, which has all its continuations before it; else a
    /// retry, which goes on with the same turn.
    pub fn ask_again(&mut self) {
        if self.done {
            self.requests = 0;
            self.continued = 0;
            self.rounds.clear();
        }
    }
}

/// Text and calls of a turn's earlier answers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Said {
    /// The text, answers joined.
    pub text: String,
    /// The calls in order.
    pub calls: Vec<Call>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::AnswerForm;
    use crate::dialect::{self, DialectId};

    fn says(text: &str) -> Answer {
        let body = serde_json::json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
        let mut reader = dialect::of(DialectId::Chat).reader(AnswerForm::Json);
        reader.body(body.to_string().as_bytes());
        reader.finish()
    }

    fn turn(rounds: &[(&str, &str)]) -> Turn {
        rounds.iter().fold(Turn::default(), |mut turn, (message, answer)| {
            turn.note_round(message, &says(answer));
            turn
        })
    }

    #[test]
    fn the_same_words_and_the_same_answer_three_times_in_a_row_are_a_circle() {
        let (again, other, elsewhere) = (("test", "done"), ("test", "it fails"), ("build", "done"));
        for (rounds, circle) in [
            (vec![], false),
            (vec![again; 2], false),
            (vec![again; 3], true),
            (vec![again; 9], true),
            (vec![other, again, again, again], true),
            (vec![again, again, other], false),
            (vec![again, again, elsewhere, again], false),
            (vec![again, ("test", " do\nne"), again], true),
            (vec![("test", ""); 3], true),
        ] {
            let turn = turn(&rounds);
            assert_eq!(turn.goes_in_circles(), circle, "{rounds:?}");
            assert!(turn.rounds.len() <= CIRCLE);
        }
    }

    #[test]
    fn a_regeneration_has_all_its_continuations_and_a_retry_what_is_left() {
        for (done, left) in [(true, 0), (false, 2)] {
            let mut turn = Turn { done, ..turn(&[("test", "done")]) };
            turn.note_continuation();
            turn.note_continuation();
            turn.ask_again();
            assert_eq!((turn.continued, turn.rounds.is_empty()), (left, done));
        }
    }

    #[test]
    fn a_turn_that_was_stored_before_there_were_continuations_has_none() {
        let mut stored = serde_json::to_value(turn(&[("test", "done")])).unwrap();
        let members = stored.as_object_mut().unwrap();
        members.remove("continued").unwrap();
        members.remove("rounds").unwrap();
        let turn: Turn = serde_json::from_value(stored).unwrap();
        assert_eq!((turn.continued, turn.rounds.len()), (0, 0));
    }
}
