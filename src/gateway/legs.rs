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
mod pieces;

use super::body::Idle;
use super::failure::Failure;
use super::tap::Cut;
use crate::context::{Answer, AnswerForm, Binding, Call, Ruling, answer::Ending};
use crate::dialect::{self, AnswerReader, BindError, BoundLeg, DialectId, JoinError, Joiner, Pass, Piece, Ruled};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use http_body::{Body, Frame};
use pieces::Pieces;
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

impl Loss {
    /// With the upstream's own words, if the piece with this data says that it failed.
    fn in_words(self, data: Option<&[u8]>) -> Self {
        match (self.cut, data) {
            (Cut::Failed(_), Some(data)) => Self { cut: failed(Failure::said(data)), ..self },
            (cut, _) => Self { cut, ..self },
        }
    }
}

fn failed(failure: Failure) -> Cut {
    Cut::Failed(Arc::new(failure))
}

impl From<BindError> for Loss {
    fn from(error: BindError) -> Self {
        Self::new(Cut::Withheld, error.to_string())
    }
}

impl From<JoinError> for Loss {
    fn from(error: JoinError) -> Self {
        let cut = if matches!(error, JoinError::Failed(_)) { failed(Failure::unknown()) } else { Cut::Broken };
        Self::new(cut, error.to_string())
    }
}

/// The running leg.
struct Leg<B> {
    body: B,
    idle: Idle,
    pieces: Pieces,
    reader: Box<dyn AnswerReader>,
    bound: Option<BoundLeg>,
    /// All that it says is here.
    closed: bool,
    /// So is the end of its bytes.
    drained: bool,
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

impl<B> Leg<B> {
    fn new(body: B, wire: &Wire) -> Self {
        let dialect = dialect::of(wire.dialect);
        let bind = |bound: &Bound| BoundLeg::new(dialect.binder(wire.form, bound.to.clone()), bound.limit);
        Self {
            body,
            idle: Idle::new(wire.idle_timeout),
            pieces: Pieces::new(wire.form),
            reader: dialect.reader(wire.form),
            bound: wire.binding.as_ref().map(bind),
            closed: false,
            drained: false,
        }
    }
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

    fn take(&mut self, data: &Bytes) {
        if let Some(loss) = self.feed(|pieces, each| pieces.push(data, each)) {
            return self.lost(&loss);
        }
        match self.says_all().is_over() {
            true => self.close(),
            false => self.advance(),
        }
    }

    /// The joiner that gets everything that the model says.
    fn says_all(&self) -> &dyn Joiner {
        self.model.as_deref().unwrap_or(&*self.joiner)
    }

    /// Hands pieces to the reader and, through the binder, to the joiner. Why the leg is lost, if it is.
    fn feed(&mut self, cut: impl FnOnce(&mut Pieces, &mut dyn FnMut(Piece<'_>))) -> Option<Loss> {
        let Self { leg, joiner, model, ready, wire, is_first, .. } = self;
        let Leg { pieces, reader, bound, .. } = leg;
        let is_first = *is_first;
        let (mut lost, mut out) = (None, Vec::new());
        cut(pieces, &mut |piece| {
            if lost.is_some() {
                return;
            }
            match (piece.data, wire.form) {
                (Some(data), AnswerForm::Json) => reader.body(data),
                (Some(data), _) => reader.event(piece.event, data),
                (None, AnswerForm::Sse) if !is_first && !is_comment(&piece.raw) => return,
                (None, _) => {}
            }
            // A leg that it can't follow has no answer that could be sent back; whether it may go down is the other's question.
            if let Some(model) = model {
                let _ = model.piece(&piece, &mut Vec::new());
            }
            let bound_lost = match bound {
                Some(bound) => passed(joiner.as_mut(), &mut out, |pass| bound.piece(&piece, pass)),
                None => joiner.piece(&piece, &mut out).err().map(Loss::from),
            };
            lost = bound_lost.map(|loss| loss.in_words(piece.data));
        });
        if pieces.is_blind() && lost.is_none() {
            // What nobody could read can be passed on only where nothing stands before it, and no call could be in it.
            if bound.is_some() {
                return Some(Loss::new(Cut::Withheld, "a piece of it is too long to be read"));
            }
            if !is_first {
                return Some(Loss::new(Cut::Broken, "a piece of it is too long to be read"));
            }
        }
        ready.extend(out);
        lost
    }

    /// Lets the binder do something. Why the leg is lost, if it is.
    fn bind(&mut self, act: impl FnOnce(&mut BoundLeg, &mut Pass<'_>) -> Result<(), BindError>) -> Option<Loss> {
        let Self { leg, joiner, ready, .. } = self;
        let bound = leg.bound.as_mut()?;
        let mut out = Vec::new();
        let lost = passed(joiner.as_mut(), &mut out, |pass| act(bound, pass));
        ready.extend(out);
        lost
    }

    /// All of the running leg is here.
    fn close(&mut self) {
        let cut_short = self.feed(|pieces, each| pieces.finish(each));
        self.leg.closed = true;
        match cut_short.or_else(|| self.bind(|bound, pass| bound.finish(pass))) {
            Some(loss) => self.lost(&loss),
            None => self.advance(),
        }
    }

    /// Goes on with the first call that waits, or with the end of the leg.
    fn advance(&mut self) {
        let waiting = self.leg.bound.as_ref().and_then(|bound| bound.waiting()).cloned();
        self.phase = match waiting {
            Some(call) => Phase::Judging(self.director.judge(call)),
            None if self.leg.closed => return self.leg_ended(),
            None => Phase::Running,
        };
    }

    fn judged(&mut self, ruling: Ruling) {
        // Nothing was read meanwhile.
        self.leg.idle.reset();
        match self.bind(|bound, pass| bound.rule(ruling, pass)) {
            Some(loss) => self.lost(&loss),
            None => self.advance(),
        }
    }

    fn leg_ended(&mut self) {
        let answer = self.leg.reader.finish();
        if !self.is_first && answer.ending != Ending::Complete {
            let why = answer.error.as_deref().unwrap_or("it was cut");
            let cut = if answer.ending == Ending::Failed { failed(Failure::unusable(why)) } else { Cut::Unfinished };
            return self.lost(&Loss::new(cut, why));
        }
        let native = self.says_all().answer();
        if !self.is_first {
            self.director.heard(&answer, native.as_ref().is_none_or(|said| !said.is_empty()));
        }
        let bound = self.leg.bound.as_ref();
        let calls = bound.map(|bound| bound.calls().to_vec()).unwrap_or_default();
        let emptied = bound.is_some_and(BoundLeg::is_emptied);
        let leg = Ended { answer, native, calls, emptied };
        let asks = leg.answer.is_finished() || (leg.is_altered() && leg.answer.ending == Ending::Complete);
        if !asks || self.leg.pieces.is_blind() {
            return self.end();
        }
        self.phase = Phase::Deciding(self.director.after(leg));
    }

    /// The upstream broke the running leg off.
    fn broke(&mut self, why: Cut) {
        self.leg.drained = true;
        // Local servers close the connection behind the marker, without the last chunk.
        if self.leg.reader.is_terminal() {
            return self.close();
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
        let breaks = spoken || self.is_first || self.owes || loss.cut == Cut::Withheld;
        if !breaks {
            self.end();
        }
        self.phase = Phase::Over(breaks.then(|| loss.cut.clone()));
    }

    fn end(&mut self) {
        let mut out = Vec::new();
        self.joiner.end(&mut out);
        self.ready.extend(out);
        self.phase = if self.leg.drained { Phase::Over(None) } else { Phase::Draining };
    }

    fn go_on(&mut self, next: Next<D::Body>, cx: &mut Context<'_>) {
        let body = match next {
            Next::End => return self.end(),
            Next::Say(notice) => {
                return match self.bind(|bound, pass| bound.close(Some(&notice), pass)) {
                    Some(loss) => self.lost(&loss),
                    None => self.end(),
                };
            }
            Next::Broken(cut) => {
                self.phase = Phase::Over(Some(cut));
                return;
            }
            Next::Leg(body) => body,
        };
        self.owes = self.leg.bound.as_ref().is_some_and(BoundLeg::is_emptied);
        if self.owes
            && let Some(loss) = self.bind(|bound, pass| bound.close(None, pass))
        {
            return self.lost(&loss);
        }
        // Whether something comes does not matter: a body that is read to its end gives its connection back.
        let _ = Pin::new(&mut self.leg.body).poll_frame(cx);
        for joiner in self.model.iter_mut().chain([&mut self.joiner]) {
            joiner.next_leg();
        }
        self.leg = Leg::new(body, &self.wire);
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

/// What a binder passes goes to the joiner, and on into `out`. Why the leg is lost, if it is.
fn passed(
    joiner: &mut dyn Joiner,
    out: &mut Vec<Bytes>,
    act: impl FnOnce(&mut Pass<'_>) -> Result<(), BindError>,
) -> Option<Loss> {
    let mut lost = None;
    let bound = act(&mut |piece| {
        if lost.is_none() {
            lost = joiner.piece(&piece, out).err().map(Loss::from);
        }
    });
    lost.or_else(|| bound.err().map(Loss::from))
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
