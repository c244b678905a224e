//! The session bus: messages from people and other agents into a running session (docs/sessions.md).
//!
//! ```text
//! message    what is sent, checked            letters   what a mailbox holds, as stored: pure
//! address    what a sender writes for whom    mailbox   what is known of one mailbox without reading it
//! recipients who there is to be meant         table     all mailboxes in memory
//! known      sessions seen without a record   stored    a mailbox in the store, read and changed
//! post       Bus: takes messages in           delivery  claimed by a request, delivered when the upstream took it
//! throttle   agents that only write to each other        replicas  several gateways on one store
//! spool      messages as files                sweep     mailboxes that are forgotten
//! frame      how the model reads a message
//! ```
//!
//! A message is queued, claimed by a request, and delivered when the upstream has accepted that request. What a request
//! places is an entry of its conversation's ledger, written between claim and request: a crash in between leaves a claimed
//! message, which the next request either shows already, by that entry, or places anew.
pub mod address;
mod delivery;
pub mod fault;
pub mod frame;
mod known;
mod letters;
mod mailbox;
pub mod message;
mod post;
mod recipients;
mod replicas;
pub mod spool;
mod stored;
mod sweep;
mod table;
mod throttle;

pub use delivery::{Carrying, Taking};
pub use known::Sighting;
pub use letters::MAX_QUEUED;
pub use mailbox::Mailbox;
pub use message::{Kind, Message, Origin, State, Written};
pub use post::{Bus, Receipt};

use crate::session::SessionError;
use crate::session::record::SessionKey;
use crate::session::store::StoreError;

/// Mailboxes at most: each takes some 300 bytes of memory, and nobody speaks to more sessions than this at a time.
pub const MAX_MAILBOXES: usize = 200_000;

/// Why a stored mailbox can't be read, if it can't.
pub fn unreadable(stored: &[u8]) -> Option<String> {
    letters::Letters::decode(stored).err()
}

/// Why a message is not taken in. The sender is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing is said.
    #[error("the text is empty")]
    Empty,
    /// More than [`message::MAX_TEXT`].
    #[error("the text has {0} bytes, at most {max} are delivered", max = message::MAX_TEXT)]
    TooLong(usize),
    /// A member that can't be used.
    #[error("{member}: {what}")]
    Invalid {
        /// Which.
        member: &'static str,
        /// What to write instead.
        what: String,
    },
    /// The mailbox is full.
    #[error("{MAX_QUEUED} messages wait for {0} already; wait until they are delivered or expire")]
    Full(SessionKey),
    /// So is the table of mailboxes.
    #[error("{MAX_MAILBOXES} sessions have mailboxes already")]
    TooManyMailboxes,
    /// Nobody is meant.
    #[error("there is no session {0}")]
    NoSession(String),
    /// The sender's agent and the receiver's only write to each other.
    #[error("{from} and {to} have written to each other {hops} times without a prompt of a person between", hops = throttle::MAX_HOPS)]
    Throttled {
        /// The sender.
        from: Box<SessionKey>,
        /// The receiver.
        to: Box<SessionKey>,
    },
}

/// Why the bus did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// The message is not one that can be delivered.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Sessions can't be looked up.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A mailbox of a newer hookgate, or a damaged one.
    #[error("the mailbox of {key} can't be read: {what}")]
    Mailbox {
        /// Whose.
        key: SessionKey,
        /// Why.
        what: String,
    },
    /// Other processes changed the mailbox faster than this one.
    #[error("the mailbox of {0} is changed by others all the time")]
    Contended(SessionKey),
}
