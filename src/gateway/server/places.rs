//! How many connections a listener has at once.
use crate::config::Limits;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Connections per place of `limits.concurrent_requests`: clients keep several open that are idle.
const CONNECTIONS_PER_REQUEST: usize = 4;

/// Connections beyond that are told that it is too crowded: enough to tell everybody at once, few enough to cost nothing.
const CROWD: usize = 256;

/// Places for connections on one listener.
#[derive(Debug)]
pub struct Places {
    free: Arc<Semaphore>,
    crowd: Arc<Semaphore>,
    /// How many there are, taken ones included.
    size: Mutex<usize>,
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    crowded: bool,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// Whether the connection can only be told that there is none.
    pub(super) const fn is_crowded(&self) -> bool {
        self.crowded
    }
}

impl Places {
    /// For so many connections.
    pub fn new(size: usize) -> Self {
        let size = size.min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(size)), crowd: Arc::new(Semaphore::new(CROWD)), size: Mutex::new(size) }
    }

    /// For the requests that these limits allow.
    pub fn of(limits: &Limits) -> Self {
        Self::new(wanted(limits))
    }

    /// As many as other limits allow. Places that are taken stay: connections are not broken off.
    pub fn fit(&self, limits: &Limits) {
        let mut size = self.size.lock();
        let wanted = wanted(limits).min(Semaphore::MAX_PERMITS);
        self.free.add_permits(wanted.saturating_sub(*size));
        *size = wanted.max(*size) - self.free.forget_permits(size.saturating_sub(wanted));
    }

    /// A free place, else one in the crowd, whichever is to be had first.
    ///
    /// # Errors
    /// Never: they are not closed.
    pub(super) async fn take(&self) -> Result<Place, AcquireError> {
        let (crowded, permit) = tokio::select! {
            biased;
            free = Arc::clone(&self.free).acquire_owned() => (false, free?),
            crowd = Arc::clone(&self.crowd).acquire_owned() => (true, crowd?),
        };
        Ok(Place { crowded, _permit: permit })
    }
}

fn wanted(limits: &Limits) -> usize {
    limits.concurrent_requests.saturating_mul(CONNECTIONS_PER_REQUEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_gets_the_first_place_that_is_free() {
        let places = Places::new(1);
        let inside = places.take().await.unwrap();
        let mut crowd = Vec::new();
        for _ in 0..CROWD {
            crowd.push(places.take().await.unwrap());
        }
        assert!(!inside.is_crowded() && crowd.iter().all(Place::is_crowded));
        let next = || tokio::time::timeout(Duration::from_secs(1), places.take());
        assert!(next().await.is_err(), "all are taken");
        let (next, ()) = tokio::join!(next(), async { drop(inside) });
        assert!(!next.expect("the place that is free").unwrap().is_crowded());
    }
}
