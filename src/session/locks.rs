//! One async lock per name, made when it is asked for and gone when nobody holds it.
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use tokio::sync::OwnedMutexGuard;

/// Names beyond which abandoned ones are swept out.
const SWEEP_AT: usize = 4096;

/// The locks of one kind of name. Waiting is fair; different names never wait for each other.
#[derive(Debug)]
pub struct Locks<K> {
    names: Mutex<HashMap<K, Weak<tokio::sync::Mutex<()>>>>,
}

impl<K: Hash + Eq> Default for Locks<K> {
    fn default() -> Self {
        Self { names: Mutex::new(HashMap::new()) }
    }
}

impl<K: Hash + Eq> Locks<K> {
    /// Waits for `name`. The guard may move to another task.
    pub async fn lock(&self, name: K) -> OwnedMutexGuard<()> {
        let lock = self.named(name);
        lock.lock_owned().await
    }

    fn named(&self, name: K) -> Arc<tokio::sync::Mutex<()>> {
        let mut names = self.names.lock();
        if names.len() >= SWEEP_AT {
            names.retain(|_, lock| lock.strong_count() > 0);
        }
        let slot = names.entry(name).or_default();
        slot.upgrade().unwrap_or_else(|| {
            let lock = Arc::new(tokio::sync::Mutex::new(()));
            *slot = Arc::downgrade(&lock);
            lock
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn one_name_waits_and_another_does_not() {
        let locks = Locks::default();
        let held = locks.lock("a").await;
        drop(tokio::time::timeout(Duration::from_secs(1), locks.lock("b")).await.expect("another name is free"));
        assert!(tokio::time::timeout(Duration::from_secs(1), locks.lock("a")).await.is_err());
        drop(held);
        drop(tokio::time::timeout(Duration::from_secs(1), locks.lock("a")).await.expect("free again"));
    }
}
