//! Whether hooks look into a request, and what becomes of it.
use super::admission::Share;
use super::answer_head::IDENTITY;
use super::client_body::ClientBody;
use super::errors::GatewayError;
use super::read::ReadBody;
use super::request::Exchange;
use super::turn::{Asked, Follow, Prepared, TurnError, Unattended, Upward};
use crate::dialect::Endpoint;
use crate::json::Rope;
use crate::upstream::RequestBody;
use axum::body::Body;
use axum::response::Response;
use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use std::sync::Arc;

/// Carries the session's id to the client.
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("x-hookgate-session");

/// Longest body that may lie in a read buffer, in bytes: what a connection reads at once.
const SHORT: usize = 64 << 10;

/// What becomes of a request.
pub enum Inspected {
    /// It goes up.
    Up(Passage),
    /// The gateway has answered it.
    Answered(Response),
}

/// What goes up, and what follows the answer.
pub struct Passage {
    /// The body.
    pub body: RequestBody,
    /// Follows the answer.
    pub follow: Option<Following>,
    /// The body, not compressed, where the answer may be changed or continued.
    pub again: Option<Kept>,
    /// The session's id, for the client.
    pub session: Option<String>,
    /// The model, where the path names it and hooks name another.
    pub model: Option<String>,
}

/// What follows an answer.
pub enum Following {
    /// It belongs to a turn.
    Turn(Box<Follow>),
    /// It belongs to none, but is held to its tools.
    Bound(Box<Unattended>),
}

impl Following {
    fn is_gated(&self) -> bool {
        match self {
            Self::Turn(follow) => follow.is_gated(),
            Self::Bound(_) => true,
        }
    }

    /// The upstream was not reached, or did not answer.
    pub fn unanswered(self, error: &str) {
        if let Self::Turn(follow) = self {
            follow.unanswered(error);
        }
    }
}

/// A body that is kept while its answer comes.
pub struct Kept {
    /// The body.
    pub body: Rope,
    /// Its part of the budget.
    pub share: Arc<Share>,
}

impl Passage {
    fn relayed(body: RequestBody) -> Self {
        Self { body, follow: None, again: None, session: None, model: None }
    }
}

/// Decides what goes up. `headers` are the client's; what is changed in them goes up.
///
/// # Errors
/// [`GatewayError`] when the request is refused.
pub(super) async fn inspect(
    exchange: &Exchange<'_>,
    headers: &mut HeaderMap,
    body: ClientBody,
) -> Result<Inspected, GatewayError> {
    let turns = &exchange.gateway.turns;
    let may_show = |headers: &HeaderMap| {
        turns.meet(headers, exchange.path_ids.as_ref(), exchange.tenant(), exchange.query.as_deref())
    };
    // Without hooks and messages nothing is read: the client's stream passes through.
    let endpoint = match &exchange.endpoint {
        Some(endpoint) if may_show(headers) || !turns.is_idle() => endpoint.clone(),
        _ => return Ok(Inspected::Up(Passage::relayed(RequestBody::stream(body)))),
    };
    let read = exchange.read(headers, body).await?;
    let asked = asked(exchange, endpoint, headers, &read);
    let prepared = exchange.gateway.turns.clone().prepare(asked).await?;
    let ReadBody { sent, plain, share } = read;
    let share = Arc::new(share);
    let whole = |rope: Rope| RequestBody::rope(rope).holding(share.clone());
    let pass = |headers: &mut HeaderMap, changed: Option<Rope>, upward: Upward, session, follow: Option<Following>| {
        let model = upward.model.clone();
        upward.apply(headers);
        if changed.is_some() {
            headers.remove(CONTENT_ENCODING);
        }
        let again = follow.as_ref().is_some_and(Following::is_gated).then(|| {
            headers.insert(ACCEPT_ENCODING, IDENTITY);
            let body = changed.clone().unwrap_or_else(|| Rope::from(plain.clone()));
            Kept { body: apart(body), share: share.clone() }
        });
        let body = whole(changed.unwrap_or_else(|| Rope::from(sent.clone())));
        Passage { body, follow, again, session, model }
    };
    Ok(Inspected::Up(match prepared {
        Prepared::Relay => Passage::relayed(whole(Rope::from(sent.clone()))),
        Prepared::Changed { body, upward, session, bound } => {
            pass(headers, body, upward, session, bound.map(Following::Bound))
        }
        Prepared::Send { body, upward, follow } => {
            let session = Some(follow.session().to_owned());
            pass(headers, body, upward, session, Some(Following::Turn(follow)))
        }
        Prepared::Reply { body, content_type, session } => {
            let mut response = Response::new(Body::from(body));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            if let Some(session) = session {
                set_session(response.headers_mut(), &session);
            }
            return Ok(Inspected::Answered(response));
        }
    }))
}

/// A body in memory of its own. A short one is a slice of the connection's read buffer, and would keep all of it for as long
/// as the answer lasts; a long one was gathered apart from it.
fn apart(body: Rope) -> Rope {
    if body.len() <= SHORT { Rope::from(body.to_bytes()) } else { body }
}

/// Tells the client its session.
pub(super) fn set_session(headers: &mut HeaderMap, session: &str) {
    if let Ok(value) = HeaderValue::from_str(session) {
        headers.insert(SESSION_HEADER, value);
    }
}

fn asked(exchange: &Exchange<'_>, endpoint: Endpoint, headers: &HeaderMap, read: &ReadBody) -> Asked {
    Asked {
        endpoint,
        headers: headers.clone().into(),
        tenant: exchange.tenant().cloned(),
        query: exchange.query.clone(),
        path_ids: exchange.path_ids.clone(),
        body: read.plain.clone(),
        upstream: exchange.upstream.name().to_owned(),
        cached: exchange.upstream.is_cached(),
        request_id: exchange.id,
        trace: exchange.trace.clone(),
    }
}

impl From<TurnError> for GatewayError {
    fn from(error: TurnError) -> Self {
        match error {
            TurnError::Body(error) => Self::InvalidBody(error.to_string()),
            TurnError::Session(error) => Self::InvalidSession(error.to_string()),
            TurnError::ThreadUnsupported => Self::ThreadUnsupported,
            TurnError::NoStore => Self::NoStore,
            TurnError::Blocked(reason) => Self::Blocked(reason),
            TurnError::Lost(error) => Self::Internal(error.to_string()),
        }
    }
}
