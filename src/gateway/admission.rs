//! How much may be in flight: requests, and bytes of their bodies.
//!
//! Both refuse at once instead of queueing: a client's SDK waits and tries again, a queue would only grow.
use crate::config::Limits;
use crate::telemetry::names;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// `limits.concurrent_requests`.
#[derive(Debug)]
pub struct Admission(Arc<Semaphore>);

/// The place of one request, held until the last byte of its answer.
#[derive(Debug)]
pub struct Place(#[allow(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

impl Admission {
    /// As many places as the limits say.
    pub fn new(limits: &Limits) -> Self {
        Self(semaphore(limits.concurrent_requests))
    }

    /// A place, or `None` when all are taken.
    pub fn enter(&self) -> Option<Place> {
        let place = Place(Arc::clone(&self.0).try_acquire_owned().ok()?);
        metrics::gauge!(names::IN_FLIGHT).increment(1.0);
        Some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        metrics::gauge!(names::IN_FLIGHT).decrement(1.0);
    }
}

/// `limits.buffered_bytes`: one unit is a byte.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Semaphore>);

/// Bytes taken from the budget; given back on drop.
#[derive(Debug)]
pub struct Share {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// As many bytes as the limits say.
    pub fn new(limits: &Limits) -> Self {
        Self(semaphore(limits.buffered_bytes))
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
        let Some(permit) = u32::try_from(bytes).ok().and_then(|count| self.budget.0.try_acquire_many(count).ok())
        else {
            return false;
        };
        permit.forget();
        self.bytes += bytes;
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^52 bytes")]
        metrics::gauge!(names::BUFFERED_BYTES).increment(bytes as f64);
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.0.add_permits(self.bytes);
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^52 bytes")]
        metrics::gauge!(names::BUFFERED_BYTES).decrement(self.bytes as f64);
    }
}

fn semaphore(size: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS)))
}
