//! Follows the directory: what is edited, reverted or pulled there counts while the gateway runs.
use super::{Knowledge, KnowledgeError};
use crate::knowledge::entry::Entry;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// So long nothing may have happened: a pull writes many files.
const QUIET: Duration = Duration::from_millis(200);
/// Longest wait for that: a folder in which something is written all the time is read all the same.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often to look where there is no watch: a folder that was taken away comes back.
const UNWATCHED: Duration = Duration::from_secs(1);
/// How often to look without an event: network file systems send none.
const RECHECK: Duration = Duration::from_secs(30);

impl Knowledge {
    /// Reads the directory whenever something changes in it, until dropped; returns at once where there is none.
    pub async fn follow(self: Arc<Self>) {
        let Some(directory) = &self.directory else { return };
        if let Err(error) = directory.ready().await {
            tracing::warn!(%error, "the directory of knowledge can't be made");
        }
        let happened = Arc::new(Notify::new());
        let mut watcher = None;
        let mut watched = None;
        loop {
            // A folder that is gone, or is another one by now, takes its watch with it.
            let folder = identity(directory.path());
            if watcher.is_none() || folder != watched {
                watcher = folder.and_then(|_| watch(directory.path(), happened.clone()));
                watched = folder;
            }
            if let Err(error) = self.reread().await {
                tracing::warn!(%error, "the directory of knowledge can't be read, what was read before stays");
            }
            let patience = if watcher.is_some() { RECHECK } else { UNWATCHED };
            let _ = tokio::time::timeout(patience, happened.notified()).await;
            let _ = tokio::time::timeout(PATIENCE, settled(&happened)).await;
        }
    }

    /// Reads the directory once.
    ///
    /// # Errors
    /// [`KnowledgeError::File`] when it can't be read: what was read before stays.
    pub async fn reread(&self) -> Result<(), KnowledgeError> {
        let _one = self.changing.lock().await;
        self.catch_up().await
    }

    /// Reads the directory, whoever has the lock of changes: a file that was edited a moment ago must not be written over
    /// with what stood in it before.
    pub(super) async fn catch_up(&self) -> Result<(), KnowledgeError> {
        if let Some(directory) = &self.directory {
            self.take_in(directory.read().await?);
            self.note();
        }
        Ok(())
    }

    /// Makes what stands in the directory what counts.
    pub(super) fn take_in(&self, entries: Vec<Entry>) {
        let ids: BTreeSet<String> = entries.iter().map(|entry| entry.id.clone()).collect();
        let gone = {
            let shelves = self.shelves.read();
            let filed = |id: &&String| shelves.get(id).is_some_and(|entry| entry.status.is_filed());
            shelves.ids().filter(filed).filter(|id| !ids.contains(*id)).cloned().collect::<Vec<_>>()
        };
        let mut shelves = self.shelves.write();
        gone.iter().for_each(|id| shelves.unfile(id));
        let mut changed = 0;
        for entry in entries {
            if shelves.get(&entry.id).as_deref() != Some(&entry) {
                changed += 1;
                shelves.file(Arc::new(entry));
            }
        }
        if changed > 0 || !gone.is_empty() {
            tracing::info!(changed, gone = gone.len(), "knowledge was read from its directory");
        }
    }
}

/// What makes a folder this one: its device and its number there.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(folder).ok().filter(std::fs::Metadata::is_dir)?;
    Some((metadata.dev(), metadata.ino()))
}

async fn settled(happened: &Notify) {
    while tokio::time::timeout(QUIET, happened.notified()).await.is_ok() {}
}

fn watch(folder: &Path, happened: Arc<Notify>) -> Option<RecommendedWatcher> {
    let on_event = move |event: notify::Result<notify::Event>| match event {
        // To look into a file is no change.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        _ => happened.notify_one(),
    };
    let mut watcher = notify::recommended_watcher(on_event)
        .inspect_err(|error| tracing::warn!(%error, every = ?RECHECK, "knowledge is not watched, only looked at"))
        .ok()?;
    watcher
        .watch(folder, RecursiveMode::NonRecursive)
        .inspect_err(|error| tracing::debug!(folder = %folder.display(), %error, "not watched, only looked at"))
        .ok()?;
    Some(watcher)
}
