//! Answers that come as one JSON body each, joined to one body.
use super::joiner::text;
use super::{JoinError, Joiner, Piece};
use bytes::Bytes;
use std::marker::PhantomData;

/// What a dialect knows of whole bodies.
pub(super) trait Bodies: Send + 'static {
    /// Whether the body is an answer that can stand behind another.
    ///
    /// # Errors
    /// [`JoinError`] for errors and for what can't be read.
    fn check(body: &str) -> Result<(), JoinError>;

    /// What the body says, as [`Joiner::answer`] gives it.
    fn answer(body: &str) -> Option<Vec<String>>;

    /// The last body with what all of them say; `None` where one can't be read.
    fn join(bodies: &[&str]) -> Option<String>;
}

/// Joins bodies. White space before a body passes; the body waits until it is known to be the last.
pub(super) struct BodyJoiner<B> {
    /// The legs that are over and followed by another.
    before: Vec<Bytes>,
    /// The running leg, when it has come.
    body: Option<Bytes>,
    /// What stands behind it.
    behind: Vec<Bytes>,
    dialect: PhantomData<fn() -> B>,
}

impl<B> Default for BodyJoiner<B> {
    fn default() -> Self {
        Self { before: vec![], body: None, behind: vec![], dialect: PhantomData }
    }
}

impl<B: Bodies> Joiner for BodyJoiner<B> {
    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) -> Result<(), JoinError> {
        match (piece.data, &self.body) {
            (Some(data), None) => {
                if !self.before.is_empty() {
                    B::check(text(data)?)?;
                }
                self.body = Some(piece.raw.clone());
            }
            (None, None) => out.push(piece.raw.clone()),
            (_, Some(_)) if self.before.is_empty() => self.behind.push(piece.raw.clone()),
            (None, Some(_)) => {}
            (Some(_), Some(_)) => return Err(JoinError::OutOfOrder("a second body".to_owned())),
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.body.is_some()
    }

    /// Nothing of a body goes down before the end.
    fn has_spoken(&self) -> bool {
        false
    }

    fn answer(&self) -> Option<Vec<String>> {
        match &self.body {
            Some(body) => B::answer(text(body).ok()?),
            None => Some(vec![]),
        }
    }

    fn next_leg(&mut self) {
        self.before.extend(self.body.take());
        self.behind.clear();
    }

    fn lose(&mut self) {
        self.body = None;
        self.behind.clear();
    }

    fn end(&mut self, out: &mut Vec<Bytes>) {
        let bodies: Vec<Bytes> = self.before.drain(..).chain(self.body.take()).collect();
        let joined = if bodies.len() > 1 { joined::<B>(&bodies) } else { None };
        out.extend(joined.or_else(|| bodies.into_iter().next_back()));
        out.append(&mut self.behind);
    }
}

fn joined<B: Bodies>(bodies: &[Bytes]) -> Option<Bytes> {
    let texts: Vec<&str> = bodies.iter().map(|body| text(body).ok()).collect::<Option<_>>()?;
    B::join(&texts).map(Bytes::from)
}
