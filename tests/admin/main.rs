//! The admin listener, its guards, and the command line that talks to it (docs/admin.md).
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../support/mod.rs"]
mod support;

mod cli;
mod context;
mod guards;
mod health;
mod inspect;
mod knowledge;
mod lifecycle;
mod mcp;
mod messages;
mod proposals;
mod rig;
mod sessions;
