//! Sessions: seen, ended, deleted.
use super::Admin;
use super::error::{ApiError, ErrorBody};
use super::select::{Agent, AgentPath, Agents, Owner, SessionPath};
use super::view::{Page, Session};
use crate::session::record::{SessionKey, SessionRecord};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use http::StatusCode;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Sessions in a page that does not say how many.
const DEFAULT_LIMIT: usize = 50;
/// Most sessions in a page; each is read with its slots' texts, though these are not shown.
const MAX_LIMIT: usize = 500;
/// `reason` in the event of an end that was asked for here.
const REASON: &str = "admin";

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Part {
    /// Only of this tenant; a page may then hold fewer than there are, and `next` leads on.
    tenant: Option<String>,
    /// What `next` of the page before says.
    cursor: Option<String>,
    /// Most sessions in the page.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
}

/// All sessions, in the order of their ids
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(Part), responses(
    (status = 200, body = Page),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn list_sessions(
    State(admin): State<Arc<Admin>>,
    part: Result<Query<Part>, QueryRejection>,
) -> Result<Json<Page>, ApiError> {
    let Query(Part { tenant, cursor, limit }) = part?;
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::InvalidQuery(format!("limit: write 1 to {MAX_LIMIT}")));
    }
    let turns = admin.live.turns();
    let page = turns.sessions().records.list(cursor.as_deref(), limit).await?;
    let is_meant = |record: &SessionRecord| tenant.as_ref().is_none_or(|tenant| *tenant == record.key.tenant.0);
    let items = page.items.iter().filter(|record| is_meant(record)).map(|record| Session::listed(record, turns.bus()));
    let items = items.collect();
    Ok(Json(Page { items, next: page.next }))
}

/// One session: all its agents
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", params(SessionPath, Owner), responses(
    (status = 200, body = Page),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn show_session(
    State(admin): State<Arc<Admin>>,
    Agents(keys): Agents,
) -> Result<Json<Page>, ApiError> {
    let mut items = Vec::with_capacity(keys.len());
    for key in keys {
        // Deleted since it was found.
        let Some(record) = admin.live.turns().sessions().records.latest(&key).await? else { continue };
        items.push(Session::whole(&record, admin.live.turns().bus()));
    }
    Ok(Json(Page { items, next: None }))
}

/// One agent of a session
#[utoipa::path(get, path = "/v1/sessions/{id}/agents/{agent}", tag = "sessions", params(AgentPath, Owner), responses(
    (status = 200, body = Session),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn show_agent(State(admin): State<Arc<Admin>>, Agent(key): Agent) -> Result<Json<Session>, ApiError> {
    shown(&admin, &key).await
}

/// Forget one agent of a session with all that was kept of it; no hook runs
#[utoipa::path(delete, path = "/v1/sessions/{id}/agents/{agent}", tag = "sessions", params(AgentPath, Owner), responses(
    (status = 204),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn delete_agent(State(admin): State<Arc<Admin>>, Agent(key): Agent) -> Result<StatusCode, ApiError> {
    if admin.live.turns().delete_session(&key).await { Ok(StatusCode::NO_CONTENT) } else { Err(ApiError::NotDeleted) }
}

/// End one agent of a session: its session.end hooks run, once. The session as it is afterwards
#[utoipa::path(post, path = "/v1/sessions/{id}/agents/{agent}/end", tag = "sessions", params(AgentPath, Owner), responses(
    (status = 200, body = Session),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn end_agent(State(admin): State<Arc<Admin>>, Agent(key): Agent) -> Result<Json<Session>, ApiError> {
    admin.live.turns().end_session(&key, REASON).await;
    shown(&admin, &key).await
}

/// The session as it is now.
pub(super) async fn shown(admin: &Admin, key: &SessionKey) -> Result<Json<Session>, ApiError> {
    let record = admin.live.turns().sessions().records.latest(key).await?;
    record.map(|record| Json(Session::whole(&record, admin.live.turns().bus()))).ok_or(ApiError::NoSession)
}
