//! The legs of one answer so far, and what later requests have to hold of them.
use crate::bus::Carrying;
use crate::context::{Answer, Leg, LegReply, LegResult, Restored, Usage};
use crate::json::Rope;
use crate::session::conversation::Said;
use std::sync::Arc;

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
    /// Calls of the last leg that the client does not know, or knows otherwise.
    restored: Vec<Restored>,
    /// The gateway spoke in the place of an answer to the last leg.
    spoke: bool,
    /// Messages that the model was told, each with how many legs there were then.
    mail: Vec<(usize, Carrying)>,
}

/// What later requests have to hold of an answer.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The legs before the last that said something.
    pub legs: Vec<Leg>,
    /// Calls of the last leg that the client does not know, or knows otherwise.
    pub restored: Vec<Restored>,
    /// The newest answer's id.
    pub newest: Option<String>,
    /// The gateway spoke in the place of an answer to the last of the legs.
    pub spoke: bool,
    /// Messages that the model was told in these legs.
    pub mail: Vec<Carrying>,
}

impl Kept {
    /// What the provider still has to be told of the newest answer's calls.
    pub(super) fn owed(&self) -> Arc<[LegResult]> {
        let hidden = self.restored.iter().filter_map(|call| call.result.clone());
        let told = match self.legs.last().map(|leg| &leg.reply) {
            Some(LegReply::Results(results)) if self.spoke => results.as_slice(),
            _ => &[],
        };
        told.iter().cloned().chain(hidden).collect()
    }
}

impl Joined {
    /// Before the first answer to `sent`.
    pub(super) fn new(sent: Rope) -> Self {
        Self { sent, ..Self::default() }
    }

    /// The newest answer is followed by another one, to `sent`.
    pub(super) fn go_on(&mut self, leg: Leg, answer: &Answer, sent: Rope) {
        self.said.text.push_str(&answer.text);
        self.costs.push(answer.usage);
        self.legs.push(leg);
        self.sent = sent;
    }

    /// What the model was told for the running leg.
    pub(super) fn told(&self) -> Option<&str> {
        match &self.legs.last()?.reply {
            LegReply::Message(text) => Some(text),
            LegReply::Results(_) => None,
        }
    }

    /// Nothing followed: the newest answer is the last one.
    pub(super) fn stay(&mut self) {
        self.legs.pop();
        self.costs.pop();
        self.leave_mail();
    }

    /// What the model was told behind the newest leg holds these messages.
    pub(super) fn carry(&mut self, mail: Carrying) {
        self.mail.push((self.legs.len(), mail));
    }

    /// Messages of legs that are none wait again.
    fn leave_mail(&mut self) {
        let legs = self.legs.len();
        self.mail.retain(|(behind, _)| *behind <= legs);
    }

    /// What the legs cost together.
    pub(super) fn cost(&self) -> Usage {
        self.costs.iter().fold(Usage::default(), |all, one| Usage {
            input: all.input.saturating_add(one.input),
            cached_input: all.cached_input.saturating_add(one.cached_input),
            output: all.output.saturating_add(one.output),
        })
    }

    /// The body of the newest request.
    pub(super) fn sent(&self) -> &Rope {
        &self.sent
    }

    /// What was said before the running leg.
    pub(super) fn said(&self) -> &Said {
        &self.said
    }

    /// How often the model was told that its calls are not made.
    pub(super) fn answered(&self) -> usize {
        self.legs.iter().filter(|leg| matches!(leg.reply, LegReply::Results(_))).count()
    }

    /// A leg behind the first is whole.
    pub(super) fn hear(&mut self, answer: &Answer, spoken: bool) {
        self.newest.clone_from(&answer.id);
        self.is_mute = !spoken;
    }

    /// The gateway spoke in the place of an answer to the newest leg.
    pub(super) fn speak(&mut self) {
        self.spoke = true;
    }

    /// The newest leg's calls are restored so.
    pub(super) fn restore(&mut self, calls: Vec<Restored>) {
        self.restored = calls;
    }

    /// What later requests have to hold.
    pub(super) fn take(&mut self) -> Kept {
        let mut is_mute = self.is_mute;
        while is_mute && let Some(leg) = self.legs.pop() {
            is_mute = leg.answer.is_empty();
        }
        self.leave_mail();
        Kept {
            legs: std::mem::take(&mut self.legs),
            restored: std::mem::take(&mut self.restored),
            newest: self.newest.take(),
            spoke: std::mem::take(&mut self.spoke),
            mail: std::mem::take(&mut self.mail).into_iter().map(|(_, mail)| mail).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::AnswerForm;
    use crate::dialect;

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
            assert_eq!(joined.take().legs.len(), kept, "{texts:?} {is_mute}");
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
