//! Knowledge of several gateways that share a store: what one changes, all know a moment later, by the store's feed. Reviews are
//! decided under a lease and on the entry as it is stored.
use super::{Knowledge, KnowledgeError, store};
use crate::context::Digest;
use crate::session::leases::Lease;
use crate::session::store::keys;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a change waits for those of other processes, which take some milliseconds each.
const PATIENCE: Duration = Duration::from_secs(5);
/// The lease of all changes.
const LEASE: &[u8] = b"knowledge";

impl Knowledge {
    /// Waits until no other process changes anything.
    pub(super) async fn alone(&self) -> Option<Lease> {
        self.leases.take(Digest::of(&[LEASE]), Instant::now() + PATIENCE).await
    }

    /// Reads an entry again that another process may have changed a moment ago.
    pub(super) async fn catch_up_with(&self, id: &str) -> Result<(), KnowledgeError> {
        if self.store.shared().is_none() {
            return Ok(());
        }
        match self.get(id) {
            Some(known) => self.read_again(&keys::knowledge(known.tenant.as_ref(), id)).await,
            None => self.refresh_all().await,
        }
    }

    /// Another process may have changed the entry at this key.
    pub async fn refresh(&self, key: &[u8]) {
        if let Err(error) = self.read_again(key).await {
            tracing::error!(%error, "an entry of knowledge can't be read");
        }
    }

    async fn read_again(&self, key: &[u8]) -> Result<(), KnowledgeError> {
        let stored = self.store.get(key).await?;
        match stored.and_then(|bytes| store::read(&(key.to_vec(), bytes))) {
            Some(entry) => self.shelves.write().put(Arc::new(entry)),
            None => {
                let mut shelves = self.shelves.write();
                let gone = keys::knowledge_id(key).and_then(|id| shelves.get(id));
                // What is approved stands in the directory, where there is one, and is read there.
                if let Some(gone) = gone.filter(|gone| self.directory.is_none() || !gone.status.is_filed()) {
                    shelves.remove(&gone.id);
                }
            }
        }
        self.note();
        Ok(())
    }

    /// Changes may have been missed: reads all there is.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn refresh_all(&self) -> Result<(), KnowledgeError> {
        let stored = store::all(self.store.as_ref()).await?;
        {
            let mut shelves = self.shelves.write();
            let known = |id: &str| stored.iter().any(|entry| entry.id == id);
            let is_kept_here =
                |id: &String| self.directory.is_none() || !shelves.get(id).is_some_and(|entry| entry.status.is_filed());
            let gone: Vec<String> = shelves.ids().filter(|id| is_kept_here(id) && !known(id)).cloned().collect();
            gone.iter().for_each(|id| shelves.remove(id));
            stored.into_iter().for_each(|entry| shelves.put(Arc::new(entry)));
        }
        self.note();
        Ok(())
    }
}
