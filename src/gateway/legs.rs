//! The body of an answer that may be continued: the legs of a turn, one after the other, as one message.
//!
//! The first leg passes byte for byte, but for its terminal pieces: they wait until the [`Director`] has said whether the
//! model is sent back to work. While it is waited for, and until the next leg says its first word, the client gets the
//! dialect's keep-alive.
//!
//! Where tools bind, each leg goes through a binder first: calls that the client may not make are left out, and those
//! that hooks decide on wait. A leg of nothing but refused calls is answered by the gateway: the model is told, and its
//! next leg follows. What the model said itself is kept by a joiner of its own.
//!
//! A leg that is lost before it said anything is none: the answer before it was complete, and the message ends with that.
//! One that is lost in the middle of its words ends as any cut answer does, since half of it has gone down (invariant I7).
mod leg;
mod loss;
mod pieces;
mod steps;

use super::body::Idle;
use super::tap::Cut;
use crate::context::{Answer, AnswerForm, Binding, Call, Ruling};
use crate::dialect::{self, BoundLeg, DialectId, Joiner, Ruled};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use http_body::{Body, Frame};
use leg::Leg;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
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
    /// What became of its calls, in their order; empty where tools do not bind.
    pub calls: Vec<Ruled>,
    /// All of its calls were refused: the client has nothing to answer.
    pub emptied: bool,
}

impl Ended {
    /// Whether the client got other calls than the model made.
    pub fn is_altered(&self) -> bool {
        self.calls.iter().any(|ruled| ruled.ruling != Ruling::Allow)
    }
}

/// What follows a leg.
#[derive(Debug)]
pub enum Next<B> {
    /// Nothing: the message ends with it.
    End,
    /// The message ends with this as a text of the model's: where all calls were refused, and nothing follows.
    Say(String),
    /// Another leg, in this body.
    Leg(B),
    /// The message breaks off: what would have to follow failed.
    Broken(Cut),
}

/// Decides what follows a leg that ended the turn by itself.
pub trait Director: Send {
    /// The body of a leg.
    type Body: Body<Data = Bytes, Error: Into<Cut>> + Send + Unpin;

    /// Decides on a call that waits. Dropped when the client leaves.
    fn judge(&mut self, call: Call) -> BoxFuture<'static, Ruling>;

    /// Runs hooks and, if they say so, sends the next leg. Dropped when the client leaves.
    fn after(&mut self, leg: Ended) -> BoxFuture<'static, Next<Self::Body>>;

    /// A leg behind the first is whole. `spoken`: it said something.
    fn heard(&mut self, answer: &Answer, spoken: bool);

    /// The newest leg was lost. `spoken`: in the middle of its words; otherwise the message ends with the leg before.
    fn lost(&mut self, why: &str, spoken: bool);
}

/// Which answers are joined.
#[derive(Debug, Clone)]
pub struct Wire {
    /// The format.
    pub dialect: DialectId,
    /// The form.
    pub form: AnswerForm,
    /// How long an upstream may be silent.
    pub idle_timeout: Duration,
    /// What their calls are held to; `None`: whatever they call passes.
    pub binding: Option<Bound>,
}

/// What calls are held to.
#[derive(Debug, Clone)]
pub struct Bound {
    /// The tools.
    pub to: Arc<Binding>,
    /// `limits.held_response` in bytes.
    pub limit: usize,
}

/// The legs of one answer.
pub struct LegsBody<D: Director> {
    wire: Wire,
    director: D,
    joiner: Box<dyn Joiner>,
    /// What the model said, where the client does not get all of it.
    model: Option<Box<dyn Joiner>>,
    leg: Leg<D::Body>,
    is_first: bool,
    /// The leg before ended in calls that only the running one answers for.
    owes: bool,
    phase: Phase<D::Body>,
    ready: VecDeque<Bytes>,
    /// Those of a first leg that stays the only one.
    trailers: Option<HeaderMap>,
    silence: Idle,
}

enum Phase<B> {
    Running,
    /// A call waits.
    Judging(BoxFuture<'static, Ruling>),
    /// The leg is over.
    Deciding(BoxFuture<'static, Next<B>>),
    /// The message has ended; what the upstream still sends is waited for, so that its connection can be used again.
    Draining,
    /// Nothing follows, or the message breaks off here.
    Over(Option<Cut>),
}

impl<D: Director> LegsBody<D> {
    /// An answer whose first leg is `body`.
    pub fn new(body: D::Body, wire: Wire, director: D) -> Self {
        let joiner = || dialect::of(wire.dialect).joiner(wire.form);
        Self {
            director,
            joiner: joiner(),
            model: wire.binding.as_ref().map(|_| joiner()),
            leg: Leg::new(body, &wire),
            is_first: true,
            owes: false,
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
                self.leg.drained = true;
                self.close();
            }
            Poll::Pending if self.leg.idle.poll(cx).is_ready() => self.broke(Cut::Idle),
            Poll::Pending if self.is_silent() => return self.poll_silence(cx),
            Poll::Pending => return Poll::Pending,
        }
        Poll::Ready(())
    }

    /// Whether what comes does not reach the client: the next leg's first word is awaited, or a call is held or left out.
    fn is_silent(&self) -> bool {
        let holds = self.leg.bound.as_ref().is_some_and(BoundLeg::is_holding);
        holds || (!self.is_first && !self.joiner.has_spoken())
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
                    // Behind the end nothing is bound: what could be a call does not go down.
                    Ok(data) if self.is_first && (self.leg.bound.is_none() || !data.contains(&b'{')) => {
                        self.ready.push_back(data);
                    }
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
                Phase::Judging(ruling) => match ruling.as_mut().poll(cx) {
                    Poll::Ready(ruling) => this.judged(ruling),
                    Poll::Pending => ready!(this.poll_silence(cx)),
                },
                Phase::Deciding(decision) => match decision.as_mut().poll(cx) {
                    Poll::Ready(next) => this.go_on(next, cx),
                    Poll::Pending => ready!(this.poll_silence(cx)),
                },
                Phase::Draining => ready!(this.poll_rest(cx)),
                Phase::Over(cut) => {
                    if let Some(cut) = cut.take() {
                        return Poll::Ready(Some(Err(cut)));
                    }
                    return Poll::Ready(this.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
