//! The last requests of an agent, as far as `inspect` keeps them.
use super::Admin;
use super::error::{ApiError, ErrorBody};
use super::select::{Agent, Owner, RequestPath};
use crate::inspect::{Bodies, Request};
use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The requests of an agent that are kept, newest first.
#[derive(Serialize, ToSchema)]
pub(super) struct Requests {
    items: Vec<Request>,
    /// Always null.
    next: Option<String>,
}

/// One request with its texts.
#[derive(Serialize, ToSchema)]
pub(super) struct WholeRequest {
    #[serde(flatten)]
    request: Request,
    /// Its body as it came and as it went up; null without `inspect.bodies`, and for bodies of more than 1 MiB.
    bodies: Option<Bodies>,
}

/// The last requests of an agent, newest first: which hooks ran and what they did, what it cost, how it ended
#[utoipa::path(get, path = "/v1/sessions/{id}/agents/{agent}/requests", tag = "sessions",
    params(super::select::AgentPath, Owner), responses(
        (status = 200, body = Requests),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn list_requests(State(admin): State<Arc<Admin>>, Agent(key): Agent) -> Json<Requests> {
    Json(Requests { items: admin.live.turns().recorder().requests(&key), next: None })
}

/// One of them with the texts that hooks placed, and its bodies if `inspect.bodies` keeps them
#[utoipa::path(get, path = "/v1/sessions/{id}/agents/{agent}/requests/{request}", tag = "sessions",
    params(RequestPath, Owner), responses(
        (status = 200, body = WholeRequest),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn show_request(
    State(admin): State<Arc<Admin>>,
    Agent(key): Agent,
    Path(RequestPath { request, .. }): Path<RequestPath>,
) -> Result<Json<WholeRequest>, ApiError> {
    let recorder = admin.live.turns().recorder().clone();
    // Large bodies are compared aside.
    let found = tokio::task::spawn_blocking(move || recorder.request(&key, &request)).await?;
    let (request, bodies) = found.ok_or(ApiError::NoRequest)?;
    Ok(Json(WholeRequest { request, bodies }))
}
