//! Messages into a running session, what became of them, and what people call its agents.
use super::Admin;
use super::error::{ApiError, ErrorBody};
use super::select::{Addressee, AgentPath, Owner};
use crate::bus::message::{Kind, Message, Origin, State, Written};
use crate::bus::{BusError, Receipt};
use crate::gateway::turn::is_label;
use crate::session::record::SessionKey;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State as Shared};
use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// The state of a message that waits, as its receipt names it.
const QUEUED: &str = "queued";
/// The state of one that was not taken in.
const REFUSED: &str = "refused";

/// A message.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewMessage {
    /// What the model reads; at most 2 KiB.
    text: String,
    /// note waits for the session's next request; correction and halt also keep a turn from ending; halt makes it end then.
    #[serde(default)]
    #[schema(value_type = MessageKind)]
    kind: Kind,
    /// How long it waits, such as 15m, which is the default; at most 7d.
    ttl: Option<String>,
    /// Who sends it.
    from: Option<String>,
    /// The same id again is the same message.
    id: Option<String>,
}

/// What a message asks for.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes another room's type")]
enum MessageKind {
    Note,
    Correction,
    Halt,
}

/// What became of a message that was sent.
#[derive(Serialize, ToSchema)]
pub(super) struct Sent {
    id: String,
    /// queued, delivered, expired or refused; of several agents queued if it waits for any.
    state: &'static str,
    /// Whom it was sent to.
    to: Vec<Recipient>,
}

/// One of those that a message was sent to.
#[derive(Serialize, ToSchema)]
struct Recipient {
    /// Opaque owner.
    tenant: String,
    session: String,
    agent: String,
    state: &'static str,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A message in a mailbox.
#[derive(Serialize, ToSchema)]
pub(super) struct Letter {
    id: String,
    agent: String,
    kind: &'static str,
    from: String,
    /// Whether the sender is known; else it is only what a file says.
    verified: bool,
    text: String,
    /// queued, delivered, expired or refused.
    state: &'static str,
    queued_at: Timestamp,
    expires_at: Timestamp,
    /// When the upstream accepted a request that shows it.
    delivered_at: Option<Timestamp>,
    /// Ordinal of the session's turn in which that was.
    turn: Option<u64>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// All messages of an agent that are remembered.
#[derive(Serialize, ToSchema)]
pub(super) struct Letters {
    items: Vec<Letter>,
    /// Always null.
    next: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only the message with this id.
    id: Option<String>,
}

/// What an agent is to be called.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Label {
    /// At most 128 bytes.
    label: String,
}

/// Send a message into a running session. The agent is an id, a label, `*` for all of the session or `PARENT/*` for all that
/// one started
#[utoipa::path(post, path = "/v1/sessions/{id}/agents/{agent}/messages", tag = "messages", params(AgentPath, Owner),
    request_body = NewMessage, responses(
        (status = 202, description = "Taken in", body = Sent),
        (status = 200, description = "This id was taken in before", body = Sent),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn send_message(
    Shared(admin): Shared<Arc<Admin>>,
    Addressee { tenant, id: session, agents }: Addressee,
    body: Result<Json<NewMessage>, JsonRejection>,
) -> Result<(StatusCode, Json<Sent>), ApiError> {
    let Json(NewMessage { text, kind, ttl, from, id }) = body?;
    let written = Written { text, kind, ttl, from, id: Some(id.unwrap_or_else(crate::bus::message::fresh_id)) };
    let id = written.id.clone().unwrap_or_default();
    let receipts = admin.live.turns().bus().send(&tenant, &session, &agents, written, &Origin::Api).await?;
    answered(id, receipts)
}

/// One for all that were meant; a refusal where nobody took it in.
fn answered(
    id: String,
    receipts: Vec<(SessionKey, Result<Receipt, BusError>)>,
) -> Result<(StatusCode, Json<Sent>), ApiError> {
    let mut sent = Sent { id, state: "", to: Vec::with_capacity(receipts.len()) };
    let (mut is_new, mut why) = (false, None);
    for (SessionKey { tenant, id: session, agent }, receipt) in receipts {
        let (state, reason) = match receipt {
            Ok(receipt) => {
                is_new |= receipt.is_new;
                (receipt.state(), None)
            }
            Err(error) => {
                let reason = error.to_string();
                why = Some(error);
                (REFUSED, Some(reason))
            }
        };
        sent.to.push(Recipient { tenant: tenant.0, session, agent, state, reason });
    }
    let taken = sent.to.iter().filter(|recipient| recipient.reason.is_none());
    let best = taken.clone().find(|recipient| recipient.state == QUEUED).or_else(|| taken.clone().next());
    match (best.map(|recipient| recipient.state), why) {
        (Some(state), _) => sent.state = state,
        (None, Some(error)) => return Err(error.into()),
        (None, None) => return Err(ApiError::Nobody),
    }
    Ok((if is_new { StatusCode::ACCEPTED } else { StatusCode::OK }, Json(sent)))
}

/// Messages of an agent: those that wait, and the last ones that do not any more, oldest first
#[utoipa::path(get, path = "/v1/sessions/{id}/agents/{agent}/messages", tag = "messages",
    params(AgentPath, Owner, Which), responses(
        (status = 200, body = Letters),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn list_messages(
    Shared(admin): Shared<Arc<Admin>>,
    addressee: Addressee,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Json<Letters>, ApiError> {
    let Query(Which { id }) = which?;
    let turns = admin.live.turns();
    let mut items = Vec::new();
    for key in keys(&admin, &addressee).await? {
        let messages = turns.bus().list(&key).await?;
        let chosen = messages.into_iter().filter(|message| id.as_ref().is_none_or(|id| message.id == *id));
        items.extend(chosen.map(|message| Letter::of(&key, message)));
    }
    Ok(Json(Letters { items, next: None }))
}

/// Name an agent, whose own id says little
#[utoipa::path(put, path = "/v1/sessions/{id}/agents/{agent}/label", tag = "messages", params(AgentPath, Owner),
    request_body = Label, responses(
        (status = 204),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn set_label(
    Shared(admin): Shared<Arc<Admin>>,
    addressee: Addressee,
    body: Result<Json<Label>, JsonRejection>,
) -> Result<StatusCode, ApiError> {
    let Json(Label { label }) = body?;
    let label = label.trim();
    if !is_label(label) {
        return Err(ApiError::InvalidBody("label: write 1 to 128 bytes without control characters".into()));
    }
    name(&admin, &addressee, Some(label)).await
}

/// Take an agent's name
#[utoipa::path(delete, path = "/v1/sessions/{id}/agents/{agent}/label", tag = "messages", params(AgentPath, Owner),
    responses(
        (status = 204),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn clear_label(
    Shared(admin): Shared<Arc<Admin>>,
    addressee: Addressee,
) -> Result<StatusCode, ApiError> {
    name(&admin, &addressee, None).await
}

async fn name(admin: &Admin, addressee: &Addressee, label: Option<&str>) -> Result<StatusCode, ApiError> {
    let keys = keys(admin, addressee).await?;
    if keys.is_empty() {
        return Err(ApiError::Nobody);
    }
    for key in keys {
        admin.live.turns().bus().set_label(&key, label.map(str::to_owned)).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn keys(admin: &Admin, Addressee { tenant, id, agents }: &Addressee) -> Result<Vec<SessionKey>, ApiError> {
    Ok(admin.live.turns().bus().meant(tenant, id, agents).await?)
}

impl Letter {
    fn of(key: &SessionKey, message: Message) -> Self {
        let (delivered_at, turn) = match &message.state {
            State::Delivered { at, turn, .. } => (Some(*at), Some(*turn)),
            _ => (None, None),
        };
        let state = message.state.name();
        Self {
            id: message.id,
            agent: key.agent.clone(),
            kind: message.kind.name(),
            from: message.from,
            verified: message.verified,
            text: message.text,
            state,
            queued_at: message.queued_at,
            expires_at: message.expires_at,
            delivered_at,
            turn,
            reason: match message.state {
                State::Refused { why } => Some(why),
                _ => None,
            },
        }
    }
}
