//! Events that a process was given and has not answered, and whose answer a line is.
use crate::hooks::HookFailure;
use memchr::memmem;
use serde::Deserialize;
use std::collections::VecDeque;
use tokio::sync::oneshot;

/// Events in one process at once. More wait in front of it, each on its own timeout.
const MAX_IN_FLIGHT: usize = 256;

/// Who waits for an answer.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) event_id: String,
    /// The longest answer that it takes, in bytes.
    pub(super) limit: usize,
    pub(super) answer: oneshot::Sender<Result<Vec<u8>, HookFailure>>,
}

/// In the order in which the events were given. One that nobody waits for any more (it timed out) keeps its place, so that
/// its late answer is counted off and not taken for the next one's.
#[derive(Debug, Default)]
pub(super) struct Pending(VecDeque<Waiting>);

impl Pending {
    pub(super) fn push(&mut self, waiting: Waiting) {
        self.0.push_back(waiting);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_IN_FLIGHT
    }

    /// How long a line may be, in bytes.
    pub(super) fn limit(&self) -> usize {
        self.0.iter().map(|waiting| waiting.limit).max().unwrap_or_default()
    }

    /// Gives a line to the event that it names, or else to the first. False when there is no such event.
    pub(super) fn answer(&mut self, line: &[u8]) -> bool {
        let place = match named(line) {
            Some(id) => self.0.iter().position(|waiting| waiting.event_id == id),
            None => Some(0),
        };
        let Some(waiting) = place.and_then(|place| self.0.remove(place)) else { return false };
        // An error: nobody waits for it any more.
        let _ = waiting.answer.send(Ok(line.to_vec()));
        true
    }

    /// None of them will be answered.
    pub(super) fn fail(&mut self, failure: &HookFailure) {
        for waiting in self.0.drain(..) {
            let _ = waiting.answer.send(Err(failure.clone()));
        }
    }
}

/// The `event_id` in an answer.
fn named(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Answer {
        event_id: Option<String>,
    }
    memmem::find(line, b"\"event_id\"")?;
    serde_json::from_slice::<Answer>(line).ok()?.event_id
}

#[cfg(test)]
mod tests {
    use super::*;

    type Answered = oneshot::Receiver<Result<Vec<u8>, HookFailure>>;

    fn asked(ids: &[&str]) -> (Pending, Vec<Answered>) {
        let mut pending = Pending::default();
        let answered = ids.iter().map(|id| {
            let (answer, answered) = oneshot::channel();
            pending.push(Waiting { event_id: (*id).to_owned(), limit: 10, answer });
            answered
        });
        let answered = answered.collect();
        (pending, answered)
    }

    fn text(answered: &mut Answered) -> Option<String> {
        let line = answered.try_recv().ok()?.expect("an answer");
        Some(String::from_utf8(line).expect("text"))
    }

    #[test]
    fn without_a_name_the_order_counts() {
        let (mut pending, mut answered) = asked(&["1", "2"]);
        assert!(pending.answer(b"one") && pending.answer(b""));
        assert_eq!(answered.iter_mut().map(text).collect::<Vec<_>>(), [Some("one".into()), Some(String::new())]);
        assert!(!pending.answer(b"three"), "nobody asked");
    }

    #[test]
    fn a_named_answer_may_come_out_of_order() {
        let (mut pending, mut answered) = asked(&["1", "2", "3"]);
        let second = r#"{"event_id":"2","context":"b"}"#;
        assert!(pending.answer(second.as_bytes()) && pending.answer(b"a") && pending.answer(b"c"));
        let texts: Vec<Option<String>> = answered.iter_mut().map(text).collect();
        assert_eq!(texts, [Some("a".into()), Some(second.into()), Some("c".into())]);
        let (mut pending, _answered) = asked(&["1"]);
        assert!(!pending.answer(second.as_bytes()), "an id that is not there is nobody's");
    }

    #[test]
    fn only_a_member_of_the_answer_itself_is_a_name() {
        for line in
            [r#"{"context":"\"event_id\":\"2\""}"#, r#"{"x":{"event_id":"2"}}"#, r#"{"event_id":2}"#, r#""event_id""#]
        {
            let (mut pending, mut answered) = asked(&["1", "2"]);
            assert!(pending.answer(line.as_bytes()), "{line}");
            assert_eq!(text(&mut answered[0]).as_deref(), Some(line));
        }
    }

    #[test]
    fn a_late_answer_is_not_the_next_ones() {
        let (mut pending, mut answered) = asked(&["1", "2"]);
        drop(answered.remove(0));
        assert!(pending.answer(b"late") && pending.answer(b"two"));
        assert_eq!(text(&mut answered[0]).as_deref(), Some("two"));
    }
}
