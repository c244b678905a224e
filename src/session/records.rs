//! The repository of session records: a cache in front of the store, written through.
//!
//! A record is changed by compare-and-set, so that replicas that share a store agree; within a process the changes of one
//! session queue up at its entry and do not spin. In a shared store memory is never believed: each look reads the stored bytes
//! and compares. When the store fails, the record in memory still serves and is written when the store is back: a full disk
//! costs durability, not traffic.
mod activity;
mod entry;
mod listing;
mod pending;

pub use listing::{Due, Page};
pub use pending::{Found, Pending};

use self::entry::{Entry, Stored};
use super::SessionError;
use super::record::{Opening, SessionKey, SessionRecord};
use super::store::{Store, StoreError, keys};
use crate::telemetry::names;
use bytes::Bytes;
use foldhash::fast::RandomState;
use futures_util::StreamExt;
use moka::sync::Cache;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Records kept in memory, in bytes of their stored form; about 60,000 sessions of ordinary size.
const CACHE_BYTES: u64 = 64 * 1024 * 1024;
/// How often [`Records::flush`] is to be called: what a kill can take from `last_active`.
pub const FLUSH_EVERY: Duration = Duration::from_secs(60);
/// Records that [`Records::flush`] writes at once: enough to fill the store's group commit.
const FLUSH_WIDTH: usize = 64;
/// Tries of a compare-and-set against other processes, which change one session rarely at the same time.
const CAS_TRIES: usize = 8;

/// All sessions.
pub struct Records {
    store: Arc<dyn Store>,
    cache: Cache<SessionKey, Arc<Entry>, RandomState>,
    /// Other processes write, too.
    is_shared: bool,
    /// Kinds of store errors that were logged since the store last worked.
    logged: Mutex<BTreeSet<&'static str>>,
}

impl Records {
    /// In front of `store`.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let cache = Cache::builder().weigher(|_, entry: &Arc<Entry>| entry.weight()).max_capacity(CACHE_BYTES);
        let is_shared = store.shared().is_some();
        Self { store, cache: cache.build_with_hasher(RandomState::default()), is_shared, logged: Mutex::default() }
    }

    /// The store below, for what belongs to a session beside its record (under [`keys::data`]).
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The record of `key`; `None` if there is none.
    ///
    /// # Errors
    /// [`SessionError::Store`] if neither memory nor the store can tell, [`SessionError::Record`].
    pub async fn get(&self, key: &SessionKey) -> Result<Option<Arc<SessionRecord>>, SessionError> {
        let entry = self.entry(key);
        if let Some(record) = entry.current().filter(|_| !self.is_shared) {
            return Ok(Some(record));
        }
        let mut stored = entry.stored.lock().await;
        self.load(key, &entry, &mut stored).await?;
        match (&*stored, entry.current()) {
            (Stored::Unknown(error), None) => Err(error.clone().into()),
            (_, record) => Ok(record),
        }
    }

    /// The record of `key`, made from `opening` if there is none; and whether it was made. Of many that open the same
    /// session at once, one is told that it made it.
    ///
    /// # Errors
    /// [`SessionError::Record`], [`SessionError::Contended`]. A failing store is no error: the session is opened in memory.
    pub async fn open(&self, key: &SessionKey, opening: Opening) -> Result<(Arc<SessionRecord>, bool), SessionError> {
        let now = opening.now;
        let mut created = false;
        let record = self
            .change(key, |record| {
                created = record.is_none();
                created.then(|| SessionRecord::new(key.clone(), opening.clone()))
            })
            .await?;
        self.touch(key, now);
        Ok((record.ok_or_else(|| SessionError::Unknown(key.clone()))?, created))
    }

    /// Changes the record of `key`: `change` says whether it changed something, and may be called again when another
    /// process was faster. Nothing is written if nothing changed.
    ///
    /// # Errors
    /// [`SessionError::Unknown`] if there is no record, [`SessionError::Record`], [`SessionError::Contended`]. A failing
    /// store is no error: the change stands in memory.
    pub async fn update(
        &self,
        key: &SessionKey,
        mut change: impl FnMut(&mut SessionRecord) -> bool,
    ) -> Result<Arc<SessionRecord>, SessionError> {
        let changed = self.change(key, |record| {
            let mut next = record?.clone();
            change(&mut next).then_some(next)
        });
        changed.await?.ok_or_else(|| SessionError::Unknown(key.clone()))
    }

    /// Writes what is only in memory: times of last requests, and changes that a failing store did not take. To be called
    /// every [`FLUSH_EVERY`] and before the process ends.
    pub async fn flush(&self) {
        let behind = self.cache.iter().filter(|(_, entry)| entry.is_behind());
        futures_util::stream::iter(behind)
            .for_each_concurrent(FLUSH_WIDTH, |(key, _)| async move {
                if let Err(error) = self.update(&key, |_| true).await {
                    tracing::warn!(session = %key, %error, "a session could not be written");
                }
            })
            .await;
        if let Err(error) = self.store.flush().await {
            self.report(&error);
        }
    }

    /// Deletes a session: what belongs to it first, its record last, so that a deletion that was cut short can be
    /// repeated.
    ///
    /// # Errors
    /// [`SessionError::Store`].
    pub async fn delete(&self, key: &SessionKey) -> Result<(), SessionError> {
        /// Keys removed by one write.
        const BATCH: usize = 256;
        let entry = self.entry(key);
        let mut stored = entry.stored.lock().await;
        let prefix = keys::data(key);
        loop {
            let page = self.store.scan(&prefix, None, BATCH).await?;
            if page.is_empty() {
                break;
            }
            self.store.write(page.into_iter().map(|(key, _)| (key, None)).collect()).await?;
        }
        self.store.write(vec![(keys::active(key), None), (keys::record(key), None)]).await?;
        *stored = Stored::Known(None);
        entry.clear();
        Ok(())
    }

    fn entry(&self, key: &SessionKey) -> Arc<Entry> {
        self.cache.get_with_by_ref(key, || Arc::new(Entry::new()))
    }

    /// Replaces the record by what `next` makes of it; `None` leaves it. Returns what is there afterwards.
    async fn change(
        &self,
        key: &SessionKey,
        mut next: impl FnMut(Option<&SessionRecord>) -> Option<SessionRecord>,
    ) -> Result<Option<Arc<SessionRecord>>, SessionError> {
        let entry = self.entry(key);
        let mut stored = entry.stored.lock().await;
        for _ in 0..CAS_TRIES {
            self.load(key, &entry, &mut stored).await?;
            let Some(mut record) = next(entry.current().as_deref()) else { return Ok(entry.current()) };
            record.last_active = record.last_active.max(entry.last_active());
            let bytes = Bytes::from(record.encode().map_err(|error| SessionError::Record { key: key.clone(), error })?);
            match self.save(key, &stored, bytes.clone()).await {
                Ok(true) => {
                    entry.set(record, bytes.len(), true);
                    *stored = Stored::Known(Some(bytes));
                }
                Ok(false) => {
                    *stored = Stored::Changed;
                    continue;
                }
                Err(error) => {
                    entry.set(record, bytes.len(), false);
                    self.report(&error);
                }
            }
            // Put back to be weighed anew, and because it may have been evicted meanwhile.
            self.cache.insert(key.clone(), entry.clone());
            return Ok(entry.current());
        }
        Err(SessionError::Contended(key.clone()))
    }

    /// Reads the record, unless what the store holds is known.
    async fn load(&self, key: &SessionKey, entry: &Entry, stored: &mut Stored) -> Result<(), SessionError> {
        if matches!(stored, Stored::Known(_)) && !self.is_shared {
            return Ok(());
        }
        match self.store.get(&keys::record(key)).await {
            Ok(None) => {
                // Deleted by another process, unless it never got there.
                if !entry.is_unsaved() {
                    entry.clear();
                }
                *stored = Stored::Known(None);
            }
            Ok(Some(bytes)) if matches!(stored, Stored::Known(Some(known)) if *known == bytes) => {}
            Ok(Some(bytes)) => {
                let record = decode(key, &bytes)?;
                if entry.is_unsaved() {
                    tracing::warn!(session = %key, "changes made while the store failed give way to what it holds");
                }
                entry.set(record, bytes.len(), true);
                *stored = Stored::Known(Some(bytes));
            }
            Err(error) => {
                self.report(&error);
                // What is changed meanwhile is written over what was there last, if nobody else was faster.
                if !matches!(stored, Stored::Known(_)) {
                    *stored = Stored::Unknown(error);
                }
            }
        }
        Ok(())
    }

    async fn save(&self, key: &SessionKey, stored: &Stored, bytes: Bytes) -> Result<bool, StoreError> {
        match stored {
            Stored::Known(expected) => {
                let saved = self.store.compare_and_set(&keys::record(key), expected.clone(), Some(bytes)).await?;
                self.logged.lock().clear();
                Ok(saved)
            }
            Stored::Unknown(error) => Err(error.clone()),
            Stored::Changed => Ok(false),
        }
    }

    /// Sessions in memory, as a figure for operators: the cache counts a moment behind.
    pub fn cached(&self) -> u64 {
        self.cache.entry_count()
    }

    /// Counts a failure of the store, and logs the first of its kind until the store works again.
    pub fn report(&self, error: &StoreError) {
        metrics::counter!(names::STORE_ERRORS, "kind" => error.kind()).increment(1);
        if self.logged.lock().insert(error.kind()) {
            tracing::error!(%error, "the store failed; sessions go on in memory");
        }
    }
}

fn decode(key: &SessionKey, bytes: &[u8]) -> Result<SessionRecord, SessionError> {
    SessionRecord::decode(bytes).map_err(|error| SessionError::Record { key: key.clone(), error })
}

#[cfg(test)]
mod tests;
