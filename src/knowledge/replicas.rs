//! Knowledge of several gateways that share a store: what one changes, all know a moment later, by the store's feed. Reviews are
//! decided under a lease and on the entry as it is stored.
use super::{Knowledge, KnowledgeError, store};
use crate::context::Digest;
use crate::session::leases::Lease;
use crate::session::store::keys;
use std::collections::HashSet;
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
            Some(known) => self.refresh(&keys::knowledge(known.tenant.as_ref(), id)).await,
            None => self.refresh_all().await,
        }
    }

    /// Another process may have changed the entry at this key.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn refresh(&self, key: &[u8]) -> Result<(), KnowledgeError> {
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
            let ids: HashSet<&str> = stored.iter().map(|entry| entry.id.as_str()).collect();
            let is_kept_here =
                |id: &String| self.directory.is_none() || !shelves.get(id).is_some_and(|entry| entry.status.is_filed());
            let is_gone = |id: &&String| !ids.contains(id.as_str()) && is_kept_here(id);
            let gone: Vec<String> = shelves.ids().filter(is_gone).cloned().collect();
            gone.iter().for_each(|id| shelves.remove(id));
            for entry in stored {
                // Whoever looks something up waits for this: only what is news goes through the index.
                if shelves.get(&entry.id).as_deref() != Some(&entry) {
                    shelves.put(Arc::new(entry));
                }
            }
        }
        self.note();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::tests::entry;
    use super::*;
    use crate::session::store::Store as _;
    use crate::session::store::testing::Faulty;

    #[tokio::test]
    async fn reading_all_again_takes_in_what_is_news_and_leaves_the_rest_alone() {
        let store = Arc::new(Faulty::shared(Arc::default()));
        let put = async |title: &str, ids: &[&str]| {
            let batch = ids.iter().map(|id| store::keep(&entry(id, title, "body")).unwrap()).collect();
            store.write(batch).await.unwrap();
        };
        put("old", &["a", "b", "c"]).await;
        let knowledge = Knowledge::open(None, store.clone()).await.unwrap();
        let before = knowledge.get("a").unwrap();
        put("new", &["b", "d"]).await;
        store.write(vec![store::forget(&entry("c", "old", "body"))]).await.unwrap();
        knowledge.refresh_all().await.unwrap();
        assert!(Arc::ptr_eq(&before, &knowledge.get("a").unwrap()), "it is not put into the index once more");
        let title = |id: &str| knowledge.get(id).map(|entry| entry.title.clone());
        assert_eq!([title("b"), title("c"), title("d")], [Some("new".into()), None, Some("new".into())]);
    }
}
