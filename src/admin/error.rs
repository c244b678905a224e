//! The one place where an error of the admin API gets a status. The body is `{"error": {"code", "message"}}`; what the
//! store or the system said goes to the log only.
use crate::bus::{BusError, Refusal};
use crate::knowledge::KnowledgeError;
use crate::session::SessionError;
use crate::session::record::{SlotError, Tenant};
use axum::Json;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection};
use axum::response::{IntoResponse, Response};
use http::header::WWW_AUTHENTICATE;
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

/// Why a request is not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// No token, or another.
    #[error("write `Authorization: Bearer TOKEN` with the admin token")]
    Unauthorized,
    /// The `Host` is not the listener's.
    #[error("this is not the host that the request names; use the listener's address or localhost, with its port")]
    WrongHost,
    /// A web page of another origin asks.
    #[error("requests from web pages of other origins are refused")]
    ForeignOrigin,
    /// A body of another type.
    #[error("a body must be application/json")]
    UnsupportedType,
    /// A path that is no route.
    #[error("there is no such path; GET /openapi.json lists them")]
    NoRoute,
    /// A method that the path does not have.
    #[error("the path does not have this method")]
    NoMethod,
    /// An id that no session can have.
    #[error("the {0} in the path is not valid")]
    InvalidId(&'static str),
    /// A query parameter.
    #[error("{0}")]
    InvalidQuery(String),
    /// A body that is not what it should be.
    #[error("{0}")]
    InvalidBody(String),
    /// A body over the limit.
    #[error("the body is too large")]
    BodyTooLarge,
    /// Nobody has it.
    #[error("there is no such session")]
    NoSession,
    /// The slot is empty.
    #[error("the session has no such slot")]
    NoSlot,
    /// Several tenants have a session of this id.
    #[error("several tenants have a session of this id, name one as tenant: {}", names(.0))]
    Ambiguous(Vec<Tenant>),
    /// No agent is meant.
    #[error("the session has no such agents")]
    Nobody,
    /// A message that is not taken in.
    #[error(transparent)]
    Message(#[from] Refusal),
    /// The session bus failed.
    #[error("messages can't be read or written at the moment; the gateway's log says why")]
    Bus(#[source] BusError),
    /// No such request is kept.
    #[error("the session has no such request, or it is not kept any more")]
    NoRequest,
    /// A slot that can't be set.
    #[error(transparent)]
    Slot(#[from] SlotError),
    /// A token that may do much, but not this.
    #[error("reviews, and the texts that they approve, take the token of knowledge.approve_token")]
    NotReviewer,
    /// A proposal that can't be made or changed.
    #[error(transparent)]
    Knowledge(KnowledgeError),
    /// The knowledge room failed.
    #[error("knowledge can't be written at the moment; the gateway's log says why")]
    KnowledgeFailed(#[source] KnowledgeError),
    /// The session room failed.
    #[error("sessions can't be read or written at the moment; the gateway's log says why")]
    Sessions(#[source] SessionError),
    /// A session was not deleted; the log of the session room says why.
    #[error("the session can't be deleted at the moment; the gateway's log says why")]
    NotDeleted,
    /// A configuration that can't take effect.
    #[error("the configuration can't be used, it stays as it was: {}", .0.join("; "))]
    Refused(Vec<String>),
    /// A defect: the work ended without a result.
    #[error("the gateway failed")]
    Lost(#[from] tokio::task::JoinError),
}

/// The body of an error.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: Explanation,
}

/// What is wrong.
#[derive(Serialize, ToSchema)]
struct Explanation {
    /// For programs.
    code: &'static str,
    /// For people.
    message: String,
    /// With code `ambiguous`: who has a session of this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenants: Option<Vec<String>>,
    /// With code `reload_refused`: `file:line:col: key: what`, every problem of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    problems: Option<Vec<String>>,
}

impl ApiError {
    /// The status and the code.
    pub(super) const fn verdict(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::WrongHost => (StatusCode::MISDIRECTED_REQUEST, "wrong_host"),
            Self::ForeignOrigin => (StatusCode::FORBIDDEN, "foreign_origin"),
            Self::UnsupportedType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_type"),
            Self::NoRoute => (StatusCode::NOT_FOUND, "no_route"),
            Self::NoMethod => (StatusCode::METHOD_NOT_ALLOWED, "no_method"),
            Self::InvalidId(_) => (StatusCode::BAD_REQUEST, "invalid_id"),
            Self::InvalidQuery(_) => (StatusCode::BAD_REQUEST, "invalid_query"),
            Self::InvalidBody(_) => (StatusCode::BAD_REQUEST, "invalid_body"),
            Self::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::NoSession => (StatusCode::NOT_FOUND, "no_session"),
            Self::NoSlot => (StatusCode::NOT_FOUND, "no_slot"),
            Self::NoRequest => (StatusCode::NOT_FOUND, "no_request"),
            Self::Nobody => (StatusCode::NOT_FOUND, "no_agent"),
            Self::Message(Refusal::Empty | Refusal::Invalid { .. }) => (StatusCode::BAD_REQUEST, "invalid_message"),
            Self::Message(Refusal::TooLong(_)) => (StatusCode::PAYLOAD_TOO_LARGE, "text_too_long"),
            Self::Message(Refusal::NoSession(_)) => (StatusCode::NOT_FOUND, "no_session"),
            Self::Message(Refusal::Full(_)) => (StatusCode::TOO_MANY_REQUESTS, "mailbox_full"),
            Self::Message(Refusal::Throttled { .. }) => (StatusCode::TOO_MANY_REQUESTS, "throttled"),
            Self::Message(Refusal::TooManyMailboxes) => (StatusCode::SERVICE_UNAVAILABLE, "too_many_mailboxes"),
            Self::Bus(_) => (StatusCode::SERVICE_UNAVAILABLE, "store_failed"),
            Self::Ambiguous(_) => (StatusCode::CONFLICT, "ambiguous"),
            Self::Slot(SlotError::TooLong { .. }) => (StatusCode::PAYLOAD_TOO_LARGE, "text_too_long"),
            Self::Slot(SlotError::TooMany) => (StatusCode::CONFLICT, "too_many_slots"),
            Self::NotReviewer => (StatusCode::FORBIDDEN, "not_reviewer"),
            Self::Knowledge(error) => refused(error),
            Self::Sessions(_) | Self::NotDeleted | Self::KnowledgeFailed(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "store_failed")
            }
            Self::Refused(_) => (StatusCode::UNPROCESSABLE_ENTITY, "reload_refused"),
            Self::Lost(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code) = self.verdict();
        if status.is_server_error() {
            let source = std::error::Error::source(&self).map(ToString::to_string);
            tracing::error!(code, source, "an admin request failed");
        }
        let message = self.to_string();
        let (tenants, problems) = match self {
            Self::Ambiguous(tenants) => (Some(tenants.into_iter().map(|Tenant(name)| name).collect()), None),
            Self::Refused(problems) => (None, Some(problems)),
            _ => (None, None),
        };
        let body = ErrorBody { error: Explanation { code, message, tenants, problems } };
        let mut response = (status, Json(body)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            // RFC 9110 section 15.5.2 wants a challenge.
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

const fn refused(error: &KnowledgeError) -> (StatusCode, &'static str) {
    match error {
        KnowledgeError::Unknown(_) => (StatusCode::NOT_FOUND, "no_proposal"),
        KnowledgeError::TooLong { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "text_too_long"),
        KnowledgeError::TooManyPending | KnowledgeError::Full => (StatusCode::CONFLICT, "too_many_proposals"),
        KnowledgeError::Status { .. } => (StatusCode::CONFLICT, "wrong_status"),
        KnowledgeError::Supersedes(_) => (StatusCode::CONFLICT, "cannot_supersede"),
        _ => (StatusCode::BAD_REQUEST, "invalid_body"),
    }
}

impl From<KnowledgeError> for ApiError {
    fn from(error: KnowledgeError) -> Self {
        match error {
            KnowledgeError::Store(_)
            | KnowledgeError::File { .. }
            | KnowledgeError::Random(_)
            | KnowledgeError::Lost => Self::KnowledgeFailed(error),
            other => Self::Knowledge(other),
        }
    }
}

fn names(tenants: &[Tenant]) -> String {
    tenants.iter().map(|tenant| tenant.0.as_str()).collect::<Vec<_>>().join(", ")
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Unknown(_) => Self::NoSession,
            SessionError::Cursor => Self::InvalidQuery("cursor: write what `next` of a page says".into()),
            other => Self::Sessions(other),
        }
    }
}

impl From<BusError> for ApiError {
    fn from(error: BusError) -> Self {
        match error {
            BusError::Refused(refusal) => Self::Message(refusal),
            other => Self::Bus(other),
        }
    }
}

impl From<PathRejection> for ApiError {
    fn from(_: PathRejection) -> Self {
        // What is percent-encoded is not UTF-8.
        Self::InvalidId("id")
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::InvalidQuery(rejection.body_text())
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        match rejection {
            JsonRejection::MissingJsonContentType(_) => Self::UnsupportedType,
            JsonRejection::BytesRejection(BytesRejection::FailedToBufferBody(failed))
                if failed.status() == StatusCode::PAYLOAD_TOO_LARGE =>
            {
                Self::BodyTooLarge
            }
            other => Self::InvalidBody(other.body_text()),
        }
    }
}
