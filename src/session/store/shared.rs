//! What holds when several processes share a store, and by what.
//!
//! | guarantee | by |
//! |---|---|
//! | no update of a record, mailbox or conversation is lost | compare-and-set of its one key; who loses reads again and makes the change anew, or merges it |
//! | what a request decides on is what the store holds | records and conversations are read through: memory is a decoded copy, compared with the stored bytes at each look |
//! | hooks of one session run once, one after the other | a lease on the session, from the look for it until its request goes up |
//! | who holds a lease or a stop and dies loses it | both name their process, and live as long as its heartbeat |
//! | a prompt sees what the stop before it stored | pending stops stand in the store under their session; a prompt waits for them wherever they run |
//! | mailboxes and knowledge in memory are those of the store | a feed of changed keys, written with the change in one step and followed by every process |
//!
//! A process that is frozen for longer than its heartbeat lasts loses its leases without knowing; what it writes then meets
//! the compare-and-set, and its hooks may have run once more, with the same event id, as after a kill.
use super::{Change, StoreError};
use bytes::Bytes;
use futures_util::future::BoxFuture;

/// A store that other processes write to as well.
pub trait Shared: Send + Sync {
    /// The name of this process, new with every start.
    fn process(&self) -> &str;

    /// Whether it could be reached when it was last asked.
    fn is_up(&self) -> bool;

    /// Makes all these changes if `key` holds `expected` (`None`: absent), and says whether it did.
    fn write_if<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        batch: Vec<Change>,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// The values of these keys, in one go.
    fn get_many(&self, keys: Vec<Vec<u8>>) -> BoxFuture<'_, Result<Vec<Option<Bytes>>, StoreError>>;

    /// Takes the lease `name` for `holder`, a name within this process, if nobody has it who lives.
    fn acquire<'a>(&'a self, name: &'a str, holder: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Gives it back, if `holder` has it.
    fn release<'a>(&'a self, name: &'a str, holder: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Whether another process has a heartbeat.
    fn lives<'a>(&'a self, process: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// What changes from now on in mailboxes and knowledge.
    fn feed(&self) -> Box<dyn Feed>;
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// These keys, by whomever.
    Changed(Vec<Vec<u8>>),
    /// Something may have been missed: all is to be read again. Comes first, too.
    Missed,
}

/// Changes in their order.
pub trait Feed: Send {
    /// Waits for the next ones.
    fn next(&mut self) -> BoxFuture<'_, News>;
}
