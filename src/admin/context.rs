//! Persistent context, set and cleared by hand: what the model sees from the session's next request on.
use super::Admin;
use super::error::{ApiError, ErrorBody};
use super::select::{AgentSlot, Owner, SlotPath};
use super::sessions::shown;
use super::view::Session;
use crate::inspect::News;
use crate::knowledge;
use crate::session::record::SessionKey;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Who set a slot's text, beside hooks.
const BY: &str = "admin";

/// What a slot is to hold.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewContext {
    /// At most `limits.outcome_text` bytes.
    text: String,
}

/// Set what a slot holds. The session as it is afterwards
#[utoipa::path(put, path = "/v1/sessions/{id}/agents/{agent}/context/{slot}", tag = "context", params(SlotPath, Owner),
    request_body = NewContext, responses(
        (status = 200, body = Session),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn set_context(
    State(admin): State<Arc<Admin>>,
    AgentSlot { key, slot }: AgentSlot,
    body: Result<Json<NewContext>, JsonRejection>,
) -> Result<Json<Session>, ApiError> {
    let Json(NewContext { text }) = body?;
    refuse_approved(&admin, &slot)?;
    let limit = admin.live.status().config().limits.outcome_text;
    let now = Timestamp::now();
    let mut set = Ok(false);
    let records = admin.live.turns().sessions().records.clone();
    records
        .update(&key, |record| {
            set = record.set_slot(&slot, &text, BY, now, limit);
            set == Ok(true)
        })
        .await?;
    set?;
    tell(&admin, &key, &slot);
    shown(&admin, &key).await
}

/// What is approved is set by nothing but a review, where reviews have a token of their own. To take it out forges nothing.
fn refuse_approved(admin: &Admin, slot: &str) -> Result<(), ApiError> {
    let reviewed = admin.live.status().config().knowledge.approve_token.is_some();
    if reviewed && slot == knowledge::SLOT { Err(ApiError::NotReviewer) } else { Ok(()) }
}

/// Empty a slot
#[utoipa::path(delete, path = "/v1/sessions/{id}/agents/{agent}/context/{slot}", tag = "context",
    params(SlotPath, Owner), responses(
        (status = 204),
        (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn clear_context(
    State(admin): State<Arc<Admin>>,
    AgentSlot { key, slot }: AgentSlot,
) -> Result<StatusCode, ApiError> {
    let mut was_set = false;
    let records = admin.live.turns().sessions().records.clone();
    records
        .update(&key, |record| {
            was_set = record.clear_slot(&slot);
            was_set
        })
        .await?;
    if !was_set {
        return Err(ApiError::NoSlot);
    }
    tell(&admin, &key, &slot);
    Ok(StatusCode::NO_CONTENT)
}

fn tell(admin: &Admin, key: &SessionKey, slot: &str) {
    admin.live.turns().recorder().tell(Some(key), || News::Context { slot });
}
