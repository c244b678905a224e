//! The store on disk: sled behind `spawn_blocking`.
//!
//! Reads go to the blocking pool one by one. Writes wait in one queue, whose committer takes all that have gathered,
//! applies them, flushes once and answers them all: many acknowledged writes share one flush (group commit), and while
//! one flush runs the next group gathers.
//!
//! ```text
//! PATH/lock                 held by the process that has the store open
//! PATH/sled/                sled's files
//! PATH/sled.broken-SECONDS/ a store that could not be opened, moved aside
//! ```
//! sled has a folder of its own, because PATH is often a mount point and can't be renamed.
mod engine;

use self::engine::Engine;
use super::{Change, Pair, Store, StoreError};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::Instant;

/// Writes that share one flush at most: bounds how long the first of a group waits for the last to be applied.
const GROUP: usize = 256;
/// Least time from one flush to the next. A flush wakes every thread of sled's pool and costs more than the writes in it,
/// so that under load a group gathers; a write that comes alone does not wait.
const FLUSH_PAUSE: Duration = Duration::from_millis(2);
/// Writes that may wait for the committer; beyond it writers wait for a place.
const QUEUE: usize = 1024;

/// A folder that is made here: hooks' texts and answers are the gateway's user's alone.
const OWN: u32 = 0o700;

/// One process per path: the lock is held until the last clone of the store is gone.
pub struct SledStore {
    engine: Arc<Engine>,
    writes: mpsc::Sender<Pending>,
}

/// What the committer applies.
enum Write {
    CompareAndSet {
        key: Vec<u8>,
        expected: Option<Bytes>,
        new: Option<Bytes>,
    },
    Batch(Vec<Change>),
    /// Changes nothing, but is answered after the flush.
    Barrier,
}

struct Pending {
    write: Write,
    done: oneshot::Sender<Result<bool, StoreError>>,
}

impl SledStore {
    /// Opens the store in the folder `path`, which is created if need be. A store that can't be read is moved aside with
    /// an error in the log, and an empty one takes its place. Runs on a tokio runtime.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process has it, [`StoreError::Newer`] if a newer hookgate wrote it,
    /// [`StoreError::Io`] if the disk refuses even an empty store.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let folder = path.to_owned();
        let lock = spawn_blocking(move || lock(&folder)).await.map_err(|e| contained(&e))??;
        let folder = path.to_owned();
        let opened = spawn_blocking(move || Engine::open(&folder)).await;
        let engine = match opened.unwrap_or_else(|e| Err(contained(&e))) {
            Ok(engine) => engine,
            Err(reason @ (StoreError::Corrupt(_) | StoreError::Panicked)) => {
                let folder = path.to_owned();
                spawn_blocking(move || Engine::start_over(&folder, &reason)).await.map_err(|e| contained(&e))??
            }
            Err(other) => return Err(other),
        };
        let engine = Arc::new(engine);
        let (writes, queue) = mpsc::channel(QUEUE);
        tokio::spawn(commit(engine.clone(), queue, lock));
        Ok(Self { engine, writes })
    }

    async fn submit(&self, write: Write) -> Result<bool, StoreError> {
        let (done, answer) = oneshot::channel();
        self.writes.send(Pending { write, done }).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&sled::Db) -> sled::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let engine = self.engine.clone();
        spawn_blocking(move || engine.read(work)).await.map_err(|e| contained(&e))?
    }
}

/// Takes the lock of the folder. sled locks its own file too, but reports it as any other IO error.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let io = |e: std::io::Error| StoreError::Io(format!("{}: {e}", folder.display()));
    DirBuilder::new().recursive(true).mode(OWN).create(folder).map_err(io)?;
    let file = File::options().create(true).truncate(false).write(true).open(folder.join("lock")).map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::Locked { path: folder.display().to_string() }),
        Err(std::fs::TryLockError::Error(e)) => Err(io(e)),
    }
}

fn contained(_: &JoinError) -> StoreError {
    StoreError::Panicked
}

/// Applies what waits, group by group, until the store is dropped. Owns the lock, so that it outlives the last write.
async fn commit(engine: Arc<Engine>, mut queue: mpsc::Receiver<Pending>, lock: File) {
    let mut group = Vec::with_capacity(GROUP);
    let mut next = Instant::now();
    loop {
        tokio::time::sleep_until(next).await;
        if queue.recv_many(&mut group, GROUP).await == 0 {
            break;
        }
        next = Instant::now() + FLUSH_PAUSE;
        let (writes, waiting): (Vec<_>, Vec<_>) = group.drain(..).map(|p| (p.write, p.done)).unzip();
        let worker = engine.clone();
        let results = match spawn_blocking(move || worker.commit(writes)).await {
            Ok(results) => results,
            Err(_) => {
                engine.distrust();
                waiting.iter().map(|_| Err(StoreError::Panicked)).collect()
            }
        };
        for (done, result) in waiting.into_iter().zip(results) {
            // The writer may have given up waiting; what it wrote stays.
            let _ = done.send(result);
        }
    }
    // Closing sled flushes and joins its threads, and only then may another process come in.
    let _ = spawn_blocking(move || drop((engine, lock))).await;
}

impl Store for SledStore {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        let key = key.to_vec();
        self.read(move |db| Ok(db.get(key)?.map(Bytes::from_owner))).boxed()
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.submit(Write::CompareAndSet { key: key.to_vec(), expected, new }).boxed()
    }

    fn write(&self, batch: Vec<Change>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.submit(Write::Batch(batch)).map(|result| result.map(drop)).boxed()
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<Vec<u8>>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>> {
        let prefix = prefix.to_vec();
        self.read(move |db| engine::scan(db, &prefix, after, limit)).boxed()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.submit(Write::Barrier).map(|result| result.map(drop)).boxed()
    }
}

#[cfg(test)]
mod tests;
