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

    /// A free place, else one in the crowd, which may have to be waited for.
    ///
    /// # Errors
    /// Never: they are not closed.
    pub(super) async fn take(&self) -> Result<Place, AcquireError> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(Place { crowded: false, _permit: permit });
        }
        let permit = Arc::clone(&self.crowd).acquire_owned().await?;
        Ok(Place { crowded: true, _permit: permit })
    }
}

fn wanted(limits: &Limits) -> usize {
    limits.concurrent_requests.saturating_mul(CONNECTIONS_PER_REQUEST)
}
