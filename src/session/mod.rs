//! Whose request it is, and what is remembered of it.
//!
//! [`tenant`] tells owners apart, [`profile`] tells clients apart, [`key`] finds the ids that a request names;
//! [`records`] holds one [`record::SessionRecord`] per (tenant, session, agent), cached in front of the [`store`].
//!
//! Below a session lie its conversations: [`chain`] tells histories apart, [`anchor`] finds places in them again,
//! [`ledger`] remembers what was placed, [`placing`] decides what is placed next. [`conversations`] finds and stores them.
pub mod anchor;
pub mod answering;
pub mod barrier;
pub mod chain;
pub mod conversation;
pub mod conversations;
pub mod facts;
pub mod flight;
pub mod key;
pub mod leases;
pub mod ledger;
pub mod locks;
pub mod placing;
pub mod prefix;
pub mod profile;
pub mod record;
pub mod records;
mod sessions;
pub mod store;
pub mod tenant;
#[cfg(test)]
mod testing;

pub use sessions::Sessions;

/// Why a session can't be had. Traffic goes on without it: what it means for a request is the gateway's decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The store failed and memory does not know the answer.
    #[error(transparent)]
    Store(#[from] store::StoreError),
    /// The stored record can't be used; it is left as it is.
    #[error("session {key}: {error}")]
    Record {
        /// Which.
        key: record::SessionKey,
        /// Why.
        error: record::RecordError,
    },
    /// No such session.
    #[error("there is no session {0}")]
    Unknown(record::SessionKey),
    /// Other processes changed the record faster than this one.
    #[error("session {0} is changed by others all the time")]
    Contended(record::SessionKey),
    /// A listing's cursor that no listing returned.
    #[error("not a cursor")]
    Cursor,
    /// Ids of the request.
    #[error(transparent)]
    Key(#[from] key::KeyError),
    /// A client profile.
    #[error(transparent)]
    Profile(#[from] profile::ProfileError),
}
