//! How much may be in flight: requests, and bytes of their bodies.
//!
//! Both refuse at once instead of queueing: a client's SDK waits and tries again, a queue would only grow.
use crate::config::Limits;
use crate::telemetry::names;
use metrics::Gauge;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// `limits.concurrent_requests`.
#[derive(Debug)]
pub struct Admission {
    places: Arc<Semaphore>,
    in_flight: Gauge,
}

/// The place of one request, held until the last byte of its answer.
#[derive(Debug)]
pub struct Place {
    _permit: OwnedSemaphorePermit,
    in_flight: Gauge,
}

impl Admission {
    /// As many places as the limits say.
    pub fn new(limits: &Limits) -> Self {
        Self { places: semaphore(limits.concurrent_requests), in_flight: metrics::gauge!(names::IN_FLIGHT) }
    }

    /// A place, or `None` when all are taken.
    pub fn enter(&self) -> Option<Place> {
        let permit = Arc::clone(&self.places).try_acquire_owned().ok()?;
        self.in_flight.increment(1.0);
        Some(Place { _permit: permit, in_flight: self.in_flight.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.in_flight.decrement(1.0);
    }
}

/// `limits.buffered_bytes`: one unit is a byte.
#[derive(Debug, Clone)]
pub struct Budget {
    bytes: Arc<Semaphore>,
    taken: Gauge,
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
        Self { bytes: semaphore(limits.buffered_bytes), taken: metrics::gauge!(names::BUFFERED_BYTES) }
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
        let Some(permit) = u32::try_from(bytes).ok().and_then(|count| self.budget.bytes.try_acquire_many(count).ok())
        else {
            return false;
        };
        permit.forget();
        self.bytes += bytes;
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^52 bytes")]
        self.budget.taken.increment(bytes as f64);
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.bytes.add_permits(self.bytes);
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^52 bytes")]
        self.budget.taken.decrement(self.bytes as f64);
    }
}

fn semaphore(size: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS)))
}
