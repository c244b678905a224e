//! How slowly a client may send a body.
use super::body::Idle;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// What arrives on average while it is waited for, in bytes per second: a hundredth of a poor mobile line. Without it a byte
/// now and then would keep a request open for ever.
const MIN_RATE: u64 = 1 << 10;

/// The body came too slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body came too slowly (limits.body_timeout)")]
pub struct TooSlow;

/// Watches one body. Time in which nobody waits for it does not count.
pub(super) struct Pace {
    pause: Duration,
    idle: Idle,
    since: Option<Instant>,
    waited: Duration,
    received: u64,
}

impl Pace {
    /// `pause`: without a byte.
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, idle: Idle::new(pause), since: None, waited: Duration::ZERO, received: 0 }
    }

    /// Nothing is there; ready when that lasts too long.
    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<TooSlow> {
        self.since.get_or_insert_with(Instant::now);
        self.idle.poll(cx).map(|()| TooSlow)
    }

    /// So many bytes have come.
    ///
    /// # Errors
    /// [`TooSlow`]: they were waited for longer than they may take.
    pub(super) fn came(&mut self, bytes: u64) -> Result<(), TooSlow> {
        self.received += bytes;
        let Some(since) = self.since.take() else { return Ok(()) };
        self.idle.reset();
        self.waited += since.elapsed();
        let allowed = self.pause + Duration::from_secs(self.received / MIN_RATE);
        if self.waited > allowed { Err(TooSlow) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    const PAUSE: Duration = Duration::from_secs(60);

    /// Waits `secs` for `bytes`.
    async fn after(pace: &mut Pace, secs: u64, bytes: u64) -> Result<(), TooSlow> {
        let wait = Duration::from_secs(secs);
        match tokio::time::timeout(wait, poll_fn(|cx| pace.poll_wait(cx))).await {
            Ok(slow) => Err(slow),
            Err(_) => pace.came(bytes),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_pause_but_not_for_long_and_not_all_the_time() {
        let mut pace = Pace::new(PAUSE);
        assert_eq!(pace.came(1), Ok(()));
        assert_eq!(after(&mut pace, 59, 1).await, Ok(()));
        assert_eq!(after(&mut pace, 2, 1).await, Err(TooSlow), "a byte now and then");

        let mut pace = Pace::new(PAUSE);
        assert_eq!(after(&mut pace, 61, 1).await, Err(TooSlow), "a silence");

        let mut pace = Pace::new(PAUSE);
        for _ in 0..1000 {
            assert_eq!(after(&mut pace, 5, 5 * MIN_RATE).await, Ok(()), "slow, but steady");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_nobody_reads_does_not_count() {
        let mut pace = Pace::new(PAUSE);
        for _ in 0..3 {
            tokio::time::advance(PAUSE * 2).await;
            assert_eq!(pace.came(1), Ok(()));
        }
    }
}
