//! An answer that comes as one JSON body, held to the tools that it may call.
use super::binder::{BindError, Binder, Calls, Kept, Pass, Ruled};
use super::{Piece, joiner};
use crate::context::{Binding, Call, Glance, Ruling, binding};
use serde::de::IgnoredAny;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

/// What a dialect knows of the calls in a whole body.
pub(super) trait Bound: Send + 'static {
    /// The calls that the client would make, in order; none in a body that is no answer.
    ///
    /// # Errors
    /// [`BindError::Unreadable`] when there could be calls that are not seen.
    fn calls(body: &str) -> Result<Vec<Call>, BindError>;

    /// The body as the client gets it, by what became of each of its calls, with `notice` as a text of the model's where
    /// it is given. Where all calls are refused the answer ended by itself.
    ///
    /// # Errors
    /// [`BindError::Unreadable`]
    fn edited(body: &str, calls: &[Ruled], notice: Option<&str>) -> Result<String, BindError>;
}

/// The binder. The body waits until all of its calls are decided on.
pub(super) struct BodyBinder<B> {
    calls: Calls,
    body: Option<Kept>,
    /// Calls that are not decided on yet; the first one waits.
    open: VecDeque<Call>,
    dialect: PhantomData<fn() -> B>,
}

impl<B: Bound> BodyBinder<B> {
    pub(super) fn new(binding: Arc<Binding>) -> Self {
        Self { calls: Calls::new(binding), body: None, open: VecDeque::new(), dialect: PhantomData }
    }

    /// Decides on what needs no question, and passes the body once nothing waits.
    fn advance(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError> {
        while let Some(call) = self.open.pop_front() {
            let ruling = match self.calls.binding().glance(&call.name) {
                Glance::Pass => Ruling::Allow,
                Glance::Refuse => Ruling::Refuse(binding::not_there(&call.name)),
                Glance::Ask => {
                    self.open.push_front(call);
                    return Ok(());
                }
            };
            self.calls.push(call, ruling);
        }
        if self.is_emptied() { Ok(()) } else { self.release(None, pass) }
    }

    fn release(&mut self, notice: Option<&str>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let Some(body) = self.body.take() else { return Ok(()) };
        if self.calls.all().iter().all(|ruled| ruled.ruling == Ruling::Allow) {
            pass(body.piece());
            return Ok(());
        }
        let piece = body.piece();
        let text = joiner::text(piece.data.unwrap_or_default()).map_err(BindError::unreadable)?;
        let edited = B::edited(text, self.calls.all(), notice)?.into_bytes();
        pass(Piece { raw: edited.clone().into(), event: None, data: Some(&edited) });
        Ok(())
    }
}

impl<B: Bound> Binder for BodyBinder<B> {
    fn piece(&mut self, piece: &Piece<'_>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let Some(data) = piece.data.filter(|_| self.body.is_none()) else {
            pass(piece.clone());
            return Ok(());
        };
        let body = joiner::text(data).map_err(BindError::unreadable)?;
        // Readers take more than JSON says: byte order marks, UTF-16, a second value behind the first.
        if !body.starts_with('{') || serde_json::from_str::<IgnoredAny>(body).is_err() {
            return Err(BindError::Unreadable("no JSON object".to_owned()));
        }
        self.open = B::calls(body)?.into();
        self.body = Some(Kept::of(piece));
        self.advance(pass)
    }

    fn finish(&mut self, _pass: &mut Pass<'_>) -> Result<(), BindError> {
        Ok(())
    }

    fn waiting(&self) -> Option<&Call> {
        self.open.front()
    }

    fn rule(&mut self, ruling: Ruling, pass: &mut Pass<'_>) -> Result<(), BindError> {
        if let Some(call) = self.open.pop_front() {
            self.calls.push(call, ruling);
        }
        self.advance(pass)
    }

    fn calls(&self) -> &[Ruled] {
        self.calls.all()
    }

    fn close(&mut self, notice: Option<&str>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        self.release(notice, pass)
    }

    /// The body is bounded by whoever cut it into a piece.
    fn held(&self) -> usize {
        self.body.as_ref().map_or(0, Kept::len)
    }
}

#[cfg(test)]
mod tests {
    use crate::context::{AnswerForm, Ruling};
    use crate::dialect::binder_testing::{asking, bind, never, only};
    use crate::dialect::{DialectId, of};

    /// An answer with a call, as each dialect has it.
    fn answer(id: DialectId) -> &'static str {
        match id {
            DialectId::Anthropic => {
                r#"{"id":"m","content":[{"type":"tool_use","id":"t","name":"bash","input":{}}],"stop_reason":"tool_use"}"#
            }
            DialectId::Chat => {
                r#"{"choices":[{"index":0,"message":{"tool_calls":[{"id":"t","type":"function","function":{"name":"bash","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#
            }
            DialectId::Responses => {
                r#"{"id":"r","output":[{"type":"function_call","call_id":"t","name":"bash","arguments":"{}"}]}"#
            }
            DialectId::Gemini => {
                r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"bash","args":{}}}]},"finishReason":"STOP"}]}"#
            }
        }
    }

    #[test]
    fn what_is_no_json_object_does_not_go_down_as_an_answer_in_json() {
        for id in DialectId::ALL {
            let answer = answer(id);
            for body in [
                format!("data: {answer}\n\n"),
                format!("event: message\ndata: {answer}\n\ndata: [DONE]\n\n"),
                format!("\u{feff}{answer}"),
                format!("[{answer}]"),
                format!("{{}}{answer}"),
                format!("{answer}\n{answer}"),
            ] {
                for binding in [only(&["look"]), asking()] {
                    let bound = bind(of(id), AnswerForm::Json, body.as_bytes(), binding, None, |_| Ruling::Allow);
                    assert!(bound.is_err(), "{id:?} {body}");
                }
            }
            let bound =
                bind(of(id), AnswerForm::Json, answer.as_bytes(), only(&["look"]), Some("told"), never).unwrap();
            assert!(bound.text.contains("told") && !bound.text.contains("bash"), "{id:?} {}", bound.text);
        }
    }
}
