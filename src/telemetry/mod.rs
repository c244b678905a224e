//! Logs, metrics, the audit log, redaction.

pub mod audit;
pub mod logs;
pub mod metrics;
pub mod names;
pub mod redact;

pub use logs::Format;
