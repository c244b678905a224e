//! Another configuration takes the place of the one in effect while the gateway runs: as a whole or not at all, and not for
//! requests that are in flight.
#![allow(unreachable_pub, dead_code, reason = "support that is shared between several test binaries")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

#[path = "../support/mod.rs"]
mod support;

mod rig;

mod follows;
mod process;
mod refused;
mod service_manager;
mod survives;
