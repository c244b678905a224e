//! When a session was last spoken to. It changes with every request and is worth no write of the record: it is kept in memory,
//! and in a shared store under a key of its own, which nobody waits for.
use super::Records;
use crate::session::record::SessionKey;
use crate::session::store::keys;
use bytes::Bytes;
use jiff::Timestamp;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Records {
    /// Notes a request of a session. A request costs no write that it waits for; [`Records::flush`] writes the record.
    pub fn touch(&self, key: &SessionKey, now: Timestamp) {
        if let Some(entry) = self.cache.get(key) {
            entry.last_active.fetch_max(now.as_millisecond(), Ordering::Relaxed);
        }
        if self.is_shared
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (store, key) = (self.store.clone(), keys::active(key));
            let now = Bytes::from(now.as_millisecond().to_string());
            // A failure costs an end that comes early, and the session is resumed.
            runtime.spawn(async move { store.write(vec![(key, Some(now))]).await });
        }
    }

    /// How long a session has been idle, in all processes; zero when nobody knows.
    pub async fn idle_for(&self, key: &SessionKey, now: Timestamp) -> Duration {
        let Some(entry) = self.cache.get(key) else { return Duration::ZERO };
        if self.is_shared {
            let elsewhere = match self.store.get(&keys::active(key)).await {
                Ok(stored) => stored.and_then(|bytes| std::str::from_utf8(&bytes).ok()?.parse().ok()),
                Err(_) => return Duration::ZERO,
            };
            entry.last_active.fetch_max(elsewhere.unwrap_or_default(), Ordering::Relaxed);
        }
        Duration::try_from(now.duration_since(entry.last_active())).unwrap_or_default()
    }
}
