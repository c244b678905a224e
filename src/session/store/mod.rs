//! Where state lives: a small ordered key-value store.
//!
//! One trait, [`Store`], and three homes: [`SledStore`] on disk, [`RedisStore`] for several gateways, and [`MemoryStore`] for
//! tests and throw-away gateways. All pass the same conformance suite. [`keys`] draws the layout of the keys; [`shared`] says
//! what holds when several processes write.
pub mod dump;
pub mod keys;
mod measured;
mod memory;
mod redis;
pub mod shared;
mod sled;

#[cfg(test)]
mod conformance;
#[cfg(test)]
pub(crate) mod testing;

pub use self::measured::Measured;
pub use self::memory::MemoryStore;
pub use self::redis::RedisStore;
pub use self::shared::Shared;
pub use self::sled::SledStore;

use crate::config;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// A change of one key: its new value, or `None` to remove it.
pub type Change = (Vec<u8>, Option<Bytes>);

/// A key with its value.
pub type Pair = (Vec<u8>, Bytes);

/// Length of [`secret`] in bytes: the key length of BLAKE3's keyed mode.
pub const SECRET_LEN: usize = 32;

/// An ordered key-value store. Whatever changes something is durable when its future is ready: a process that is
/// killed right afterwards finds it again. Methods never block the runtime.
pub trait Store: Send + Sync + 'static {
    /// The value of `key`.
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>>;

    /// Sets `key` to `new` if it holds `expected` (`None`: absent), and says whether it did.
    fn compare_and_set<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Makes all these changes or none of them.
    fn write(&self, batch: Vec<Change>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// At most `limit` pairs whose key begins with `prefix` and is greater than `after`, in the order of the keys.
    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<Vec<u8>>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>>;

    /// Returns when everything that was written before is durable.
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// What several processes need that write here; `None`: this one is alone, and what it remembers is true.
    fn shared(&self) -> Option<&dyn Shared> {
        None
    }
}

/// Why the store did not do what it was asked. What failed was not acknowledged; whether it is found later is open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process has it open: one process per path.
    #[error("the store at {path} is in use by another process; stop it, or give this gateway another store path")]
    Locked {
        /// The folder.
        path: String,
    },
    /// The disk refused: full, gone, no permission.
    #[error("store: {0}")]
    Io(String),
    /// The server that holds it can't be reached.
    #[error("the store can't be reached: {0}")]
    Unavailable(String),
    /// What was read can't be right.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// It was written by a newer hookgate.
    #[error("the store has format {found}, this version reads {known}; use the newer hookgate, or another store path")]
    Newer {
        /// The format found.
        found: String,
        /// The format that this version writes.
        known: &'static str,
    },
    /// The storage engine panicked; the panic was contained.
    #[error("the storage engine panicked")]
    Panicked,
    /// The store was shut down while the request waited.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// A short name for metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Locked { .. } => "locked",
            Self::Io(_) => "io",
            Self::Unavailable(_) => "unavailable",
            Self::Corrupt(_) => "corrupt",
            Self::Newer { .. } => "newer",
            Self::Panicked => "panicked",
            Self::Closed => "closed",
        }
    }
}

/// The store that a configuration names. Runs on a tokio runtime.
///
/// # Errors
/// [`StoreError`] when it can't be opened.
pub async fn open(config: &config::Store) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match config {
        config::Store::Sled { path } => Arc::new(SledStore::open(path).await?),
        config::Store::Redis { url, .. } => Arc::new(RedisStore::open(url).await?),
        config::Store::Memory => Arc::new(MemoryStore::new()),
    })
}

/// The random secret of this store, made when it is first asked for. Fingerprints of credentials are keyed with it, so
/// that a stolen store does not let anybody test guesses without it, and two stores' tenants can't be joined.
///
/// # Errors
/// [`StoreError`] of the store; [`StoreError::Corrupt`] if the stored value has a wrong length.
pub async fn secret(store: &dyn Store) -> Result<[u8; SECRET_LEN], StoreError> {
    if store.get(keys::SECRET).await?.is_none() {
        let mut fresh = [0; SECRET_LEN];
        getrandom::fill(&mut fresh).map_err(|e| StoreError::Io(format!("no randomness: {e}")))?;
        // A replica that was faster wins; its value is read below.
        store.compare_and_set(keys::SECRET, None, Some(Bytes::copy_from_slice(&fresh))).await?;
    }
    let stored = store.get(keys::SECRET).await?.unwrap_or_default();
    stored.as_ref().try_into().map_err(|_| StoreError::Corrupt("the secret has a wrong length".into()))
}
