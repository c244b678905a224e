//! Which session a path and `?tenant=` mean. Ids in paths are percent-decoded, and may be anything.
use super::Admin;
use super::error::ApiError;
use crate::session::key;
use crate::session::record::{MAIN, SessionKey, SessionRecord, Tenant};
use axum::RequestPartsExt;
use axum::extract::{FromRequestParts, Path, Query};
use http::request::Parts;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use utoipa::IntoParams;

/// Longest name of a slot in characters.
const MAX_SLOT_NAME: usize = 256;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct SessionPath {
    /// The session's id.
    id: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct AgentPath {
    /// The session's id.
    id: String,
    /// The agent; `main` for the first.
    agent: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "the agent is found by its own extractor")]
pub(super) struct RequestPath {
    /// The session's id.
    id: String,
    /// The agent; `main` for the first.
    agent: String,
    /// The request's id.
    pub(super) request: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct SlotPath {
    /// The session's id.
    id: String,
    /// The agent; `main` for the first.
    agent: String,
    /// The slot of persistent context.
    slot: String,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Owner {
    /// Whose session; may be left out while only one tenant has a session of this id.
    tenant: Option<String>,
}

#[derive(Deserialize)]
struct AnyOwner {
    tenant: Option<String>,
}

/// All agents of one session: at least one.
pub(super) struct Agents(pub(super) Vec<SessionKey>);

/// One agent, which exists.
pub(super) struct Agent(pub(super) SessionKey);

/// Who is meant by a message: one agent, which need not have spoken yet, or several.
pub(super) struct Addressee {
    pub(super) tenant: Tenant,
    pub(super) id: String,
    /// An id, a label, `*` or `PARENT/*`.
    pub(super) agents: String,
}

/// A slot of one agent, which exists; the slot may be empty.
pub(super) struct AgentSlot {
    pub(super) key: SessionKey,
    pub(super) slot: String,
}

impl FromRequestParts<Arc<Admin>> for Agents {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<Admin>) -> Result<Self, ApiError> {
        let Path(SessionPath { id }) = parts.extract().await?;
        let Query(Owner { tenant }) = parts.extract().await?;
        agents(admin, &checked(&id, "session")?, tenant).await.map(Self)
    }
}

impl FromRequestParts<Arc<Admin>> for Agent {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<Admin>) -> Result<Self, ApiError> {
        let Path(AgentPath { id, agent }) = parts.extract().await?;
        let Query(Owner { tenant }) = parts.extract().await?;
        one(admin, &id, &agent, tenant).await.map(Self)
    }
}

impl FromRequestParts<Arc<Admin>> for Addressee {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<Admin>) -> Result<Self, ApiError> {
        let Path(AgentPath { id, agent }) = parts.extract().await?;
        // Routes have further parameters of their own.
        let Query(AnyOwner { tenant }) = parts.extract().await?;
        let (id, agents) = (checked(&id, "session")?, checked(&agent, "agent")?);
        let turns = admin.live.turns();
        let known = turns.bus().tenants(&id).await?;
        let only = turns.sessions().tenants.only();
        let tenant = match (tenant.map(Tenant), known.len()) {
            (Some(tenant), _) if known.contains(&tenant) || only.as_ref() == Some(&tenant) => tenant,
            (Some(_), _) => return Err(ApiError::NoSession),
            (None, 0) => only.ok_or(ApiError::NoSession)?,
            (None, 1) => known.into_iter().next().ok_or(ApiError::NoSession)?,
            (None, _) => return Err(ApiError::Ambiguous(known.into_iter().collect())),
        };
        Ok(Self { tenant, id, agents })
    }
}

impl FromRequestParts<Arc<Admin>> for AgentSlot {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<Admin>) -> Result<Self, ApiError> {
        let Path(SlotPath { id, agent, slot }) = parts.extract().await?;
        let Query(Owner { tenant }) = parts.extract().await?;
        if slot.chars().any(char::is_control) || slot.chars().count() > MAX_SLOT_NAME {
            return Err(ApiError::InvalidId("slot"));
        }
        Ok(Self { key: one(admin, &id, &agent, tenant).await?, slot })
    }
}

async fn one(admin: &Admin, id: &str, agent: &str, tenant: Option<String>) -> Result<SessionKey, ApiError> {
    let (id, agent) = (checked(id, "session")?, checked(agent, "agent")?);
    let tenant = match tenant {
        Some(tenant) => Tenant(tenant),
        None => agents(admin, &id, None).await?.swap_remove(0).tenant,
    };
    let key = SessionKey { tenant, id, agent };
    let found = admin.live.turns().sessions().records.get(&key).await?;
    found.map(|_| key).ok_or(ApiError::NoSession)
}

/// One agent, which exists, for a route whose query says more than whose it is.
pub(super) async fn agent(
    admin: &Admin,
    AgentPath { id, agent }: AgentPath,
    tenant: Option<String>,
) -> Result<SessionKey, ApiError> {
    one(admin, &id, &agent, tenant).await
}

/// The record of one agent of a session, [`MAIN`] or, where that is not there, another unless one is named.
pub(super) async fn session_of(
    admin: &Admin,
    id: &str,
    agent: Option<&str>,
    tenant: Option<String>,
) -> Result<Arc<SessionRecord>, ApiError> {
    let id = checked(id, "session")?;
    let mut found = agents(admin, &id, tenant).await?;
    let named = |key: &SessionKey| key.agent == agent.unwrap_or(MAIN);
    let at = found.iter().position(named).or((agent.is_none()).then_some(0)).ok_or(ApiError::NoSession)?;
    let key = found.swap_remove(at);
    admin.live.turns().sessions().records.get(&key).await?.ok_or(ApiError::NoSession)
}

/// At least one, all of one tenant.
async fn agents(admin: &Admin, id: &str, tenant: Option<String>) -> Result<Vec<SessionKey>, ApiError> {
    let mut found = admin.live.turns().sessions().records.find(id).await?;
    found.retain(|key| tenant.as_ref().is_none_or(|tenant| key.tenant.0 == *tenant));
    let tenants: BTreeSet<_> = found.iter().map(|key| key.tenant.clone()).collect();
    match tenants.len() {
        0 => Err(ApiError::NoSession),
        1 => Ok(found),
        _ => Err(ApiError::Ambiguous(tenants.into_iter().collect())),
    }
}

/// The id as sessions have it. One that none can have must not reach the store, whose keys it could break out of.
fn checked(id: &str, what: &'static str) -> Result<String, ApiError> {
    key::checked(id.as_bytes()).ok_or(ApiError::InvalidId(what))
}
