//! Edits of a request that hooks ask for, as every dialect answers them; below it is what their lowering shares: objects with
//! their places, changes of members, parameters, and which tools, messages and texts an edit means.
use super::LowerError;
use crate::json::{ScanError, SpliceError};

mod fields;
mod format;
mod members;
mod native;
pub(super) mod params;
mod placed;
mod redact;
mod removal;
mod select;
mod sieve;

pub(super) use fields::{Fields, Keys};
pub(super) use format::Format;
pub(super) use members::Changes;
pub(super) use native::native;
pub(super) use placed::placed;
pub(super) use redact::Redactor;
pub(super) use removal::Removal;
pub(super) use select::selected;
pub(super) use sieve::Sieve;

/// Why an edit can't be made. Nothing of it is made then, and the request goes on without it: an edit that fails never
/// deletes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The request has no such tool, message or place.
    #[error("there is no {what}")]
    Missing {
        /// What is not there.
        what: String,
    },
    /// The request has a tool of that name.
    #[error("there is a tool {name:?} already")]
    Exists {
        /// Its name.
        name: String,
    },
    /// A signed or encrypted block would be changed.
    #[error("message {index} is signed: what it holds is bound to what stands before it")]
    Signed {
        /// Counted from the start.
        index: usize,
    },
    /// The client's vendor takes its login only with the client's own instructions.
    #[error("the instructions belong to the client's login and stay as they are")]
    Bound,
    /// The dialect has no such thing.
    #[error("{dialect} knows no {what}")]
    Unknown {
        /// The dialect's name.
        dialect: &'static str,
        /// What it does not know.
        what: &'static str,
    },
    /// A patch step that does not apply (RFC 6902), or whose result no provider takes.
    #[error("patch step {step}: {why}")]
    Patch {
        /// Counted from 0.
        step: usize,
        /// Why.
        why: String,
    },
    /// It would make the body longer than an edit may.
    #[error("more than {max} bytes would be added")]
    TooLong {
        /// How many may be.
        max: usize,
    },
    /// There is no place for it.
    #[error(transparent)]
    Place(#[from] LowerError),
    /// The body could not be read.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// The changes touch each other.
    #[error(transparent)]
    Splice(#[from] SpliceError),
}

#[cfg(test)]
mod tests;
