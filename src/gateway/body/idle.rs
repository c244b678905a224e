//! How long an upstream has been silent.
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Measures how long the upstream is waited for. Time in which the client does not read does not count.
pub(in crate::gateway) struct Idle {
    limit: Duration,
    waiting_since: Option<Instant>,
    /// Set again only when it goes off, not for every chunk.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Idle {
    pub(in crate::gateway) fn new(limit: Duration) -> Self {
        Self { limit, waiting_since: None, timer: None }
    }

    pub(in crate::gateway) fn reset(&mut self) {
        self.waiting_since = None;
    }

    /// Ready when the upstream has been waited for as long as it may take.
    pub(in crate::gateway) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = *self.waiting_since.get_or_insert_with(Instant::now) + self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        loop {
            ready!(timer.as_mut().poll(cx));
            if timer.deadline() >= deadline {
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
    }
}
