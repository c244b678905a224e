//! How much may be in flight: requests, and bytes of their bodies.
//!
//! Both refuse at once instead of queueing: a client's SDK waits and tries again, a queue would only grow.
//!
//! The counts outlive a configuration, its limits do not: what came in under another one is in flight all the same.
use crate::config::Limits;
use crate::telemetry::names;
use metrics::Gauge;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// `limits.concurrent_requests`.
#[derive(Debug)]
pub struct Admission {
    taken: Arc<AtomicUsize>,
    limit: usize,
    in_flight: Gauge,
}

/// The place of one request, held until the last byte of its answer.
#[derive(Debug)]
pub struct Place {
    taken: Arc<AtomicUsize>,
    in_flight: Gauge,
}

impl Admission {
    /// As many places as the limits say.
    pub fn new(limits: &Limits) -> Self {
        Self { taken: Arc::default(), limit: limits.concurrent_requests, in_flight: metrics::gauge!(names::IN_FLIGHT) }
    }

    /// The same places under other limits.
    #[must_use]
    pub fn under(&self, limits: &Limits) -> Self {
        Self { taken: Arc::clone(&self.taken), limit: limits.concurrent_requests, in_flight: self.in_flight.clone() }
    }

    /// A place, or `None` when all are taken.
    pub fn enter(&self) -> Option<Place> {
        if !take(&self.taken, 1, self.limit) {
            return None;
        }
        self.in_flight.increment(1.0);
        Some(Place { taken: Arc::clone(&self.taken), in_flight: self.in_flight.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
        self.in_flight.decrement(1.0);
    }
}

/// `limits.buffered_bytes`: one unit is a byte.
#[derive(Debug, Clone)]
pub struct Budget {
    taken: Arc<AtomicUsize>,
    limit: usize,
    bytes: Gauge,
}

/// Bytes taken from the budget; given back on drop.
#[derive(Debug)]
pub struct Share {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// As many bytes as the limits say.
    pub fn new(limits: &Limits) -> Self {
        Self { taken: Arc::default(), limit: limits.buffered_bytes, bytes: metrics::gauge!(names::BUFFERED_BYTES) }
    }

    /// The same bytes under other limits.
    #[must_use]
    pub fn under(&self, limits: &Limits) -> Self {
        Self { limit: limits.buffered_bytes, ..self.clone() }
    }

    /// A share without bytes.
    pub fn share(&self) -> Share {
        Share { budget: self.clone(), bytes: 0 }
    }
}

impl Share {
    /// Takes more; false, and nothing taken, when that many are not left.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        if !take(&self.budget.taken, bytes, self.budget.limit) {
            return false;
        }
        self.bytes += bytes;
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^52 bytes")]
        self.budget.bytes.increment(bytes as f64);
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^52 bytes")]
        self.budget.bytes.decrement(self.bytes as f64);
    }
}

/// How often the log says that requests are shed, in seconds.
const NEWS_EVERY: u64 = 1;

/// Whether it is time for the log to say that requests are shed.
pub(super) fn is_news() -> bool {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static SINCE: LazyLock<Instant> = LazyLock::new(Instant::now);
    let now = SINCE.elapsed().as_secs();
    let due = |next: u64| (now >= next).then_some(now + NEWS_EVERY);
    NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).is_ok()
}

fn take(taken: &AtomicUsize, more: usize, limit: usize) -> bool {
    let within = |taken: usize| taken.checked_add(more).filter(|sum| *sum <= limit);
    taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn what_is_in_flight_counts_under_other_limits_too() {
        let limits = |concurrent_requests, buffered_bytes| Limits {
            concurrent_requests,
            buffered_bytes,
            ..Config::default().limits
        };
        let (wide, narrow) = (limits(2, 10), limits(1, 4));
        let admission = Admission::new(&wide);
        let places = [admission.enter(), admission.enter()];
        assert!(places.iter().all(Option::is_some) && admission.enter().is_none());
        let admission = admission.under(&narrow);
        let [first, second] = places;
        drop(first);
        assert!(admission.enter().is_none(), "one is still in flight");
        drop(second);
        assert!(admission.enter().is_some());

        let budget = Budget::new(&wide);
        let mut share = budget.share();
        assert!(share.grow(6) && !share.grow(5) && share.grow(4));
        let budget = budget.under(&narrow);
        assert!(!budget.share().grow(1));
        drop(share);
        assert!(!budget.share().grow(5) && budget.share().grow(4));
    }
}
