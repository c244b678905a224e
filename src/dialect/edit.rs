//! Edits of a request that hooks ask for, as every dialect answers them.
use super::LowerError;
use crate::json::{ScanError, SpliceError};

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
    /// A signed or encrypted block would be changed.
    #[error("message {index} is signed: what it holds is bound to what stands before it")]
    Signed {
        /// Counted from the start.
        index: usize,
    },
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
