//! Joins streamed answers: see `Joiner`.
use super::chunk::{self, Choice, Chunk, Delta};
use super::said::Said;
use super::splice;
use crate::dialect::held::Held;
use crate::dialect::joiner::text;
use crate::dialect::openai::error;
use crate::dialect::rewrite::edited;
use crate::dialect::{JoinError, Joiner, Piece, frame};
use bytes::Bytes;

/// The joiner. Of several choices it follows the first, and can't join what has them.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// What all chunks say of themselves.
    identity: splice::Identity,
    past: Past,
    leg: Leg,
    /// The running leg's end.
    held: Held,
    /// The end of the last leg that was over.
    last_end: Held,
}

/// What the legs before the running one leave to it.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// Whether there is one.
    any: bool,
    /// Whether the message has text.
    pub(super) text: bool,
    /// How many calls it has.
    pub(super) calls: u64,
    /// What each leg cost.
    pub(super) usage: Vec<String>,
}

/// The running leg.
#[derive(Debug, Default)]
pub(super) struct Leg {
    pub(super) said: Said,
    usage: Option<String>,
    /// Its finish was seen.
    pub(super) finished: bool,
    /// The marker behind its last chunk was seen.
    over: bool,
    /// Something that it says went down.
    spoken: bool,
    /// It has several choices: each has a finish of its own, so that only the marker tells the end.
    many: bool,
    /// It can't be followed by another one.
    strange: bool,
    /// It broke the order of the message.
    lost: bool,
}

impl Leg {
    fn is_ended(&self) -> bool {
        (self.finished || self.over) && !self.lost
    }

    fn take(&mut self, chunk: &Chunk<'_>) {
        if let Some(usage) = chunk.usage {
            self.usage = Some(usage.get().to_owned());
        }
        for choice in chunk.choices.iter().flatten() {
            self.choice(choice);
        }
    }

    fn choice(&mut self, choice: &Choice<'_>) {
        self.many |= choice.index != 0;
        if let Some(delta) = choice.delta.as_ref().filter(|_| choice.index == 0) {
            self.strange |= self.finished && delta.says_something();
            self.said.add(delta);
        }
        self.finished |= choice.is_last() && !self.many;
    }
}

impl Stream {
    /// A piece of the first leg: goes down as it came, or is kept back. It is not written anew, but for one case: where text
    /// stands in the chunk with the finish, they are parted.
    fn first(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) {
        let mut passing = piece.raw.clone();
        let mut speaks = false;
        match piece.data.filter(|data| !chunk::is_done(data)).map(serde_json::from_slice::<Chunk<'_>>) {
            Some(Ok(chunk)) => {
                speaks = chunk.says_something();
                let was_ended = self.leg.is_ended();
                self.learn(piece, &chunk);
                if was_ended && speaks {
                    self.held.let_go(out);
                } else if !was_ended && self.leg.is_ended() && chunk.has_text_at_its_end() {
                    passing = self.part(piece, out).unwrap_or(passing);
                }
            }
            Some(Err(_)) => self.leg.strange = true,
            None => self.leg.over |= piece.data.is_some(),
        }
        if self.leg.is_ended() {
            self.held.keep_or_pass(passing, out);
        } else {
            self.leg.spoken |= speaks;
            out.push(passing);
        }
    }

    fn learn(&mut self, piece: &Piece<'_>, chunk: &Chunk<'_>) {
        self.identity.learn(piece.data.unwrap_or_default(), chunk);
        self.leg.strange |= chunk.error.is_some();
        self.leg.take(chunk);
    }

    /// Passes the text of a chunk with text and finish, and gives the rest.
    fn part(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) -> Option<Bytes> {
        let (head, end) = splice::split(text(piece.data?).ok()?).ok()?;
        out.push(frame::with_data(piece, &head));
        self.leg.spoken = true;
        Some(frame::with_data(piece, &end))
    }

    /// A piece of a later leg: checked, written anew, and passed or kept back.
    fn later(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) -> Result<(), JoinError> {
        if self.leg.over {
            // No client reads what stands behind the marker.
            return Ok(());
        }
        let Some(data) = piece.data else {
            return self.pass(piece.raw.clone(), out);
        };
        if chunk::is_done(data) {
            if !self.leg.finished {
                return Err(JoinError::OutOfOrder("the marker ahead of a finish".to_owned()));
            }
            self.leg.over = true;
            return self.held.keep(piece.raw.clone());
        }
        let text = text(data)?;
        let chunk: Chunk<'_> = serde_json::from_str(text).map_err(JoinError::unreadable)?;
        self.check(&chunk)?;
        if chunk.is_start() && splice::names_only_the_role(text) {
            return Ok(());
        }
        let edits = splice::renewed(text, &chunk, &self.identity, &self.past, &self.leg)?;
        let has_text_at_its_end = chunk.has_text_at_its_end();
        if has_text_at_its_end {
            let (head, end) = splice::split(&edited(text, edits).map_err(JoinError::unreadable)?)?;
            self.held.keep(frame::with_data(piece, &end))?;
            out.push(frame::with_data(piece, &head));
            self.leg.take(&chunk);
        } else {
            let renewed = frame::with_edits(piece, text, edits)?;
            self.leg.take(&chunk);
            self.pass(renewed, out)?;
        }
        self.leg.spoken |= chunk.says_something() && (has_text_at_its_end || !self.leg.finished);
        Ok(())
    }

    /// Passes a piece of a later leg, unless its end was seen.
    fn pass(&mut self, piece: Bytes, out: &mut Vec<Bytes>) -> Result<(), JoinError> {
        if self.leg.is_ended() {
            return self.held.keep(piece);
        }
        out.push(piece);
        Ok(())
    }

    /// Whether the chunk may stand here. Compatible servers repeat the role in every chunk, so that is no second start.
    fn check(&self, chunk: &Chunk<'_>) -> Result<(), JoinError> {
        let wrong = |what: &str| Err(JoinError::OutOfOrder(what.to_owned()));
        if let Some(upstream) = chunk.error {
            return Err(JoinError::Failed(error::text(upstream.get())));
        }
        let mut choices = chunk.choices.iter().flatten();
        let Some(choice) = choices.next() else { return Ok(()) };
        if choice.index != 0 || choices.next().is_some() {
            return wrong("a further choice");
        }
        if self.leg.finished && chunk.says_something() {
            return wrong("what stands behind the end");
        }
        match &choice.delta {
            Some(delta) => self.check_calls(delta),
            None => Ok(()),
        }
    }

    fn check_calls(&self, delta: &Delta<'_>) -> Result<(), JoinError> {
        let mut begun = self.leg.said.calls();
        for call in delta.tool_calls.iter().flatten() {
            let Some(index) = call.index else {
                if self.past.calls > 0 {
                    return Err(JoinError::OutOfOrder("a tool call without an index".to_owned()));
                }
                continue;
            };
            if index > begun || (index == begun && call.is_unnamed()) {
                return Err(JoinError::OutOfOrder(format!("tool call {index}")));
            }
            begun = begun.max(index + 1);
        }
        Ok(())
    }
}

impl Joiner for Stream {
    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) -> Result<(), JoinError> {
        if self.past.any {
            let joined = self.later(piece, out);
            self.leg.lost |= joined.is_err();
            return joined;
        }
        self.first(piece, out);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.leg.over
    }

    fn has_spoken(&self) -> bool {
        self.leg.spoken
    }

    fn answer(&self) -> Option<Vec<String>> {
        let leg = &self.leg;
        let whole = leg.is_ended() && !leg.many && !leg.strange && !leg.lost && !self.held.has_let_go();
        whole.then(|| leg.said.message())?
    }

    fn next_leg(&mut self) {
        let leg = std::mem::take(&mut self.leg);
        let held = std::mem::take(&mut self.held);
        if leg.is_ended() || !self.past.any {
            self.last_end = held;
            self.past.text |= leg.said.has_text();
            self.past.calls += leg.said.calls();
            self.past.usage.extend(leg.usage);
        }
        self.past.any = true;
    }

    fn lose(&mut self) {
        self.leg.lost = true;
    }

    fn end(&mut self, out: &mut Vec<Bytes>) {
        if self.leg.is_ended() || !self.past.any {
            self.held.release(out);
        } else if !self.leg.spoken {
            self.last_end.release(out);
        }
    }
}
