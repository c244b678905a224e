//! The admin listener.
use crate::telemetry::metrics::Exporter;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use http::StatusCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the admin listener shows.
#[derive(Debug, Clone)]
pub struct Admin {
    /// Whether new requests are welcome.
    pub ready: Arc<AtomicBool>,
    /// The metrics.
    pub metrics: Exporter,
}

impl Admin {
    /// The admin listener's routes.
    pub fn into_service(self) -> Router {
        Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(readyz))
            .route("/metrics", get(|State(admin): State<Self>| async move { admin.metrics.render() }))
            .with_state(self)
    }
}

async fn readyz(State(admin): State<Admin>) -> (StatusCode, &'static str) {
    if admin.ready.load(Ordering::Relaxed) {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    }
}
