//! The body of a relayed answer.
//!
//! Every byte goes down the moment it arrives. What arrived together goes down together: a connection's task hands over
//! one chunk at a time, so after a small chunk the body steps aside for that task, without ever waiting for time, and
//! then passes on what has come as one frame: one write for a burst of events instead of one per event.
//!
//! An answer that breaks off never looks like one that ended: the body ends with an error event of the dialect where the
//! tap has one, else with an error, upon which the server breaks the connection off.
mod batch;
mod idle;

use super::tap::{Cut, End, Tap};
use crate::telemetry::names;
use batch::Batch;
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
pub(super) use idle::Idle;
use std::future::Future as _;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// How often the body steps aside before it passes a batch on. Two, because hyper's server polls a body that is pending
/// a second time in the same run of its task, after flushing; only the second step lets other tasks run.
const STEPS_ASIDE: u8 = 2;

/// The answer broke off; the text is for the log.
#[derive(Debug, thiserror::Error)]
#[error("the upstream's answer broke off: {0}")]
pub struct BrokenOff(pub Cut);

/// Relays an upstream's body.
pub struct RelayBody<B> {
    upstream: B,
    tap: Option<Box<dyn Tap>>,
    idle: Option<Idle>,
    batch: Batch,
    steps_left: u8,
    /// Something is gathered and waits for the tap's release.
    gathered: bool,
    last: Option<Last>,
    ended: bool,
    /// Whatever is to be held until the answer is over.
    _hold: Option<Box<dyn Send>>,
}

/// What follows the bytes that are still here.
enum Last {
    End,
    Trailers(HeaderMap),
    Event(Bytes),
    /// `flushed`: one step aside was taken, in which the server writes what it has: bytes that came before a cut must
    /// not be lost with the connection.
    Abort {
        why: Cut,
        flushed: bool,
    },
}

impl<B> RelayBody<B>
where
    B: Body<Data = Bytes, Error: Into<Cut>> + Unpin,
{
    /// A relay of `upstream` that gives up after `idle_timeout` without a byte; `None`: the body itself sees to that.
    pub fn new(upstream: B, idle_timeout: Option<Duration>, tap: Option<Box<dyn Tap>>) -> Self {
        let mut body = Self {
            upstream,
            tap,
            idle: idle_timeout.map(Idle::new),
            batch: Batch::default(),
            steps_left: STEPS_ASIDE,
            gathered: false,
            last: None,
            ended: false,
            _hold: None,
        };
        if body.upstream.is_end_stream() {
            body.upstream_ended();
        }
        body
    }

    /// Keeps `hold` until the answer is over.
    #[must_use]
    pub fn holding(mut self, hold: impl Send + 'static) -> Self {
        self._hold = Some(Box::new(hold));
        self
    }

    /// Takes from the upstream whatever is there. Ready when something is to be passed on.
    fn poll_gather(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.last.is_none() && !self.batch.is_full() {
            match Pin::new(&mut self.upstream).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => self.take(frame),
                Poll::Ready(Some(Err(error))) => self.cut(error.into()),
                Poll::Ready(None) => self.upstream_ended(),
                Poll::Pending if self.batch.is_empty() => {
                    match &mut self.idle {
                        Some(idle) => ready!(idle.poll(cx)),
                        None => return Poll::Pending,
                    }
                    self.cut(Cut::Idle);
                }
                Poll::Pending if self.steps_left > 0 => {
                    self.steps_left -= 1;
                    step_aside(cx);
                    return Poll::Pending;
                }
                Poll::Pending => break,
            }
        }
        Poll::Ready(())
    }

    fn take(&mut self, frame: Frame<Bytes>) {
        if let Some(idle) = &mut self.idle {
            idle.reset();
        }
        match frame.into_data() {
            Ok(data) => {
                if let Some(tap) = &mut self.tap {
                    tap.data(&data);
                }
                self.batch.push(data);
                self.steps_left = STEPS_ASIDE;
                if self.upstream.is_end_stream() {
                    self.upstream_ended();
                }
            }
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    self.upstream_ended();
                    if matches!(self.last, Some(Last::End)) {
                        self.last = Some(Last::Trailers(trailers));
                    }
                }
            }
        }
    }

    fn upstream_ended(&mut self) {
        if self.tap.as_mut().is_none_or(|tap| tap.is_whole()) {
            self.last = Some(Last::End);
            self.over(End::Complete);
        } else {
            self.cut(Cut::Unfinished);
        }
    }

    fn cut(&mut self, why: Cut) {
        if self.tap.as_mut().is_some_and(|tap| tap.is_terminal()) {
            self.last = Some(Last::End);
            self.over(End::Complete);
            return;
        }
        let event = self.tap.as_mut().and_then(|tap| tap.cut(why.clone())).filter(|event| !event.is_empty());
        self.last = Some(event.map_or(Last::Abort { why: why.clone(), flushed: false }, Last::Event));
        self.over(End::Cut(why));
    }
}

/// Has the task polled again once every other task that is ready has run. A plain wake would do, but it calls an idle
/// worker for help each time, which costs several times what a chunk does.
fn step_aside(cx: &mut Context<'_>) {
    let asked = pin!(tokio::task::yield_now()).poll(cx);
    debug_assert!(asked.is_pending(), "the first poll of a yield is pending");
}

impl<B> RelayBody<B> {
    fn over(&mut self, how: End) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        match how {
            End::Complete => {}
            End::Cut(_) => metrics::counter!(names::STREAMS_CUT).increment(1),
            End::ClientGone => metrics::counter!(names::CLIENT_GONE).increment(1),
        }
        if let Some(tap) = &mut self.tap {
            tap.end(how);
        }
    }
}

impl<B> Drop for RelayBody<B> {
    fn drop(&mut self) {
        self.over(End::ClientGone);
    }
}

impl<B> Body for RelayBody<B>
where
    B: Body<Data = Bytes, Error: Into<Cut>> + Unpin,
{
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        if !this.gathered {
            ready!(this.poll_gather(cx));
            this.gathered = true;
        }
        if let Some(tap) = &mut this.tap {
            ready!(tap.poll_release(cx));
        }
        this.gathered = false;
        let bytes = this.batch.pop();
        // Also where nothing was left to pop: an answer without a marker is known to be whole only when its end comes.
        if this.batch.is_empty()
            && let Some(tap) = &mut this.tap
        {
            tap.handed_on();
        }
        if let Some(bytes) = bytes {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        match this.last.replace(Last::End) {
            Some(Last::Trailers(trailers)) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Some(Last::Event(event)) => Poll::Ready(Some(Ok(Frame::data(event)))),
            Some(Last::Abort { why, flushed: true }) => Poll::Ready(Some(Err(BrokenOff(why)))),
            Some(Last::Abort { why, flushed: false }) => {
                this.last = Some(Last::Abort { why, flushed: true });
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Last::End) | None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.last, Some(Last::End)) && self.batch.is_empty()
    }

    /// Always unknown: the length that the upstream announced stands in the head, and an answer without one (HEAD, 304)
    /// must not get one from the server library.
    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests;
