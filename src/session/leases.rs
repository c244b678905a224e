//! One at a time, in all processes that share a store: who prepares a request of a session has its lease.
//!
//! Within a process the waiting is fair; between processes whoever asks first when it is free. Where the store is not shared
//! there are none: the locks of this process do.
use super::locks::Locks;
use super::store::Store;
use crate::context::Digest;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// First pause between two questions for a lease that another process has: a request without slow hooks takes about this.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// Longest pause, so that many who wait do not keep the server busy.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

/// The leases of a process.
pub struct Leases {
    store: Arc<dyn Store>,
    local: Locks<Digest>,
    holders: AtomicU64,
}

/// Held until this is dropped.
pub struct Lease {
    store: Arc<dyn Store>,
    name: String,
    /// By this the store knows whether it is this one that is given back: it may not have been had at all.
    holder: String,
    /// Given on when the lease is back.
    here: Option<OwnedMutexGuard<()>>,
}

impl Leases {
    /// In this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, local: Locks::default(), holders: AtomicU64::new(0) }
    }

    /// Waits for `name`, at most `until`; then, or when the store can't be asked, the caller goes on as if it had it, since
    /// traffic goes on. `None` where the store is not shared.
    pub async fn take(&self, name: Digest, until: Instant) -> Option<Lease> {
        let shared = self.store.shared()?;
        let holder = self.holders.fetch_add(1, Ordering::Relaxed).to_string();
        let mut lease = Lease { store: self.store.clone(), name: name.to_string(), holder, here: None };
        let mut pause = FIRST_PAUSE;
        let acquiring = async {
            lease.here = Some(self.local.lock(name).await);
            loop {
                match shared.acquire(&lease.name, &lease.holder).await {
                    Ok(true) => return,
                    Ok(false) => tokio::time::sleep(pause).await,
                    Err(error) => return tracing::debug!(%error, "a session is prepared without its lease"),
                }
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
        };
        if tokio::time::timeout_at(until, acquiring).await.is_err() {
            tracing::warn!("a session is busy elsewhere for too long; its next request does not wait longer");
        }
        Some(lease)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (name, holder) = (std::mem::take(&mut self.name), std::mem::take(&mut self.holder));
        let (store, here) = (self.store.clone(), self.here.take());
        runtime.spawn(async move {
            if let Some(shared) = store.shared()
                && let Err(error) = shared.release(&name, &holder).await
            {
                tracing::debug!(%error, "a lease could not be given back; it runs out");
            }
            drop(here);
        });
    }
}
