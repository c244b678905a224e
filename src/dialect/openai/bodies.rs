//! Joins answers that are whole JSON bodies.
use super::frame;
use crate::dialect::transcript::MAX_ANSWER;
use crate::dialect::{JoinError, Joiner, Piece};
use bytes::Bytes;

/// What a dialect makes of its bodies.
pub(in crate::dialect) trait Body: Send {
    /// The answer as elements of the native history; see [`Joiner::answer`].
    fn answer(&self, body: &str) -> Option<Vec<String>>;

    /// Whether it is an answer that can be joined to others.
    ///
    /// # Errors
    /// [`JoinError`], why not.
    fn check(&self, body: &str) -> Result<(), JoinError>;

    /// One body of all; the last leg's, with what the `others` before it say.
    ///
    /// # Errors
    /// [`JoinError::Unreadable`] for a body that does not pass [`Body::check`].
    fn joined(&self, others: &[&str], last: &str) -> Result<String, JoinError>;
}

/// A body is one piece, and nothing of it goes down before the end.
#[derive(Debug)]
pub(in crate::dialect) struct Bodies<B> {
    rules: B,
    /// Of the legs that are over.
    past: Vec<Bytes>,
    running: Option<Bytes>,
}

impl<B: Body> Bodies<B> {
    pub(in crate::dialect) fn new(rules: B) -> Self {
        Self { rules, past: Vec::new(), running: None }
    }

    fn joined(&self, others: &[Bytes], last: &Bytes) -> Result<Bytes, JoinError> {
        let others = others.iter().map(|body| frame::text(body)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.rules.joined(&others, frame::text(last)?)?.into())
    }
}

impl<B: Body> Joiner for Bodies<B> {
    fn piece(&mut self, piece: &Piece<'_>, _out: &mut Vec<Bytes>) -> Result<(), JoinError> {
        if self.running.is_some() {
            return Err(JoinError::OutOfOrder("a second body".to_owned()));
        }
        if !self.past.is_empty() {
            self.rules.check(frame::text(&piece.raw)?)?;
        }
        self.running = Some(piece.raw.clone());
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.running.is_some()
    }

    fn has_spoken(&self) -> bool {
        false
    }

    fn answer(&self) -> Option<Vec<String>> {
        let body = frame::text(self.running.as_ref()?).ok()?;
        self.rules.check(body).ok().filter(|()| body.len() <= MAX_ANSWER)?;
        self.rules.answer(body)
    }

    fn next_leg(&mut self) {
        self.past.extend(self.running.take());
    }

    fn end(&mut self, out: &mut Vec<Bytes>) {
        self.next_leg();
        let Some((last, others)) = self.past.split_last() else { return };
        // Legs that can't be joined were not asked for; the last answer is then the best one there is.
        let body = if others.is_empty() { Ok(last.clone()) } else { self.joined(others, last) };
        out.push(body.unwrap_or_else(|_| last.clone()));
    }
}
