//! Streamed completions, held to the tools that they may call: pieces of refused calls are left out of the chunks, the
//! others counted without a gap.
//!
//! A call is complete where its choice ends: compatible servers mix the pieces of several.
mod ends;

use super::bound;
use super::calling::Taken;
use super::choice::{Bound, chunk_text};
use super::chunk::{Choice, Chunk, Delta, is_done, is_filled};
use super::parts::{self, Parts};
use super::splice::BLANK_LINE;
use crate::context::{Binding, Call, Glance, Ruling};
use crate::dialect::Piece;
use crate::dialect::binder::{BindError, Binder, Calls, Kept, Pass, Ruled};
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::sync::Arc;

/// Binds a stream.
#[derive(Debug)]
pub(super) struct StreamBinder {
    calls: Calls,
    choices: Vec<Bound>,
    /// Ends that wait for decisions, in order.
    ending: VecDeque<Ending>,
    waiting: Option<Call>,
    /// The end of the leg, where it is kept back.
    end: Vec<Kept>,
    /// What the chunks say of themselves.
    head: Option<String>,
}

/// What waits until all calls of a choice, or of all of them, are decided on.
#[derive(Debug)]
enum Ending {
    /// Of the choice at this place; the calls before `next` are decided on.
    Choice { at: usize, next: usize },
    /// A piece behind it.
    Piece(Kept),
}

impl StreamBinder {
    pub(super) fn new(binding: Arc<Binding>) -> Self {
        let calls = Calls::new(binding);
        Self { calls, choices: vec![], ending: VecDeque::new(), waiting: None, end: vec![], head: None }
    }

    fn choice(&mut self, index: u64) -> usize {
        let known = self.choices.iter().position(|choice| choice.index == index);
        known.unwrap_or_else(|| {
            self.choices.push(Bound::new(index));
            self.choices.len() - 1
        })
    }

    /// A chunk. Several choices are taken one by one where there are calls.
    fn chunk(&mut self, piece: &Piece<'_>, text: &str, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let chunk: Chunk<'_> = serde_json::from_str(text).map_err(BindError::unreadable)?;
        let choices = chunk.choices.as_deref().unwrap_or_default();
        let is_plain = self.end.is_empty() && self.choices.iter().all(|choice| choice.calling.is_empty());
        match choices {
            [] => self.aside(piece, pass),
            [choice] => self.one(piece, text, choice, pass)?,
            _ if is_plain && !choices.iter().any(calls) => {
                choices.iter().for_each(|choice| self.listen(choice));
                pass(piece.clone());
            }
            _ => {
                for text in parts::apart(text).map_err(BindError::unreadable)? {
                    self.chunk(&Kept::with_data(piece, text.clone()).piece(), &text, pass)?;
                }
            }
        }
        Ok(())
    }

    fn listen(&mut self, choice: &Choice<'_>) {
        let at = self.choice(choice.index);
        if let Some(bound) = self.choices.get_mut(at) {
            let content = choice.delta.as_ref().and_then(|delta| delta.content).map(RawValue::get);
            bound.has_text |= content.is_some_and(is_filled);
            bound.is_ended |= choice.is_last();
        }
    }

    fn one(
        &mut self,
        piece: &Piece<'_>,
        text: &str,
        choice: &Choice<'_>,
        pass: &mut Pass<'_>,
    ) -> Result<(), BindError> {
        let at = self.choice(choice.index);
        let was_ended = self.choices.get(at).is_some_and(|bound| bound.is_ended);
        self.message(choice)?;
        let taken = match &choice.delta {
            Some(delta) => self.take(at, delta, text)?,
            None => Taken::default(),
        };
        if was_ended && !taken.is_empty() {
            return Err(BindError::Unreadable("a call behind the end".to_owned()));
        }
        self.listen(choice);
        let Some(bound) = self.choices.get(at) else { return Ok(()) };
        if was_ended && (!self.end.is_empty() || bound.calling.is_emptied()) {
            self.last(Kept::of(piece), pass)?;
        } else if !choice.is_last() || was_ended || bound.calling.is_empty() {
            self.go_on(at, piece, text, taken, pass)?;
        } else {
            self.finish_choice(at, piece, text, taken, pass)?;
        }
        Ok(())
    }

    fn take(&mut self, at: usize, delta: &Delta<'_>, text: &str) -> Result<Taken, BindError> {
        let Some(bound) = self.choices.get_mut(at) else { return Ok(Taken::default()) };
        let taken = bound.calling.take(delta, self.calls.binding())?;
        if self.head.is_none() && !taken.is_empty() {
            self.head = Some(parts::head(text).map_err(BindError::unreadable)?);
        }
        Ok(taken)
    }

    /// A whole message in a stream: some servers send it once more at the end. Its calls can't be held.
    fn message(&self, choice: &Choice<'_>) -> Result<(), BindError> {
        let Some(message) = choice.message else { return Ok(()) };
        let passes = |call: &Call| self.calls.binding().glance(&call.name) == Glance::Pass;
        match bound::calls(message.get())?.iter().all(passes) {
            true => Ok(()),
            false => Err(BindError::Unreadable("calls in a whole message".to_owned())),
        }
    }

    /// A chunk that does not end its choice.
    fn go_on(
        &mut self,
        at: usize,
        piece: &Piece<'_>,
        text: &str,
        taken: Taken,
        pass: &mut Pass<'_>,
    ) -> Result<(), BindError> {
        let Some(bound) = self.choices.get_mut(at) else { return Ok(()) };
        if taken.is_empty() {
            pass(piece.clone());
            return Ok(());
        }
        if !bound.is_holding() {
            let now = bound.written(piece, &taken)?;
            self.show(pass)?;
            if let Some(now) = now {
                pass(now.piece());
            }
            return Ok(());
        }
        let parts = Parts::of(text).map_err(BindError::unreadable)?;
        if parts.says_more() {
            pass(Kept::with_data(piece, parts.with(&[], None)).piece());
            bound.held.push((Kept::with_data(piece, parts.calls_alone()), taken));
        } else {
            bound.held.push((Kept::of(piece), taken));
        }
        if bound.calling.is_undecided() { Ok(()) } else { self.release(at, pass) }
    }
}

/// Whether a choice calls.
fn calls(choice: &Choice<'_>) -> bool {
    choice.message.is_some() || choice.delta.as_ref().is_some_and(Delta::calls)
}

impl Binder for StreamBinder {
    fn piece(&mut self, piece: &Piece<'_>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        match chunk_text(piece)? {
            Some(text) => self.chunk(piece, text, pass),
            None if piece.data.is_some_and(is_done) => self.done(piece, pass),
            None => {
                self.aside(piece, pass);
                Ok(())
            }
        }
    }

    /// A call that was cut off is none, unless the client has it already.
    fn finish(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError> {
        for choice in &mut self.choices {
            choice.held.clear();
            if !choice.is_ended {
                choice.calling.passed().for_each(|call| self.calls.push(call, Ruling::Allow));
            }
        }
        if self.is_emptied() { Ok(()) } else { self.pass_end(pass) }
    }

    fn waiting(&self) -> Option<&Call> {
        self.waiting.as_ref()
    }

    fn rule(&mut self, ruling: Ruling, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let Some(call) = self.waiting.take() else { return Ok(()) };
        if let Some(Ending::Choice { at, next }) = self.ending.pop_front() {
            self.decide(at, next, call, ruling);
            self.ending.push_front(Ending::Choice { at, next: next + 1 });
        }
        self.advance(pass)
    }

    fn calls(&self) -> &[Ruled] {
        self.calls.all()
    }

    fn close(&mut self, notice: Option<&str>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let head = self.head.as_deref().unwrap_or("{");
        for choice in self.choices.iter().filter(|choice| choice.calling.is_emptied()) {
            if let Some(notice) = notice {
                let before = if choice.has_text { BLANK_LINE } else { "" };
                let chunk = parts::text_chunk(head, choice.index, &format!("{before}{notice}"));
                pass(Kept::made(None, chunk).piece());
            }
        }
        self.pass_end(pass)
    }

    fn held(&self) -> usize {
        let end: usize = self.end.iter().map(Kept::len).sum();
        end + self.choices.iter().map(Bound::size).sum::<usize>()
    }
}
