//! Watches the answer of one turn on its way down. It is never held here: only its terminal piece waits until what it
//! brings about is stored.
use super::ending::Ending;
use super::follow::Follow;
use super::watch::Watch;
use crate::context::Answer;
use crate::context::answer::Ending as AnswerEnding;
use crate::gateway::guard::StreamGuard;
use crate::gateway::tap::{Cut, End, Tap};
use crate::session::barrier::Running;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::task::{Context, Poll, ready};

/// A completed turn whose terminal piece is on its way.
pub(super) struct Delivery {
    /// The stop that it brings about.
    pub ending: Ending,
    /// Holds up the next prompt.
    pub running: Running,
}

/// Watches the answer of one turn.
pub(super) struct TurnTap {
    watch: Watch,
    /// Ends a cut event stream with the dialect's error.
    guard: Option<StreamGuard>,
    follow: Follow,
    storing: Option<BoxFuture<'static, ()>>,
    delivery: Option<Delivery>,
}

impl TurnTap {
    pub(super) fn new(watch: Watch, guard: Option<StreamGuard>, follow: Follow) -> Self {
        Self { watch, guard, follow, storing: None, delivery: None }
    }

    fn complete(&mut self, answer: &Answer) {
        (self.delivery, self.storing) = self.follow.complete(answer);
    }
}

impl Tap for TurnTap {
    fn data(&mut self, bytes: &[u8]) {
        if let Some(guard) = &mut self.guard {
            guard.data(bytes);
        }
        if self.follow.is_settled() {
            return;
        }
        self.watch.push(bytes);
        if self.watch.is_closed()
            && let Some(answer) = self.watch.finish()
        {
            self.complete(&answer);
        }
    }

    fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(storing) = &mut self.storing {
            ready!(storing.as_mut().poll(cx));
            self.storing = None;
        }
        Poll::Ready(())
    }

    fn is_whole(&mut self) -> bool {
        if self.follow.is_settled() {
            return true;
        }
        match self.watch.finish() {
            Some(answer) if answer.ending == AnswerEnding::Cut => {
                self.follow.fail("cut", None, Some(&answer));
                false
            }
            Some(answer) => {
                self.complete(&answer);
                true
            }
            None => {
                tracing::warn!(
                    session = self.follow.session(),
                    "an answer was not seen whole; no stop hook runs for it"
                );
                self.follow.settle();
                true
            }
        }
    }

    fn handed_on(&mut self) {
        if let Some(Delivery { ending, running }) = self.delivery.take() {
            self.follow.end(ending, running);
        }
    }

    fn is_terminal(&mut self) -> bool {
        self.watch.is_terminal()
    }

    fn cut(&mut self, why: Cut) -> Option<Bytes> {
        if !self.follow.is_settled() {
            let answer = self.watch.finish();
            let (reason, error) = match &why {
                Cut::Idle => ("upstream_idle", None),
                Cut::Failed(failure) => ("upstream_error", Some(failure.to_string())),
                Cut::Broken | Cut::Unfinished => ("cut", None),
                Cut::Withheld => ("withheld", None),
            };
            self.follow.fail(reason, error.as_deref(), answer.as_ref());
        }
        self.guard.as_mut().and_then(|guard| guard.cut(why))
    }

    fn end(&mut self, how: End) {
        // The marker was seen, then the connection was lost or the client left: what was said is whole all the same.
        if self.follow.is_settled() || !self.watch.is_terminal() {
            return;
        }
        if let Some(answer) = self.watch.finish() {
            self.complete(&answer);
        }
        if how == End::ClientGone {
            self.storing = None;
            self.handed_on();
        }
    }
}

impl Drop for TurnTap {
    /// The terminal piece was never taken: the client left before the end, and the stop that was stored for it is void.
    fn drop(&mut self) {
        let Some(Delivery { ending, running }) = self.delivery.take() else { return };
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        self.follow.forget(ending, running);
        self.follow.fail("client_gone", None, None);
    }
}
