//! Logs, metrics, traces, the audit log, redaction.

pub mod audit;
pub mod logs;
pub mod metrics;
pub mod names;
mod one_line;
pub mod redact;
pub mod traces;

pub use logs::Format;
