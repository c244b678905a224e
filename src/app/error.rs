//! Why the gateway does not run.
use crate::bus::spool::SpoolError;
use crate::config::Listen;
use crate::gateway::SetupError;
use crate::gateway::turn::TurnsError;
use crate::knowledge::KnowledgeError;
use crate::session::store::StoreError;
use crate::telemetry::traces::TracesError;
use std::io;
use std::path::PathBuf;

/// Why the gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// An address can't be listened on.
    #[error("can't listen on {at}: {source}")]
    Listen {
        /// Which.
        at: Listen,
        /// Why.
        source: io::Error,
    },
    /// The gateway.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The TLS library.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was learned.
    #[error("knowledge: {0}")]
    Knowledge(#[from] KnowledgeError),
    /// The spool of the session bus.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The audit log: a gateway that should write one does not go on without it.
    #[error("can't open the audit log {}: {source}", path.display())]
    Audit {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Traces.
    #[error(transparent)]
    Traces(#[from] TracesError),
    /// What belongs to turns.
    #[error(transparent)]
    Turns(#[from] TurnsError),
    /// The system's randomness.
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    /// The signal handlers.
    #[error("can't handle signals: {0}")]
    Signals(io::Error),
}
