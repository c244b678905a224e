//! Joins streamed answers: see `Joiner`.
use super::chunk::{self, Choice, Chunk, Delta};
use super::said::Said;
use super::splice;
use crate::dialect::held::Held;
use crate::dialect::openai::error;
use crate::dialect::openai::frame::{edited, respoken, text, written};
use crate::dialect::{JoinError, Joiner, Piece};
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
    finished: bool,
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
    /// Its end went down, which was too long to be kept back.
    spilled: bool,
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
        let before_end = !self.leg.is_ended();
        let speaks = match piece.data {
            Some(data) if chunk::is_done(data) => {
                self.leg.over = true;
                false
            }
            Some(data) => match serde_json::from_slice::<Chunk<'_>>(data) {
                Ok(chunk) => {
                    self.learn(data, &chunk);
                    if before_end && self.leg.is_ended() && chunk.has_text_at_its_end() {
                        passing = self.part(piece, data, out).unwrap_or(passing);
                    }
                    chunk.says_something()
                }
                Err(_) => {
                    self.leg.strange = true;
                    false
                }
            },
            None => false,
        };
        if self.leg.spilled || !self.leg.is_ended() {
            self.leg.spoken |= speaks;
            out.push(passing);
        } else if !self.held.push(passing.clone()) {
            self.leg.spilled = true;
            self.held.release(out);
            out.push(passing);
        }
    }

    fn learn(&mut self, data: &[u8], chunk: &Chunk<'_>) {
        self.identity.learn(data, chunk);
        self.leg.strange |= chunk.error.is_some();
        self.leg.take(chunk);
    }

    /// Passes the text of a chunk with text and finish, and gives the rest.
    fn part(&mut self, piece: &Piece<'_>, data: &[u8], out: &mut Vec<Bytes>) -> Option<Bytes> {
        let (head, end) = splice::split(text(data).ok()?).ok()?;
        out.push(written(piece.event, &head));
        self.leg.spoken = true;
        Some(written(piece.event, &end))
    }

    /// A piece of a later leg: checked, written anew, and passed or kept back.
    fn later(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) -> Result<(), JoinError> {
        let Some(data) = piece.data else {
            if self.leg.is_ended() {
                return self.keep(piece.raw.clone());
            }
            out.push(piece.raw.clone());
            return Ok(());
        };
        if self.leg.over || (chunk::is_done(data) && !self.leg.finished) {
            return Err(JoinError::OutOfOrder(String::from_utf8_lossy(data).into_owned()));
        }
        if chunk::is_done(data) {
            self.keep(piece.raw.clone())?;
            self.leg.over = true;
            return Ok(());
        }
        let chunk: Chunk<'_> =
            serde_json::from_slice(data).map_err(|error| JoinError::Unreadable(error.to_string()))?;
        self.check(&chunk)?;
        if chunk.is_start() {
            return Ok(());
        }
        let edits = splice::renewed(text(data)?, &chunk, &self.identity, &self.past, &self.leg)?;
        if chunk.has_text_at_its_end() {
            let (head, end) = splice::split(&edited(text(data)?, edits)?)?;
            self.keep(written(piece.event, &end))?;
            self.leg.spoken = true;
            out.push(written(piece.event, &head));
        } else {
            let renewed = respoken(piece, data, edits)?;
            if self.leg.finished || chunk.choices.iter().flatten().any(Choice::is_last) {
                self.keep(renewed)?;
            } else {
                self.leg.spoken |= chunk.says_something();
                out.push(renewed);
            }
        }
        self.leg.take(&chunk);
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
        if self.leg.finished && (chunk.says_something() || choice.is_last()) {
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

    fn keep(&mut self, piece: Bytes) -> Result<(), JoinError> {
        let kept = self.held.push(piece);
        kept.then_some(()).ok_or_else(|| JoinError::OutOfOrder("more than can be kept back".to_owned()))
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
        let whole = leg.is_ended() && !leg.many && !leg.strange && !leg.lost && !leg.spilled;
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
