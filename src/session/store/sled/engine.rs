//! sled itself: opening, moving aside, applying a group of writes, recovering from a failed write. Everything here
//! blocks.
use super::Write;
use crate::session::store::keys::{FORMAT, FORMAT_KEY};
use crate::session::store::{Pair, StoreError};
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// sled's page cache in bytes. Its own default is 1 GiB; records are small, and the hot ones are cached above the store.
const CACHE: u64 = 64 * 1024 * 1024;
/// How often sled's own thread wakes, in milliseconds. Every acknowledged write is flushed by the committer already; this
/// thread is kept because it alone rewrites half-empty segments.
const HOUSEKEEPING: u64 = 1000;
/// After a failed write sled refuses all further ones until it is opened again; it is tried again this often at most, so
/// that a full disk does not cost an opening per request.
const REOPEN_AFTER: Duration = Duration::from_secs(1);

/// An open sled, or one that is to be opened again.
pub(super) struct Engine {
    folder: PathBuf,
    db: RwLock<Option<sled::Db>>,
    /// A write failed: what sled holds in memory and what is on disk may differ.
    distrusted: AtomicBool,
    last_reopening: Mutex<Instant>,
}

impl Engine {
    /// Opens what is in `path`, or creates it.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let folder = path.join("sled");
        // sled recovers what it can read and calls the rest empty: a store that lost everything looks like a new one.
        let is_new = !folder.join("db").exists();
        let db = open_db(&folder)?;
        match db.get(FORMAT_KEY).map_err(error)? {
            Some(format) if format == FORMAT.as_bytes() => {}
            Some(other) => {
                return Err(StoreError::Newer { found: String::from_utf8_lossy(&other).into_owned(), known: FORMAT });
            }
            None if is_new => {
                db.insert(FORMAT_KEY, FORMAT).and_then(|_| db.flush()).map_err(error)?;
            }
            None => return Err(StoreError::Corrupt("what was stored is gone".into())),
        }
        Ok(Self {
            folder,
            db: RwLock::new(Some(db)),
            distrusted: AtomicBool::new(false),
            last_reopening: Mutex::new(Instant::now()),
        })
    }

    /// Moves the store in `path` aside and opens an empty one.
    pub(super) fn start_over(path: &Path, reason: &StoreError) -> Result<Self, StoreError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let aside = (now..)
            .map(|seconds| path.join(format!("sled.broken-{seconds}")))
            .find(|candidate| !candidate.exists())
            .unwrap_or_else(|| path.join("sled.broken"));
        std::fs::rename(path.join("sled"), &aside).map_err(|e| StoreError::Io(e.to_string()))?;
        tracing::error!(
            %reason, moved_to = %aside.display(),
            "THE STORE COULD NOT BE OPENED: it was moved aside and an empty one begins; sessions start anew"
        );
        Self::open(path)
    }

    /// Runs `work` on the database.
    pub(super) fn read<T>(&self, work: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T, StoreError> {
        {
            let db = self.db.read();
            if let Some(db) = db.as_ref() {
                return work(db).map_err(error);
            }
        }
        self.reopen()?;
        self.db.read().as_ref().map_or(Err(closed()), |db| work(db).map_err(error))
    }

    /// Applies `writes` in order and flushes once; one result for each.
    pub(super) fn commit(&self, writes: Vec<Write>) -> Vec<Result<bool, StoreError>> {
        let count = writes.len();
        if self.distrusted.load(Ordering::Acquire)
            && let Err(e) = self.reopen()
        {
            return vec![Err(e); count];
        }
        let committed = self.read(|db| {
            let results: Vec<_> = writes.into_iter().map(|write| apply(db, write).map_err(error)).collect();
            Ok((results, db.flush()))
        });
        let results = match committed {
            Ok((results, Ok(_))) => results,
            Ok((_, Err(e))) => vec![Err(error(e)); count],
            Err(e) => vec![Err(e); count],
        };
        if results.iter().any(Result::is_err) {
            self.distrust();
        }
        results
    }

    /// Says that sled must be opened again before the next write.
    pub(super) fn distrust(&self) {
        self.distrusted.store(true, Ordering::Release);
    }

    fn reopen(&self) -> Result<(), StoreError> {
        let mut last = self.last_reopening.lock();
        if last.elapsed() < REOPEN_AFTER {
            return Err(StoreError::Io("a write failed a moment ago; waiting before the next try".into()));
        }
        *last = Instant::now();
        let mut db = self.db.write();
        // The old one must be gone before the new one can take sled's lock.
        *db = None;
        *db = Some(open_db(&self.folder)?);
        self.distrusted.store(false, Ordering::Release);
        tracing::warn!(path = %self.folder.display(), "the store was opened again after a failed write");
        Ok(())
    }
}

fn open_db(folder: &Path) -> Result<sled::Db, StoreError> {
    let config = sled::Config::new().path(folder).cache_capacity(CACHE).flush_every_ms(Some(HOUSEKEEPING));
    config.open().map_err(|e| opening_error(folder, e))
}

fn apply(db: &sled::Db, write: Write) -> sled::Result<bool> {
    match write {
        Write::CompareAndSet { key, expected, new } => {
            let new = new.as_deref().map(sled::IVec::from);
            Ok(db.compare_and_swap(key, expected.as_deref(), new)?.is_ok())
        }
        Write::Batch(changes) => {
            let mut batch = sled::Batch::default();
            for (key, value) in changes {
                match value {
                    Some(value) => batch.insert(key, value.as_ref()),
                    None => batch.remove(key),
                }
            }
            db.apply_batch(batch).map(|()| true)
        }
        Write::Barrier => Ok(true),
    }
}

/// See [`crate::session::store::Store::scan`].
pub(super) fn scan(db: &sled::Db, prefix: &[u8], after: Option<Vec<u8>>, limit: usize) -> sled::Result<Vec<Pair>> {
    let from = match after {
        Some(key) if key.as_slice() >= prefix => Bound::Excluded(key),
        _ => Bound::Included(prefix.to_vec()),
    };
    db.range::<Vec<u8>, _>((from, Bound::Unbounded))
        .take_while(|pair| pair.as_ref().map_or(true, |(key, _)| key.starts_with(prefix)))
        .take(limit)
        .map(|pair| pair.map(|(key, value)| (key.to_vec(), Bytes::from_owner(value))))
        .collect()
}

fn closed() -> StoreError {
    StoreError::Io("the store could not be opened again".into())
}

fn error(e: sled::Error) -> StoreError {
    match e {
        sled::Error::Io(io) => StoreError::Io(io.to_string()),
        other => StoreError::Corrupt(other.to_string()),
    }
}

/// Why a store could not be opened. A disk that refuses says nothing about what is on it: such a store is not moved
/// aside.
fn opening_error(folder: &Path, e: sled::Error) -> StoreError {
    use std::io::ErrorKind::{OutOfMemory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match e {
        // sled has no kind of its own for this.
        sled::Error::Io(io) if io.to_string().contains("could not acquire lock") => {
            StoreError::Locked { path: folder.display().to_string() }
        }
        sled::Error::Io(io)
            if matches!(
                io.kind(),
                OutOfMemory | PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull
            ) =>
        {
            StoreError::Io(io.to_string())
        }
        other => StoreError::Corrupt(other.to_string()),
    }
}
