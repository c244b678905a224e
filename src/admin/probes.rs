//! What machines ask: load balancers, orchestrators, scrapers.
use super::Admin;
use super::error::ErrorBody;
use axum::extract::State;
use http::header::CONTENT_TYPE;
use http::{HeaderName, StatusCode};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The Prometheus text format.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether the process lives
#[utoipa::path(get, path = "/healthz", tag = "probes", security(()), responses((status = 200, body = String)))]
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether it takes requests
#[utoipa::path(get, path = "/readyz", tag = "probes", security(()),
    responses((status = 200, body = String), (status = 503, description = "It drains", body = String)))]
pub(super) async fn readyz(State(admin): State<Arc<Admin>>) -> (StatusCode, &'static str) {
    if admin.ready.load(Ordering::Relaxed) {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    }
}

/// Metrics for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "probes", responses(
    (status = 200, content_type = "text/plain", body = String),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn metrics(State(admin): State<Arc<Admin>>) -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, METRICS_TYPE)], admin.metrics.render())
}
