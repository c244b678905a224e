//! `hookgate run`, `trust` and `init`, as somebody in a freshly cloned repository meets them.
#![allow(unreachable_pub, reason = "modules of a test binary")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

mod agents;
mod ends;
mod init;
mod stage;
mod states;
#[path = "../support/mod.rs"]
mod support;
mod trusted;
