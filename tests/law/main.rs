//! The append-only law, and what happens once (I3, I5, I6, I9): random conversations through the whole gateway.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

#[path = "../support/mod.rs"]
mod support;

mod kill;
mod law;
mod line;
mod once;
mod wire;
mod world;
