//! The append-only law, and what happens once (I3, I5, I6, I9): random conversations through the whole gateway.
#![allow(unreachable_pub, dead_code, reason = "modules of one test binary, and support that is shared between several")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

#[path = "../support/mod.rs"]
mod support;

mod bus;
mod cases;
mod continued;
mod kill;
mod law;
mod line;
mod once;
mod wire;
mod world;
