//! What was learned: proposed by hooks and people, approved by people, offered to models again.
//!
//! ```text
//! propose ─► pending ─┬─ approve ─► approved ─┬─► standing   at the start of a session: newest and most specific first
//!                     │                │      └─► pick       with a prompt: the few that match it (index)
//!                     └─ reject        └─ superseded by a newer one
//! ```
//!
//! Everything is in memory and written through: to the [`store`], and what is approved to a [`directory`] where there is
//! one, which then is the truth ([`watch`] follows it). Where several gateways share the store, memory follows its feed
//! ([`replicas`]). Nothing that is not approved leaves this room but for its reviewers.
//! Nothing crosses tenants: what belongs to no tenant is everybody's, and only an operator can make that.
mod change;
mod directory;
pub mod draft;
pub mod entry;
mod file;
mod id;
pub mod index;
mod replicas;
mod shelf;
mod standing;
mod store;
mod watch;
mod words;

pub use draft::{Changes, Draft, Extent};
pub use entry::{Entry, Kind, Origin, Reader, Scope, Status};

use crate::session::leases::Leases;
use crate::session::record::Tenant;
use crate::session::store::{MemoryStore, Store, StoreError};
use directory::Directory;
use parking_lot::RwLock;
use shelf::Shelves;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The slot of a session in which approved knowledge stands.
pub const SLOT: &str = "knowledge";

/// Proposals of one tenant that nobody has looked at: more than a person will read is noise, and a hook that proposes with
/// every turn would fill the store.
pub const MAX_PENDING: usize = 500;
/// Entries of all tenants, in memory at some 2 KiB each; beyond it the oldest that was rejected gives way.
pub const MAX_ENTRIES: usize = 100_000;

/// All knowledge of a gateway.
pub struct Knowledge {
    store: Arc<dyn Store>,
    directory: Option<Directory>,
    shelves: RwLock<Shelves>,
    /// Held while something is changed, so that what is decided on is what is written.
    changing: tokio::sync::Mutex<()>,
    /// The same across processes.
    leases: Leases,
    /// Whether there was ever anything that a model may see. It stays: what a model has seen is replayed.
    holds_any: AtomicBool,
}

impl std::fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Knowledge").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// Why something can't be known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeError {
    /// A member that is not what it should be.
    #[error("{member}: {what}")]
    Invalid {
        /// Which.
        member: &'static str,
        /// What to write.
        what: String,
    },
    /// A text over its limit.
    #[error("{member}: has {length} bytes, at most {limit} are kept")]
    TooLong {
        /// Which.
        member: &'static str,
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// [`MAX_PENDING`] others wait.
    #[error("{MAX_PENDING} proposals wait for a review already, approve or reject some of them first")]
    TooManyPending,
    /// [`MAX_ENTRIES`] others are there.
    #[error("there are {MAX_ENTRIES} entries already")]
    Full,
    /// No such entry.
    #[error("there is no proposal {0}")]
    Unknown(String),
    /// The entry's status does not allow it.
    #[error("the proposal is {}, {what}", .status.name())]
    Status {
        /// What it is.
        status: Status,
        /// What that means.
        what: &'static str,
    },
    /// What is to be superseded can't be.
    #[error("supersedes: {0} is no approved entry of the same tenant")]
    Supersedes(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The directory failed.
    #[error("{}: {reason}", .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The system's randomness failed.
    #[error("no randomness: {0}")]
    Random(String),
    /// A defect: the change ended without a result.
    #[error("the change was lost")]
    Lost,
}

impl KnowledgeError {
    pub(crate) fn invalid(member: &'static str, what: impl Into<String>) -> Self {
        Self::Invalid { member, what: what.into() }
    }
}

/// Which entries a list is of.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only with this status.
    pub status: Option<Status>,
    /// Only of this tenant.
    pub tenant: Option<Tenant>,
}

impl Knowledge {
    /// What this store holds and, where there is a directory, what stands in it.
    ///
    /// # Errors
    /// [`KnowledgeError::Store`] when the store can't be read.
    pub async fn open(dir: Option<PathBuf>, store: Arc<dyn Store>) -> Result<Arc<Self>, KnowledgeError> {
        let knowledge = Self::empty(dir, store);
        knowledge.load().await?;
        Ok(Arc::new(knowledge))
    }

    /// Nothing, and nothing of it is kept.
    pub fn none() -> Arc<Self> {
        Arc::new(Self::empty(None, Arc::new(MemoryStore::new())))
    }

    fn empty(dir: Option<PathBuf>, store: Arc<dyn Store>) -> Self {
        Self {
            leases: Leases::new(store.clone()),
            store,
            directory: dir.map(Directory::new),
            shelves: RwLock::new(Shelves::default()),
            changing: tokio::sync::Mutex::default(),
            holds_any: AtomicBool::new(false),
        }
    }

    /// Whether there is, or was since the start, anything that a model may see.
    pub fn holds_any(&self) -> bool {
        self.holds_any.load(Ordering::Relaxed)
    }

    /// One entry.
    pub fn get(&self, id: &str) -> Option<Arc<Entry>> {
        self.shelves.read().get(id)
    }

    /// At most `limit` entries behind `after`, in the order of their ids, which is that of time.
    pub fn list(&self, filter: &Filter, after: Option<&str>, limit: usize) -> Vec<Arc<Entry>> {
        self.shelves.read().list(filter, after, limit)
    }

    /// At most `limit` of the approved entries that `reader` may see, that match `query` and are `wanted`, best first.
    pub fn find(
        &self,
        reader: &Reader<'_>,
        query: &str,
        limit: usize,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Vec<Arc<Entry>> {
        self.shelves.read().find(reader, query, limit, wanted)
    }

    fn note(&self) {
        if self.shelves.read().has_approved() {
            self.holds_any.store(true, Ordering::Relaxed);
        }
    }
}
