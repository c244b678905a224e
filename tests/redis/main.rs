//! Several gateways on one Redis: the store itself, races of two processes, and what happens when the server goes away.
//!
//! They start a `redis-server` of their own (Debian: `apt-get install redis-server`). Without it they do nothing, and say so;
//! with HOOKGATE_TEST_REDIS=required they fail instead.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

mod latency;
mod moving;
mod outage;
mod race;
mod replica;
mod server;
mod store;
#[path = "../support/mod.rs"]
mod support;
