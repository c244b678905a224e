//! Logs, metrics, redaction.

pub mod logs;
