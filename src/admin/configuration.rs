//! The configuration in effect, and reading it again.
use super::Admin;
use super::error::{ApiError, ErrorBody};
use crate::config;
use crate::live;
use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// The configuration in effect, and how it came to be.
#[derive(Serialize, ToSchema)]
pub(super) struct Active {
    /// Counts the configurations since the start of the gateway.
    version: u64,
    /// Since when it is in effect.
    loaded_at: Timestamp,
    /// The last reload that was refused, and why; null if none was.
    last_refused: Option<Refused>,
    /// With the keys of the file; secrets are masked.
    #[schema(value_type = Object)]
    config: Value,
}

/// A reload that was not done: the configuration stayed as it was.
#[derive(Serialize, ToSchema)]
struct Refused {
    at: Timestamp,
    /// `file:line:col: key: what`, every problem of the file.
    problems: Vec<String>,
}

/// A configuration that has taken effect.
#[derive(Serialize, ToSchema)]
pub(super) struct Reloaded {
    /// Counts the configurations since the start of the gateway.
    version: u64,
    loaded_at: Timestamp,
}

impl Refused {
    fn of(refused: &live::Refused) -> Self {
        Self { at: refused.at, problems: refused.problems.clone() }
    }
}

/// The configuration in effect
#[utoipa::path(get, path = "/v1/config", tag = "gateway", responses(
    (status = 200, body = Active),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn show_config(State(admin): State<Arc<Admin>>) -> Json<Active> {
    let status = admin.live.status();
    Json(Active {
        version: status.version,
        loaded_at: status.loaded_at,
        last_refused: status.last_refused.as_deref().map(Refused::of),
        config: config::masked(status.config()),
    })
}

/// Read the configuration again: it takes effect as a whole, for requests from now on, or is refused
#[utoipa::path(post, path = "/v1/config/reload", tag = "gateway", responses(
    (status = 200, body = Reloaded),
    (status = 422, description = "Refused: the configuration stays as it was", body = ErrorBody),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn reload_config(State(admin): State<Arc<Admin>>) -> Result<Json<Reloaded>, ApiError> {
    let status = admin.live.reload().await.map_err(|refused| ApiError::Refused(refused.problems.clone()))?;
    Ok(Json(Reloaded { version: status.version, loaded_at: status.loaded_at }))
}
