//! What integration tests share: a scripted provider, a raw client, a gateway on free ports.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "every test binary uses its part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

pub mod client;
pub mod config;
pub mod provider;
mod wire;

pub use client::{Answer, Client};
pub use provider::{Gate, Provider, Recorded, Step};

use std::time::Duration;

/// Longest time that a test waits for something that must happen: far above what it takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for `future`, and fails the test when it takes too long.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("did not happen in time")
}

/// A gateway in front of one provider that speaks all three dialects.
pub async fn gateway(provider: &Provider) -> hookgate::app::Running {
    gateway_with(config::for_provider(provider.addr())).await
}

/// A gateway with this configuration.
pub async fn gateway_with(config: hookgate::config::Config) -> hookgate::app::Running {
    use hookgate::app::{AppError, start};
    use hookgate::session::store::StoreError;
    let started = async {
        loop {
            match start(config.clone()).await {
                // The one before it lets go of the store a moment after it was shut down.
                Err(AppError::Store(StoreError::Locked { .. })) => tokio::time::sleep(Duration::from_millis(10)).await,
                started => return started.expect("the gateway starts"),
            }
        }
    };
    soon(started).await
}
