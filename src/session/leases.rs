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

/// How often a lease that could not be given back is given back again, and for how long: then it has run out by itself.
const GIVE_BACK_AGAIN: Duration = Duration::from_millis(250);
const GIVE_BACK_FOR: Duration = Duration::from_secs(300);

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
    /// The store may have it: it said so, or was asked and did not answer.
    is_held: bool,
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
        let mut lease = Lease { store: self.store.clone(), name: name.to_string(), holder, is_held: false, here: None };
        let mut pause = FIRST_PAUSE;
        let acquiring = async {
            lease.here = Some(self.local.lock(name).await);
            loop {
                lease.is_held = shared.is_up();
                match shared.acquire(&lease.name, &lease.holder).await {
                    Ok(true) => return,
                    Ok(false) => {
                        lease.is_held = false;
                        tokio::time::sleep(pause).await;
                    }
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
        let here = self.here.take();
        if !self.is_held {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (name, holder) = (std::mem::take(&mut self.name), std::mem::take(&mut self.holder));
        runtime.spawn(give_back(self.store.clone(), name, holder, here));
    }
}

/// Gives a lease back, if need be when the store is there again: as long as this process lives, others would wait for it
/// until it runs out. Who waits `here` does not.
async fn give_back(store: Arc<dyn Store>, name: String, holder: String, here: Option<OwnedMutexGuard<()>>) {
    let Some(shared) = store.shared() else { return };
    let mut given = shared.release(&name, &holder).await;
    drop(here);
    let begun = Instant::now();
    while let Err(error) = given {
        if begun.elapsed() > GIVE_BACK_FOR {
            return tracing::debug!(%error, "a lease could not be given back; it has run out");
        }
        tokio::time::sleep(GIVE_BACK_AGAIN).await;
        given = shared.release(&name, &holder).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::testing::Faulty;
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_could_not_be_given_back_is_given_back_when_the_store_is_there_again() {
        let store = Arc::new(Faulty::shared(Arc::default()));
        let leases = Leases::new(store.clone());
        let name = Digest::of(&[b"session"]);
        let patience = || Instant::now() + Duration::from_secs(20);
        let lease = leases.take(name, patience()).await;
        store.down.store(true, SeqCst);
        drop(lease);
        while store.refused.load(SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        store.down.store(false, SeqCst);
        let begun = Instant::now();
        drop(leases.take(name, patience()).await);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        while !store.leases.lock().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_was_never_had_is_not_given_back() {
        let store = Arc::new(Faulty::shared(Arc::default()));
        let leases = Leases::new(store.clone());
        store.down.store(true, SeqCst);
        drop(leases.take(Digest::of(&[b"session"]), Instant::now() + Duration::from_secs(20)).await);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(store.refused.load(SeqCst), 1, "the store was asked for it, and then not again");
    }
}
