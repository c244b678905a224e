//! Reviews of proposals: approved, rejected, edited. With `knowledge.approve_token` they take that token.
use super::Admin;
use super::error::{ApiError, ErrorBody};
use super::proposal_view::Proposal;
use super::proposals::{ProposalPath, changed};
use crate::knowledge::entry::MAX_NAME;
use crate::knowledge::{Changes, Extent, Kind, KnowledgeError};
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection};
use axum::extract::{Path, State};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Number;
use std::sync::Arc;
use utoipa::ToSchema;

/// Who decides, where nobody says.
const SOMEBODY: &str = "admin";

/// What a reviewer says beside yes.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Approval {
    /// Who approves it.
    by: Option<String>,
    /// The approved one whose place it takes, beside what the proposal says.
    supersedes: Option<String>,
}

/// What a reviewer says beside no.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rejection {
    /// Who rejects it.
    by: Option<String>,
}

/// What is changed; what is absent stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    title: Option<String>,
    body: Option<String>,
    /// rule, decision, fact or task.
    #[schema(value_type = Option<String>)]
    kind: Option<Kind>,
    /// null takes it away.
    #[serde(default, deserialize_with = "written")]
    #[schema(value_type = Option<String>)]
    tier: Option<Option<String>>,
    /// null takes it away.
    #[serde(default, deserialize_with = "written")]
    #[schema(value_type = Option<f64>)]
    confidence: Option<Option<Number>>,
    /// session, project or all.
    #[schema(value_type = Option<String>)]
    scope: Option<Extent>,
    project: Option<String>,
    /// null takes it away.
    #[serde(default, deserialize_with = "written")]
    #[schema(value_type = Option<String>)]
    supersedes: Option<Option<String>>,
}

/// A member that is there, though it may be `null`.
fn written<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Approve a proposal: models may see it from now on
#[utoipa::path(post, path = "/v1/proposals/{id}/approve", tag = "proposals", params(ProposalPath),
    request_body = Option<Approval>, responses(
        (status = 200, body = Proposal),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn approve_proposal(
    State(admin): State<Arc<Admin>>,
    path: Result<Path<ProposalPath>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Proposal>, ApiError> {
    let Path(ProposalPath { id }) = path?;
    let Approval { by, supersedes } = said(body)?;
    let approved = admin.live.turns().knowledge().approve(&id, &name(by)?, supersedes).await?;
    tracing::info!(id, title = approved.title, by = approved.decided_by, "a proposal was approved");
    Ok(changed(&admin, &approved))
}

/// Reject a proposal, or take back what was approved
#[utoipa::path(post, path = "/v1/proposals/{id}/reject", tag = "proposals", params(ProposalPath),
    request_body = Option<Rejection>, responses(
        (status = 200, body = Proposal),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn reject_proposal(
    State(admin): State<Arc<Admin>>,
    path: Result<Path<ProposalPath>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Proposal>, ApiError> {
    let Path(ProposalPath { id }) = path?;
    let Rejection { by } = said(body)?;
    let rejected = admin.live.turns().knowledge().reject(&id, &name(by)?).await?;
    tracing::info!(id, title = rejected.title, by = rejected.decided_by, "a proposal was rejected");
    Ok(changed(&admin, &rejected))
}

/// Change a pending proposal
#[utoipa::path(patch, path = "/v1/proposals/{id}", tag = "proposals", params(ProposalPath), request_body = Edit,
    responses(
        (status = 200, body = Proposal),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn edit_proposal(
    State(admin): State<Arc<Admin>>,
    path: Result<Path<ProposalPath>, PathRejection>,
    body: Result<Json<Edit>, JsonRejection>,
) -> Result<Json<Proposal>, ApiError> {
    let Path(ProposalPath { id }) = path?;
    let Json(Edit { title, body, kind, tier, confidence, scope, project, supersedes }) = body?;
    let changes = Changes { title, body, kind, tier, confidence, scope, project, supersedes };
    Ok(changed(&admin, &*admin.live.turns().knowledge().edit(&id, changes).await?))
}

/// What a body says that may be left out.
fn said<T: Default + DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Result<T, ApiError> {
    let body = body.map_err(JsonRejection::from)?;
    if body.is_empty() {
        return Ok(T::default());
    }
    Json::from_bytes(&body).map(|Json(said)| said).map_err(ApiError::from)
}

fn name(by: Option<String>) -> Result<String, ApiError> {
    let name = by.unwrap_or_else(|| SOMEBODY.to_owned());
    if name.trim().is_empty() || name.len() > MAX_NAME {
        let what = format!("write 1 to {MAX_NAME} bytes");
        return Err(KnowledgeError::Invalid { member: "by", what }.into());
    }
    Ok(name)
}
