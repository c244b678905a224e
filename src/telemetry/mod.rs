//! Logs, metrics, redaction.

pub mod logs;
pub mod metrics;
pub mod names;
pub mod redact;

pub use logs::Format;
