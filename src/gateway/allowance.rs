//! What the keys of one tenant may use together: requests at once, requests and tokens per minute.
//!
//! Counted in this process alone, and kept over a reload. Tokens are known only once an answer is over, so they are taken
//! afterwards: a tenant is let in while anything is left of its minute, and what was used beyond is waited for.
use crate::config::TenantLimits;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a bucket holds when it is full.
const MINUTE: Duration = Duration::from_secs(60);

/// What is waited for at most when more was used than there was: one costly answer should not lock a tenant out for hours.
const MAX_DEBT: Duration = Duration::from_secs(10 * 60);

/// A place is free when one of the tenant's own requests ends, which nobody can know; so long until the next try.
const NEXT_PLACE: Duration = Duration::from_secs(1);

/// A limit that a request ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {limit} {what}; try again in {secs} s", secs = whole_secs(*.after))]
pub struct Limited {
    /// The limit.
    pub limit: usize,
    /// Of what, in words.
    pub what: &'static str,
    /// When to try again.
    pub after: Duration,
}

/// The seconds that are over when `duration` is.
pub fn whole_secs(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// What a tenant has used.
#[derive(Debug)]
pub struct Used {
    since: Instant,
    in_flight: AtomicUsize,
    requests: Bucket,
    tokens: Bucket,
}

/// One tenant's limits, and what it has used of them.
#[derive(Debug, Clone)]
pub struct Allowance {
    limits: TenantLimits,
    used: Arc<Used>,
}

/// One request in flight, until it is dropped.
#[derive(Debug)]
pub struct Seat(Arc<Used>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Allowance {
    /// Nothing used yet.
    pub fn new(limits: TenantLimits) -> Self {
        let used = Used {
            since: Instant::now(),
            in_flight: AtomicUsize::new(0),
            requests: Bucket::default(),
            tokens: Bucket::default(),
        };
        Self { limits, used: Arc::new(used) }
    }

    /// The same use under other limits.
    #[must_use]
    pub fn under(&self, limits: TenantLimits) -> Self {
        Self { limits, used: Arc::clone(&self.used) }
    }

    /// A seat for a request.
    ///
    /// # Errors
    /// [`Limited`]: one of the limits is reached.
    pub fn enter(&self) -> Result<Seat, Limited> {
        let TenantLimits { requests_per_minute, concurrent_requests, tokens_per_minute } = self.limits;
        // Dropped again when one of the rates is used up.
        let seat = self.seat(concurrent_requests)?;
        let now = self.used.since.elapsed();
        if tokens_per_minute > 0 {
            let limited = |after| Limited { limit: tokens_per_minute, what: "tokens per minute", after };
            self.used.tokens.look(now).map_err(limited)?;
        }
        if requests_per_minute > 0 {
            let limited = |after| Limited { limit: requests_per_minute, what: "requests per minute", after };
            self.used.requests.take(cost(1, requests_per_minute), now).map_err(limited)?;
        }
        Ok(seat)
    }

    fn seat(&self, limit: usize) -> Result<Seat, Limited> {
        let next = |taken: usize| (limit == 0 || taken < limit).then_some(taken + 1);
        match self.used.in_flight.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(_) => Ok(Seat(Arc::clone(&self.used))),
            Err(_) => Err(Limited { limit, what: "requests at once", after: NEXT_PLACE }),
        }
    }

    /// Whether tokens are counted.
    pub const fn counts_tokens(&self) -> bool {
        self.limits.tokens_per_minute > 0
    }

    /// Takes the tokens that an answer has cost.
    pub fn spend(&self, tokens: u64) {
        if self.counts_tokens() {
            self.used.tokens.owe(cost(tokens, self.limits.tokens_per_minute), self.used.since.elapsed());
        }
    }
}

/// What `units` take of a minute that has room for `per_minute`.
fn cost(units: u64, per_minute: usize) -> Duration {
    let nanos = u128::from(units) * MINUTE.as_nanos() / per_minute.max(1) as u128;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).min(MAX_DEBT)
}

/// A bucket that fills by itself within a minute. Kept as the one moment at which it will be full again (the "generic cell
/// rate algorithm"), so that it needs no lock and no timer.
#[derive(Debug, Default)]
struct Bucket {
    /// Nanoseconds of the clock that `now` is of.
    full_at: AtomicU64,
}

impl Bucket {
    /// Takes `cost` if it is there, or says how long until it is.
    fn take(&self, cost: Duration, now: Duration) -> Result<(), Duration> {
        let (now, cost, room) = (nanos(now), nanos(cost), nanos(MINUTE));
        let next = |full_at: u64| {
            let then = full_at.max(now).saturating_add(cost);
            (then - now <= room).then_some(then)
        };
        match self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(_) => Ok(()),
            Err(full_at) => Err(Duration::from_nanos(full_at.saturating_add(cost) - now - room)),
        }
    }

    /// How long until anything is there.
    fn look(&self, now: Duration) -> Result<(), Duration> {
        let wait = self.full_at.load(Ordering::Relaxed).saturating_sub(nanos(now));
        match wait.checked_sub(nanos(MINUTE)) {
            None => Ok(()),
            Some(wait) => Err(Duration::from_nanos(wait + 1)),
        }
    }

    /// Takes `cost` whether it is there or not.
    fn owe(&self, cost: Duration, now: Duration) {
        let (now, cost) = (nanos(now), nanos(cost));
        let most = now.saturating_add(nanos(MINUTE)).saturating_add(nanos(MAX_DEBT));
        let next = |full_at: u64| Some(full_at.max(now).saturating_add(cost).min(most));
        // Always there.
        let _ = self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn a_bucket_gives_a_minutes_worth_at_once_and_then_at_its_rate() {
        let bucket = Bucket::default();
        let one = cost(1, 6);
        assert!((0..6).all(|_| bucket.take(one, secs(100)).is_ok()));
        assert_eq!(bucket.take(one, secs(100)), Err(secs(10)));
        assert_eq!(bucket.take(one, secs(104)), Err(secs(6)), "a refusal costs nothing");
        assert_eq!(bucket.take(one, secs(110)), Ok(()), "whoever waits as long as it was told comes in");
        assert_eq!(bucket.take(one, secs(110)), Err(secs(10)));
        assert!((0..6).all(|_| bucket.take(one, secs(1000)).is_ok()), "it is never more than full");
        assert!(bucket.take(one, secs(1000)).is_err());
    }

    #[test]
    fn what_was_used_beyond_is_waited_for_but_not_for_hours() {
        let bucket = Bucket::default();
        assert_eq!(bucket.look(secs(5)), Ok(()));
        bucket.owe(cost(50, 100), secs(5));
        assert_eq!(bucket.look(secs(5)), Ok(()), "half is left");
        bucket.owe(cost(100, 100), secs(5));
        assert_eq!(bucket.look(secs(5)), Err(secs(30) + Duration::from_nanos(1)));
        assert_eq!(bucket.look(secs(36)), Ok(()));
        bucket.owe(cost(u64::MAX, 1), secs(36));
        bucket.owe(cost(u64::MAX, 1), secs(36));
        assert_eq!(bucket.look(secs(36)), Err(MAX_DEBT + Duration::from_nanos(1)));
    }

    #[test]
    fn a_refused_request_takes_no_seat_and_a_limit_of_nothing_is_none() {
        let limits = TenantLimits { requests_per_minute: 2, concurrent_requests: 1, tokens_per_minute: 0 };
        let allowance = Allowance::new(limits);
        let seat = allowance.enter().unwrap();
        assert_eq!(allowance.enter().unwrap_err().what, "requests at once");
        drop(seat);
        drop(allowance.enter().unwrap());
        assert_eq!(allowance.enter().unwrap_err().what, "requests per minute");
        let wide = allowance.under(TenantLimits::default());
        let seats: Vec<_> = (0..100).map(|_| wide.enter().unwrap()).collect();
        assert_eq!(allowance.enter().unwrap_err().what, "requests at once", "what is in flight counts on");
        drop(seats);
        allowance.spend(u64::MAX);
        assert_eq!(allowance.enter().unwrap_err().what, "requests per minute", "tokens are not limited");
    }
}
