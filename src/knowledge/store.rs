//! Entries in the store, one key each.
use super::directory::Directory;
use super::entry::{Entry, VERSION};
use super::{Knowledge, KnowledgeError};
use crate::session::store::{Change, Pair, Store, StoreError, keys};
use bytes::Bytes;
use std::collections::HashSet;
use std::sync::Arc;

/// Entries that one scan reads.
const SCAN_PAGE: usize = 512;

/// The write that keeps an entry.
///
/// # Errors
/// [`StoreError::Corrupt`] if it can't be written as JSON.
pub(super) fn keep(entry: &Entry) -> Result<Change, StoreError> {
    let bytes = serde_json::to_vec(entry).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    Ok((keys::knowledge(entry.tenant.as_ref(), &entry.id), Some(Bytes::from(bytes))))
}

/// The write that forgets one.
pub(super) fn forget(entry: &Entry) -> Change {
    (keys::knowledge(entry.tenant.as_ref(), &entry.id), None)
}

/// All entries; one that can't be read is named in the log and left where it is.
pub(super) async fn all(store: &dyn Store) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    let mut after = None;
    loop {
        let page = store.scan(keys::KNOWLEDGE, after, SCAN_PAGE).await?;
        entries.extend(page.iter().filter_map(read));
        match page.last() {
            Some((key, _)) if page.len() == SCAN_PAGE => after = Some(key.clone()),
            _ => return Ok(entries),
        }
    }
}

pub(super) fn read((key, bytes): &Pair) -> Option<Entry> {
    let key = String::from_utf8_lossy(key);
    match serde_json::from_slice::<Entry>(bytes) {
        Ok(entry) if entry.v <= VERSION => Some(entry),
        Ok(newer) => {
            tracing::error!(%key, version = newer.v, "an entry of knowledge was written by a newer hookgate; it is left out");
            None
        }
        Err(error) => {
            tracing::error!(%key, %error, "an entry of knowledge can't be read; it is left out");
            None
        }
    }
}

impl Knowledge {
    /// Reads all there is. What was approved before there was a directory moves into it; a directory that can't be read or
    /// written costs what it holds, not the gateway.
    pub(super) async fn load(&self) -> Result<(), KnowledgeError> {
        let _one = self.changing.lock().await;
        let stored = all(self.store.as_ref()).await?;
        self.fill(stored.clone());
        if let Some(directory) = &self.directory
            && let Err(error) = self.move_in(directory, stored).await
        {
            tracing::error!(%error, "the directory of knowledge can't be used: what is in it is NOT KNOWN");
        }
        self.note();
        Ok(())
    }

    async fn move_in(&self, directory: &Directory, stored: Vec<Entry>) -> Result<(), KnowledgeError> {
        let filed = stored.iter().filter(|entry| entry.status.is_filed());
        for entry in filed {
            directory.adopt(entry).await?;
        }
        let found = directory.read().await?;
        // Also what a crash has left in both.
        let ids: HashSet<&str> = found.iter().map(|entry| entry.id.as_str()).collect();
        let twice = stored.iter().filter(|entry| ids.contains(entry.id.as_str()));
        self.store.write(twice.map(forget).collect()).await?;
        self.take_in(found);
        Ok(())
    }

    fn fill(&self, entries: Vec<Entry>) {
        let mut shelves = self.shelves.write();
        entries.into_iter().for_each(|entry| shelves.put(Arc::new(entry)));
    }
}
