//! The body of an answer that may be continued: the legs of a turn, one after the other, as one message.
//!
//! The first leg passes byte for byte, but for its terminal pieces: they wait until the [`Director`] has said whether the
//! model is sent back to work. While it is waited for, and until the next leg says its first word, the client gets the
//! dialect's keep-alive.
//!
//! A leg that is lost before it said anything is none: the answer before it was complete, and the message ends with that.
//! One that is lost in the middle of its words ends as any cut answer does, since half of it has gone down (invariant I7).
mod pieces;

use super::body::Idle;
use super::tap::Cut;
use crate::context::{Answer, AnswerForm, answer::Ending};
use crate::dialect::{self, AnswerReader, DialectId, JoinError, Joiner, Piece};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use http_body::{Body, Frame};
use pieces::Pieces;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Longest silence while a hook or the next leg's first word is waited for. Clients get uneasy after 20 s (Claude Code
/// shows a banner); ten are promised.
const KEEP_ALIVE: Duration = Duration::from_secs(8);

/// A leg that is over.
#[derive(Debug)]
pub struct Ended {
    /// What it says.
    pub answer: Answer,
    /// The same as elements of the native history; `None` when it can't be sent back.
    pub native: Option<Vec<String>>,
}

/// What follows a leg.
#[derive(Debug)]
pub enum Next<B> {
    /// Nothing: the message ends with it.
    End,
    /// Another leg, in this body.
    Leg(B),
}

/// Decides what follows a leg that ended the turn by itself.
pub trait Director: Send {
    /// The body of a leg.
    type Body: Body<Data = Bytes, Error: Into<Cut>> + Send + Unpin;

    /// Runs hooks and, if they say so, sends the next leg. Dropped when the client leaves.
    fn after(&mut self, leg: Ended) -> BoxFuture<'static, Next<Self::Body>>;

    /// A leg behind the first is whole. `spoken`: it said something.
    fn heard(&mut self, answer: &Answer, spoken: bool);

    /// The newest leg was lost. `spoken`: in the middle of its words; otherwise the message ends with the leg before.
    fn lost(&mut self, why: &str, spoken: bool);
}

/// Which answers are joined.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// The format.
    pub dialect: DialectId,
    /// The form.
    pub form: AnswerForm,
    /// How long an upstream may be silent.
    pub idle_timeout: Duration,
}

/// The legs of one answer.
pub struct LegsBody<D: Director> {
    wire: Wire,
    director: D,
    joiner: Box<dyn Joiner>,
    leg: Leg<D::Body>,
    is_first: bool,
    phase: Phase<D::Body>,
    ready: VecDeque<Bytes>,
    /// Those of a first leg that stays the only one.
    trailers: Option<HeaderMap>,
    silence: Idle,
}

/// Why a leg behind the first is no part of the message, or only half of one.
struct Loss {
    cut: Cut,
    why: String,
}

impl Loss {
    fn new(cut: Cut, why: impl Into<String>) -> Self {
        Self { cut, why: why.into() }
    }
}

impl From<JoinError> for Loss {
    fn from(error: JoinError) -> Self {
        let cut = if matches!(error, JoinError::Failed(_)) { Cut::Failed } else { Cut::Broken };
        Self::new(cut, error.to_string())
    }
}

/// The running leg.
struct Leg<B> {
    body: B,
    idle: Idle,
    pieces: Pieces,
    reader: Box<dyn AnswerReader>,
}

enum Phase<B> {
    Running,
    /// The leg is over.
    Deciding(BoxFuture<'static, Next<B>>),
    /// The message has ended; what the upstream still sends is waited for, so that its connection can be used again.
    Draining,
    /// Nothing follows, or the message breaks off here.
    Over(Option<Cut>),
}

impl<B> Leg<B> {
    fn new(body: B, wire: Wire) -> Self {
        Self {
            body,
            idle: Idle::new(wire.idle_timeout),
            pieces: Pieces::new(wire.form),
            reader: dialect::of(wire.dialect).reader(wire.form),
        }
    }
}

impl<D: Director> LegsBody<D> {
    /// An answer whose first leg is `body`.
    pub fn new(body: D::Body, wire: Wire, director: D) -> Self {
        Self {
            director,
            joiner: dialect::of(wire.dialect).joiner(wire.form),
            leg: Leg::new(body, wire),
            is_first: true,
            phase: Phase::Running,
            ready: VecDeque::new(),
            trailers: None,
            silence: Idle::new(KEEP_ALIVE),
            wire,
        }
    }

    fn poll_leg(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match Pin::new(&mut self.leg.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                self.leg.idle.reset();
                match frame.into_data() {
                    Ok(data) => self.take(&data),
                    Err(frame) => self.trailers = frame.into_trailers().ok().filter(|_| self.is_first),
                }
            }
            Poll::Ready(Some(Err(error))) => self.broke(error.into()),
            Poll::Ready(None) => {
                self.leg_ended();
                self.undrained();
            }
            Poll::Pending if self.leg.idle.poll(cx).is_ready() => self.broke(Cut::Idle),
            Poll::Pending if !self.is_first && !self.joiner.has_spoken() => return self.poll_silence(cx),
            Poll::Pending => return Poll::Pending,
        }
        Poll::Ready(())
    }

    fn take(&mut self, data: &Bytes) {
        let lost = self.feed(|pieces, each| pieces.push(data, each));
        match lost {
            Some(loss) => self.lost(&loss),
            None if self.joiner.is_over() => self.leg_ended(),
            None => {}
        }
    }

    /// Hands pieces to the reader and the joiner. Why the leg is lost, if it is.
    fn feed(&mut self, cut: impl FnOnce(&mut Pieces, &mut dyn FnMut(Piece<'_>))) -> Option<Loss> {
        let Self { leg, joiner, ready, wire, is_first, .. } = self;
        let is_first = *is_first;
        let (mut lost, mut out) = (None, Vec::new());
        let reader = &mut leg.reader;
        cut(&mut leg.pieces, &mut |piece| {
            if lost.is_some() {
                return;
            }
            match (piece.data, wire.form) {
                (Some(data), AnswerForm::Json) => reader.body(data),
                (Some(data), _) => reader.event(piece.event, data),
                (None, AnswerForm::Sse) if !is_first && !is_comment(&piece.raw) => return,
                (None, _) => {}
            }
            lost = joiner.piece(&piece, &mut out).err().map(Loss::from);
        });
        // What nobody could read can be passed on only where nothing stands before it.
        if leg.pieces.is_blind() && !is_first {
            return lost.or_else(|| Some(Loss::new(Cut::Broken, "a piece of it is too long to be read")));
        }
        ready.extend(out);
        lost
    }

    /// All of the running leg is here.
    fn leg_ended(&mut self) {
        if let Some(loss) = self.feed(|pieces, each| pieces.finish(each)) {
            return self.lost(&loss);
        }
        let answer = self.leg.reader.finish();
        if !self.is_first && answer.ending != Ending::Complete {
            let cut = if answer.ending == Ending::Failed { Cut::Failed } else { Cut::Unfinished };
            return self.lost(&Loss::new(cut, answer.error.as_deref().unwrap_or("it was cut")));
        }
        let native = self.joiner.answer();
        if !self.is_first {
            self.director.heard(&answer, native.as_ref().is_none_or(|said| !said.is_empty()));
        }
        if !answer.is_finished() || self.leg.pieces.is_blind() {
            return self.end();
        }
        self.phase = Phase::Deciding(self.director.after(Ended { answer, native }));
    }

    /// The upstream broke the running leg off.
    fn broke(&mut self, why: Cut) {
        // Local servers close the connection behind the marker, without the last chunk.
        if self.leg.reader.is_terminal() {
            self.leg_ended();
            return self.undrained();
        }
        if !self.is_first {
            return self.lost(&Loss::new(why, "the upstream broke it off"));
        }
        self.feed(|pieces, each| pieces.finish(each));
        self.end();
        self.phase = Phase::Over(Some(why));
    }

    fn lost(&mut self, loss: &Loss) {
        let spoken = self.joiner.has_spoken();
        self.joiner.lose();
        self.director.lost(&loss.why, spoken);
        if !spoken {
            self.end();
        }
        self.phase = Phase::Over(spoken.then_some(loss.cut));
    }

    fn end(&mut self) {
        let mut out = Vec::new();
        self.joiner.end(&mut out);
        self.ready.extend(out);
        self.phase = Phase::Draining;
    }

    /// There is nothing to drain: the body is at its end.
    fn undrained(&mut self) {
        if matches!(self.phase, Phase::Draining) {
            self.phase = Phase::Over(None);
        }
    }

    fn go_on(&mut self, next: Next<D::Body>, cx: &mut Context<'_>) {
        let body = match next {
            Next::End => return self.end(),
            Next::Leg(body) => body,
        };
        // Whether something comes does not matter: a body that is read to its end gives its connection back.
        let _ = Pin::new(&mut self.leg.body).poll_frame(cx);
        self.joiner.next_leg();
        self.leg = Leg::new(body, self.wire);
        self.is_first = false;
        self.trailers = None;
        self.phase = Phase::Running;
    }

    /// Keeps the client's connection alive. Ready when there is something to send.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.silence.poll(cx));
        self.ready.push_back(dialect::of(self.wire.dialect).keep_alive(self.wire.form));
        Poll::Ready(())
    }

    /// What comes behind the end: of a single leg it is relayed as all of it is.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match Pin::new(&mut self.leg.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                self.leg.idle.reset();
                match frame.into_data() {
                    Ok(data) if self.is_first => self.ready.push_back(data),
                    Err(frame) if self.is_first => self.trailers = frame.into_trailers().ok(),
                    _ => {}
                }
            }
            Poll::Ready(Some(Err(error))) => self.phase = Phase::Over(Some(error.into())),
            Poll::Ready(None) => self.phase = Phase::Over(None),
            Poll::Pending if self.leg.idle.poll(cx).is_ready() => self.phase = Phase::Over(Some(Cut::Idle)),
            Poll::Pending => return Poll::Pending,
        }
        Poll::Ready(())
    }
}

/// Whether these are whole lines that say nothing. Behind others, as half an event is, the end of a message could not be
/// read.
fn is_comment(raw: &[u8]) -> bool {
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
    raw.last().is_some_and(ends) && raw.split(ends).all(|line| line.is_empty() || line.starts_with(b":"))
}

impl<D: Director + Unpin> Body for LegsBody<D> {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        loop {
            if let Some(bytes) = this.ready.pop_front() {
                this.silence.reset();
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            match &mut this.phase {
                Phase::Running => ready!(this.poll_leg(cx)),
                Phase::Deciding(decision) => match decision.as_mut().poll(cx) {
                    Poll::Ready(next) => this.go_on(next, cx),
                    Poll::Pending => ready!(this.poll_silence(cx)),
                },
                Phase::Draining => ready!(this.poll_rest(cx)),
                Phase::Over(Some(cut)) => {
                    let cut = *cut;
                    this.phase = Phase::Over(None);
                    return Poll::Ready(Some(Err(cut)));
                }
                Phase::Over(None) => {
                    return Poll::Ready(this.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
