//! The gateway as a relay: what no hook touches passes unchanged both ways (I1, I2, I7, I10).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

#[path = "../support/mod.rs"]
mod support;

mod down;
mod lifetime;
mod refusals;
mod up;
