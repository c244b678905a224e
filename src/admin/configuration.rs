//! The configuration in effect.
use super::Admin;
use super::error::ErrorBody;
use crate::config;
use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// Versions count loads: this is that of the configuration that the gateway starts with.
const FIRST_VERSION: u64 = 1;

/// The configuration in effect, and how it came to be.
#[derive(Serialize, ToSchema)]
pub(super) struct Active {
    /// Counts the configurations since the start of the gateway.
    version: u64,
    /// Since when it is in effect.
    loaded_at: Timestamp,
    /// The last reload that was refused, and why; null if none was.
    #[schema(value_type = Option<Object>)]
    last_refused: Option<Value>,
    /// With the keys of the file; secrets are masked.
    #[schema(value_type = Object)]
    config: Value,
}

/// The configuration in effect
#[utoipa::path(get, path = "/v1/config", tag = "gateway", responses(
    (status = 200, body = Active),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn show_config(State(admin): State<Arc<Admin>>) -> Json<Active> {
    Json(Active {
        version: FIRST_VERSION,
        loaded_at: admin.loaded_at,
        last_refused: None,
        config: config::masked(&admin.config),
    })
}
