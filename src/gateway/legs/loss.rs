//! Why a leg is lost.
use crate::dialect::{BindError, JoinError};
use crate::gateway::failure::Failure;
use crate::gateway::tap::Cut;
use std::sync::Arc;

/// Why a leg behind the first is no part of the message, or only half of one.
pub(super) struct Loss {
    pub(super) cut: Cut,
    pub(super) why: String,
}

impl Loss {
    pub(super) fn new(cut: Cut, why: impl Into<String>) -> Self {
        Self { cut, why: why.into() }
    }

    /// With the upstream's own words, if the piece with this data says that it failed.
    pub(super) fn in_words(self, data: Option<&[u8]>) -> Self {
        match (self.cut, data) {
            (Cut::Failed(_), Some(data)) => Self { cut: failed(Failure::said(data)), ..self },
            (cut, _) => Self { cut, ..self },
        }
    }
}

pub(super) fn failed(failure: Failure) -> Cut {
    Cut::Failed(Arc::new(failure))
}

impl From<BindError> for Loss {
    fn from(error: BindError) -> Self {
        Self::new(Cut::Withheld, error.to_string())
    }
}

impl From<JoinError> for Loss {
    fn from(error: JoinError) -> Self {
        let cut = if matches!(error, JoinError::Failed(_)) { failed(Failure::unknown()) } else { Cut::Broken };
        Self::new(cut, error.to_string())
    }
}
