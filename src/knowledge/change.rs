//! What reviewers and hooks change: propose, approve, reject, edit. Each is durable before it counts.
use super::entry::{Entry, Origin, Status};
use super::{Changes, Draft, Knowledge, KnowledgeError, store};
use crate::session::record::Tenant;
use crate::telemetry::names;
use jiff::Timestamp;
use std::sync::Arc;

impl Knowledge {
    /// Takes a proposal; one that waits already or is approved is not taken twice. The entry, and whether it is new.
    ///
    /// # Errors
    /// [`KnowledgeError`]
    pub async fn propose(
        self: &Arc<Self>,
        tenant: Option<Tenant>,
        origin: Origin,
        draft: Draft,
    ) -> Result<(Arc<Entry>, bool), KnowledgeError> {
        let proposed = self.to_the_end(|this| this.take(tenant, origin, draft)).await;
        let result = match &proposed {
            Ok((_, true)) => "new",
            Ok((_, false)) => "known",
            Err(_) => "refused",
        };
        metrics::counter!(names::PROPOSALS, "result" => result).increment(1);
        proposed
    }

    /// Approves a proposal: from now on models may see it. `supersedes` names an older entry whose place it takes, beside
    /// what it says itself. Approving twice is approving once.
    ///
    /// # Errors
    /// [`KnowledgeError`]
    pub async fn approve(
        self: &Arc<Self>,
        id: &str,
        by: &str,
        supersedes: Option<String>,
    ) -> Result<Arc<Entry>, KnowledgeError> {
        let (id, by) = (id.to_owned(), by.to_owned());
        self.to_the_end(|this| this.count_in(id, by, supersedes)).await
    }

    /// Rejects a proposal, or takes back what was approved. Rejecting twice is rejecting once.
    ///
    /// # Errors
    /// [`KnowledgeError`]
    pub async fn reject(self: &Arc<Self>, id: &str, by: &str) -> Result<Arc<Entry>, KnowledgeError> {
        let (id, by) = (id.to_owned(), by.to_owned());
        self.to_the_end(|this| this.count_out(id, by)).await
    }

    /// Changes a proposal that waits for its review.
    ///
    /// # Errors
    /// [`KnowledgeError`]
    pub async fn edit(self: &Arc<Self>, id: &str, changes: Changes) -> Result<Arc<Entry>, KnowledgeError> {
        let id = id.to_owned();
        self.to_the_end(|this| this.rewrite(id, changes)).await
    }

    /// A change goes on when nobody waits for it any more: memory and store must not part.
    async fn to_the_end<T: Send + 'static, F: Future<Output = Result<T, KnowledgeError>> + Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, KnowledgeError> {
        tokio::spawn(work(self.clone())).await.unwrap_or(Err(KnowledgeError::Lost))
    }

    async fn take(
        self: Arc<Self>,
        tenant: Option<Tenant>,
        origin: Origin,
        draft: Draft,
    ) -> Result<(Arc<Entry>, bool), KnowledgeError> {
        let _one = self.changing.lock().await;
        let _alone = self.alone().await;
        let entry = draft.entry(tenant, origin, Timestamp::now())?;
        let room = {
            let shelves = self.shelves.read();
            if let Some(known) = shelves.same(&entry) {
                return Ok((known, false));
            }
            shelves.room(entry.tenant.as_ref())?
        };
        if let Some(gone) = room {
            self.store.write(vec![store::forget(&gone)]).await?;
            self.shelves.write().remove(&gone.id);
        }
        let mut kept = self.keep(vec![entry]).await?;
        Ok((kept.swap_remove(0), true))
    }

    async fn count_in(
        self: Arc<Self>,
        id: String,
        by: String,
        supersedes: Option<String>,
    ) -> Result<Arc<Entry>, KnowledgeError> {
        let _one = self.changing.lock().await;
        let _alone = self.alone().await;
        self.catch_up().await?;
        self.catch_up_with(&id).await?;
        let entry = self.known(&id)?;
        match entry.status {
            Status::Approved => return Ok(entry),
            Status::Superseded => {
                return Err(KnowledgeError::Status { status: entry.status, what: "propose it again instead" });
            }
            Status::Pending | Status::Rejected => {}
        }
        let supersedes = supersedes.or_else(|| entry.supersedes.clone());
        if let Some(older) = &supersedes {
            self.catch_up_with(older).await?;
        }
        let older = supersedes.as_ref().map(|older| self.predecessor(&entry, older)).transpose()?;
        let older = older.map(|older| Entry {
            status: Status::Superseded,
            superseded_by: Some(entry.id.clone()),
            ..(*older).clone()
        });
        let approved = Entry { status: Status::Approved, supersedes, ..decided(&entry, by) };
        // The newer one first: a crash in between leaves both rather than none.
        let mut kept = self.keep(std::iter::once(approved).chain(older).collect()).await?;
        Ok(kept.swap_remove(0))
    }

    async fn count_out(self: Arc<Self>, id: String, by: String) -> Result<Arc<Entry>, KnowledgeError> {
        let _one = self.changing.lock().await;
        let _alone = self.alone().await;
        self.catch_up().await?;
        self.catch_up_with(&id).await?;
        let entry = self.known(&id)?;
        match entry.status {
            Status::Rejected => return Ok(entry),
            Status::Superseded => {
                return Err(KnowledgeError::Status { status: entry.status, what: "so it does not count any more" });
            }
            Status::Pending | Status::Approved => {}
        }
        let mut kept = self.keep(vec![Entry { status: Status::Rejected, ..decided(&entry, by) }]).await?;
        Ok(kept.swap_remove(0))
    }

    async fn rewrite(self: Arc<Self>, id: String, changes: Changes) -> Result<Arc<Entry>, KnowledgeError> {
        let _one = self.changing.lock().await;
        let _alone = self.alone().await;
        self.catch_up_with(&id).await?;
        let entry = self.known(&id)?;
        if entry.status != Status::Pending {
            let what = "only what is pending can be edited; propose another that supersedes it";
            return Err(KnowledgeError::Status { status: entry.status, what });
        }
        let mut kept = self.keep(vec![changes.apply(&entry)?]).await?;
        Ok(kept.swap_remove(0))
    }

    fn known(&self, id: &str) -> Result<Arc<Entry>, KnowledgeError> {
        self.get(id).ok_or_else(|| KnowledgeError::Unknown(id.to_owned()))
    }

    /// What `entry` may take the place of.
    fn predecessor(&self, entry: &Entry, older: &str) -> Result<Arc<Entry>, KnowledgeError> {
        let found = self.get(older).filter(|older| older.tenant == entry.tenant && older.status == Status::Approved);
        found.ok_or_else(|| KnowledgeError::Supersedes(older.to_owned()))
    }

    /// Writes entries where they belong, and then lets them count.
    async fn keep(&self, entries: Vec<Entry>) -> Result<Vec<Arc<Entry>>, KnowledgeError> {
        let mut writes = Vec::with_capacity(entries.len());
        for entry in &entries {
            match &self.directory {
                Some(directory) if entry.status.is_filed() => {
                    directory.write(entry).await?;
                    writes.push(store::forget(entry));
                }
                _ => writes.push(store::keep(entry)?),
            }
        }
        self.store.write(writes).await?;
        // Last, so that a crash leaves an entry in both places rather than in none.
        if let Some(directory) = &self.directory {
            for entry in entries.iter().filter(|entry| !entry.status.is_filed()) {
                directory.remove(&entry.id).await?;
            }
        }
        let entries: Vec<Arc<Entry>> = entries.into_iter().map(Arc::new).collect();
        {
            let mut shelves = self.shelves.write();
            entries.iter().for_each(|entry| shelves.put(entry.clone()));
        }
        self.note();
        Ok(entries)
    }
}

fn decided(entry: &Entry, by: String) -> Entry {
    Entry { decided_by: Some(by), decided_at: Some(Timestamp::now()), ..entry.clone() }
}
