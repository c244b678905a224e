//! Proposals: listed, shown, made; and what was approved, found again.
use super::Admin;
use super::error::{ApiError, ErrorBody};
use super::proposal_view::{Proposal, Proposals};
use super::select::{self, AgentPath, session_of};
use crate::inspect::News;
use crate::knowledge::{Draft, Entry, Extent, Filter, Kind, KnowledgeError, Origin, Reader, Status};
use crate::session::record::Tenant;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Number;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Proposals in a page that does not say how many.
const DEFAULT_LIMIT: usize = 50;
/// Most proposals in a page: each has its body.
const MAX_LIMIT: usize = 500;
/// Entries that a search finds when it does not say how many.
const DEFAULT_FOUND: usize = 5;
/// Who proposes here, beside hooks.
const BY: &str = "admin";

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Part {
    /// Only pending, approved, rejected or superseded ones.
    #[param(value_type = Option<String>)]
    status: Option<Status>,
    /// Only of this tenant.
    tenant: Option<String>,
    /// What `next` of the page before says.
    cursor: Option<String>,
    /// Most proposals in the page.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ProposalPath {
    /// The proposal's id.
    pub(super) id: String,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Search {
    /// What is wanted, in words.
    query: String,
    /// Most entries.
    #[param(minimum = 1, maximum = 500, default = 5)]
    limit: Option<usize>,
    /// Whose session; may be left out while only one tenant has a session of this id.
    tenant: Option<String>,
}

/// What is to be remembered, once it is approved.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewProposal {
    /// A line, at most 256 bytes.
    title: String,
    /// At most 8 KiB.
    body: String,
    /// rule, decision, fact or task.
    #[serde(default = "fact")]
    #[schema(value_type = Option<String>, default = "fact")]
    kind: Kind,
    /// How much its author makes of it.
    tier: Option<String>,
    /// From 0 to 1.
    #[schema(value_type = Option<f64>)]
    confidence: Option<Number>,
    /// session, project or all.
    #[serde(default)]
    #[schema(value_type = Option<String>, default = "all")]
    scope: Extent,
    /// With scope project: which; without it the session's.
    project: Option<String>,
    /// The approved one whose place it takes.
    supersedes: Option<String>,
    /// The session that it comes from, which says whose it is.
    session: Option<String>,
    /// The agent in it.
    agent: Option<String>,
    /// Whose it is; without it and without a session it is for every tenant.
    tenant: Option<String>,
}

const fn fact() -> Kind {
    Kind::Fact
}

/// All proposals, oldest first
#[utoipa::path(get, path = "/v1/proposals", tag = "proposals", params(Part), responses(
    (status = 200, body = Proposals),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn list_proposals(
    State(admin): State<Arc<Admin>>,
    part: Result<Query<Part>, QueryRejection>,
) -> Result<Json<Proposals>, ApiError> {
    let Query(Part { status, tenant, cursor, limit }) = part?;
    let limit = bounded(limit, DEFAULT_LIMIT)?;
    let filter = Filter { status, tenant: tenant.map(Tenant) };
    let found = admin.live.turns().knowledge().list(&filter, cursor.as_deref(), limit);
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.id.clone());
    Ok(Json(Proposals { items: found.iter().map(|entry| Proposal::of(entry)).collect(), next }))
}

/// One proposal
#[utoipa::path(get, path = "/v1/proposals/{id}", tag = "proposals", params(ProposalPath), responses(
    (status = 200, body = Proposal),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn show_proposal(
    State(admin): State<Arc<Admin>>,
    path: Result<Path<ProposalPath>, PathRejection>,
) -> Result<Json<Proposal>, ApiError> {
    let Path(ProposalPath { id }) = path?;
    let found = admin.live.turns().knowledge().get(&id);
    found.map(|entry| Json(Proposal::of(&entry))).ok_or(ApiError::Knowledge(KnowledgeError::Unknown(id)))
}

/// Propose something: nothing of it reaches a model until it is approved. One that waits already or is approved is shown instead
#[utoipa::path(post, path = "/v1/proposals", tag = "proposals", request_body = NewProposal, responses(
    (status = 201, body = Proposal),
    (status = 200, description = "It was proposed before", body = Proposal),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn add_proposal(
    State(admin): State<Arc<Admin>>,
    body: Result<Json<NewProposal>, JsonRejection>,
) -> Result<(StatusCode, Json<Proposal>), ApiError> {
    let Json(NewProposal { title, body, kind, tier, confidence, scope, project, supersedes, session, agent, tenant }) =
        body?;
    let (tenant, origin) = match session {
        Some(id) => {
            let record = session_of(&admin, &id, agent.as_deref(), tenant).await?;
            let origin = Origin {
                session: Some(record.key.id.clone()),
                agent: Some(record.key.agent.clone()),
                project: record.project.clone(),
                turn: Some(record.turns),
                hook: Some(BY.into()),
            };
            (Some(record.key.tenant.clone()), origin)
        }
        None => (tenant.map(Tenant), Origin { agent, hook: Some(BY.into()), ..Origin::default() }),
    };
    let draft = Draft { title, body, kind, tier, confidence, scope, project, supersedes };
    let (entry, is_new) = admin.live.turns().knowledge().propose(tenant, origin, draft).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, changed(&admin, &entry)))
}

/// A proposal that was made, changed or decided: whoever watches is told.
pub(super) fn changed(admin: &Admin, entry: &Entry) -> Json<Proposal> {
    admin.live.turns().recorder().tell(None, || News::Proposal { id: Some(&entry.id) });
    Json(Proposal::of(entry))
}

/// What was approved and matches some words, of what an agent may see; best first
#[utoipa::path(get, path = "/v1/sessions/{id}/agents/{agent}/knowledge", tag = "proposals", params(AgentPath, Search),
    responses(
        (status = 200, body = Proposals),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn find_knowledge(
    State(admin): State<Arc<Admin>>,
    path: Result<Path<AgentPath>, PathRejection>,
    search: Result<Query<Search>, QueryRejection>,
) -> Result<Json<Proposals>, ApiError> {
    let (Path(path), Query(Search { query, limit, tenant })) = (path?, search?);
    let limit = bounded(limit, DEFAULT_FOUND)?;
    let key = select::agent(&admin, path, tenant).await?;
    let turns = admin.live.turns();
    let record = turns.sessions().records.get(&key).await?.ok_or(ApiError::NoSession)?;
    let reader = Reader { tenant: &key.tenant, session: &key.id, project: record.project.as_deref() };
    let found = turns.knowledge().find(&reader, &query, limit, |_| true);
    Ok(Json(Proposals { items: found.iter().map(|entry| Proposal::of(entry)).collect(), next: None }))
}

fn bounded(limit: Option<usize>, default: usize) -> Result<usize, ApiError> {
    let limit = limit.unwrap_or(default);
    if (1..=MAX_LIMIT).contains(&limit) {
        return Ok(limit);
    }
    Err(ApiError::InvalidQuery(format!("limit: write 1 to {MAX_LIMIT}")))
}
