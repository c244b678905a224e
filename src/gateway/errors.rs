//! The one place where an error becomes an answer: status, code, and a body that the client's SDK parses.
//!
//! Codes are those of CONTRACT section 5. The client reads [`GatewayError::message`]; details of the upstream's side
//! (addresses, causes) go to the log only.
use super::admission;
use super::allowance::{Limited, whole_secs};
use super::client_body::TooLarge;
use super::failure::Failure;
use super::pace::TooSlow;
use super::read::ReadError;
use super::request_id::RequestId;
use super::router::RouteError;
use super::tap::Cut;
use crate::context::view::AnswerForm;
use crate::dialect::{self, DialectId, WireError};
use crate::telemetry::names;
use crate::upstream::UpstreamError;
use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, UPGRADE, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Names the error to programs.
pub const ERROR_HEADER: HeaderName = HeaderName::from_static("x-hookgate-error");
/// Understood by the Anthropic and OpenAI SDKs in place of their own rule for the status.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// `retry-after` in milliseconds.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// How long a client that came at a bad time stays away: long enough to be no burden, short enough not to be noticed in the
/// minutes that an agent's turn takes.
const OVERLOADED_FOR: Duration = Duration::from_secs(1);

/// Why the gateway answers itself.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// No upstream, or a path that is refused.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The request's body.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The body is not what its endpoint takes; the text says why.
    #[error("{0}")]
    InvalidBody(String),
    /// An Anthropic thread that can't be continued here. The client sends the whole conversation instead.
    #[error("this thread can't be continued here; send the full conversation without `thread`")]
    ThreadUnsupported,
    /// The session id can't be used; the text says which and why.
    #[error("{0}")]
    InvalidSession(String),
    /// A defect of the gateway's own; the text is for the log.
    #[error("{0}")]
    Internal(String),
    /// A hook refused a body of a batch; the text is its reason.
    #[error("{0}")]
    Blocked(String),
    /// An answer that could not be held to the tools that it may call.
    #[error("the answer could not be held to the tools that it may call")]
    Withheld,
    /// A WebSocket was asked for.
    #[error("no WebSocket here: use plain requests")]
    NoWebsocket,
    /// Line and headers are longer than `limits.request_head`, in bytes.
    #[error("the head of the request is larger than {0} bytes (limits.request_head)")]
    HeadTooLarge(usize),
    /// No key of a client, where the gateway asks for one; the text says what is wrong with it.
    #[error("{0}")]
    Unauthorized(&'static str),
    /// A tenant has used what it may use.
    #[error(transparent)]
    Limited(#[from] Limited),
    /// As many requests as `limits.concurrent_requests` are in flight.
    #[error("too many requests in flight")]
    Overloaded,
    /// The store is away, and `store.on_store_error` refuses what needs a session.
    #[error("the store of sessions can't be reached")]
    NoStore,
    /// The upstream.
    #[error(transparent)]
    Upstream(UpstreamError),
    /// The upstream, behind the first leg of an answer.
    #[error("the upstream failed behind a part of its answer: {0}")]
    Failed(Arc<Failure>),
}

impl From<UpstreamError> for GatewayError {
    /// A body that grew beyond the limit, or that came too slowly, while it was passed on is the client's fault, wherever it came to light.
    fn from(error: UpstreamError) -> Self {
        if let Some(too_large) = cause::<TooLarge>(&error) {
            return Self::Read(ReadError::TooLarge(*too_large));
        }
        match cause::<TooSlow>(&error) {
            Some(slow) => Self::Read(ReadError::TooSlow(*slow)),
            None => Self::Upstream(error),
        }
    }
}

impl GatewayError {
    /// Of an answer that broke off; `idle_timeout`: how long its upstream may be silent.
    pub fn cut(why: Cut, idle_timeout: Duration) -> Self {
        match why {
            Cut::Idle => Self::Upstream(UpstreamError::Idle { seconds: idle_timeout.as_secs() }),
            Cut::Broken | Cut::Unfinished => {
                Self::Upstream(UpstreamError::Closed("in the middle of its answer".into()))
            }
            Cut::Failed(failure) => Self::Failed(failure),
            Cut::Withheld => Self::Withheld,
        }
    }
}

fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    error.downcast_ref().or_else(|| cause(error.source()?))
}

/// How the client wants its errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// In whose words.
    pub dialect: DialectId,
    /// As what.
    pub form: AnswerForm,
}

impl Shape {
    /// OpenAI's: understood by most clients, for paths that are nobody's.
    pub const UNKNOWN: Self = Self { dialect: DialectId::Chat, form: AnswerForm::Json };
}

/// Status and code, and whether the same request could be answered later.
struct Verdict {
    status: StatusCode,
    code: &'static str,
    retry: bool,
}

impl GatewayError {
    fn verdict(&self) -> Verdict {
        let (status, code) = match self {
            Self::Route(RouteError::InvalidPath) => (StatusCode::BAD_REQUEST, "invalid_path"),
            Self::Route(RouteError::NoRoute) => (StatusCode::NOT_FOUND, "no_route"),
            Self::InvalidSession(_) => (StatusCode::BAD_REQUEST, "invalid_session"),
            Self::InvalidBody(_) => (StatusCode::BAD_REQUEST, "invalid_body"),
            Self::ThreadUnsupported => (StatusCode::BAD_REQUEST, "thread_unsupported_request"),
            Self::Blocked(_) => (StatusCode::BAD_REQUEST, "blocked"),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
            Self::Withheld => (StatusCode::BAD_GATEWAY, "withheld"),
            Self::NoWebsocket => (StatusCode::UPGRADE_REQUIRED, "no_websocket"),
            Self::Read(ReadError::TooLarge(_)) => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::Read(ReadError::TooSlow(_)) => (StatusCode::REQUEST_TIMEOUT, "body_timeout"),
            Self::HeadTooLarge(_) => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head_too_large"),
            Self::Read(ReadError::Encoding(_)) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding"),
            Self::Read(ReadError::Invalid(_) | ReadError::Incomplete(_)) => (StatusCode::BAD_REQUEST, "invalid_body"),
            Self::Unauthorized(_) => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::Limited(_) => (StatusCode::TOO_MANY_REQUESTS, "limited"),
            Self::Read(ReadError::OverBudget) | Self::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "overloaded"),
            Self::NoStore => (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable"),
            Self::Upstream(UpstreamError::Idle { .. }) => (StatusCode::GATEWAY_TIMEOUT, "upstream_idle"),
            Self::Upstream(UpstreamError::ClientBody(_)) => (StatusCode::BAD_REQUEST, "invalid_body"),
            Self::Upstream(UpstreamError::Target(_)) => (StatusCode::BAD_REQUEST, "invalid_path"),
            Self::Failed(failure) => (failure.status, "upstream_unreachable"),
            Self::Upstream(_) => (StatusCode::BAD_GATEWAY, "upstream_unreachable"),
        };
        Verdict { status, code, retry: is_for_later(status) }
    }

    /// What the client reads. An upstream's address or a library's words are not the client's business.
    fn message(&self) -> String {
        match self {
            Self::Upstream(UpstreamError::Unreachable(_)) => "the upstream can't be reached".into(),
            Self::Upstream(UpstreamError::Closed(_)) => {
                "the upstream closed the connection before its answer was whole".into()
            }
            Self::Upstream(UpstreamError::Config(_)) => "the upstream is configured wrongly".into(),
            Self::Failed(failure) => failure.message(),
            Self::Internal(_) => "the gateway failed; the request was not sent".into(),
            other => other.to_string(),
        }
    }

    /// For a dialect to give it a shape.
    pub fn wire(&self, id: &RequestId) -> WireError {
        let Verdict { status, code, .. } = self.verdict();
        let said = match self {
            Self::Failed(failure) => Some(failure.words.clone()),
            _ => None,
        };
        WireError { status: status.as_u16(), code, message: self.message(), request_id: id.to_string(), said }
    }

    /// When a refused client should come again.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limited(limited) => Some(limited.after),
            Self::Read(ReadError::OverBudget) | Self::Overloaded | Self::NoStore => Some(OVERLOADED_FOR),
            _ => None,
        }
    }

    /// The answer. Logged and counted here, once.
    pub fn into_response(self, shape: Shape, id: &RequestId) -> Response {
        let Verdict { status, code, retry } = self.verdict();
        if matches!(self, Self::Overloaded | Self::Read(ReadError::OverBudget)) {
            // Under load there are thousands a second, and the metric counts them.
            if admission::is_news() {
                tracing::warn!(request_id = %id, error = %self, "overloaded: requests are answered with 503");
            }
        } else if status.is_server_error() {
            tracing::warn!(request_id = %id, code, error = %self, "request failed");
        } else {
            tracing::info!(request_id = %id, code, error = %self, "request refused");
        }
        metrics::counter!(names::ERRORS, "code" => code).increment(1);
        let body = dialect::of(shape.dialect).error(&self.wire(id), shape.form);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match &self {
            Self::Failed(failure) if failure.is_answer => {
                response.headers_mut().extend(failure.retry_after.clone().map(|after| (RETRY_AFTER, after)));
            }
            _ => set_headers(response.headers_mut(), code, retry),
        }
        if let Some(after) = self.retry_after() {
            set_retry_after(response.headers_mut(), after);
        }
        if status == StatusCode::UNAUTHORIZED {
            // RFC 9110 section 15.5.2 wants to hear how a client would get in.
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::UPGRADE_REQUIRED {
            // RFC 9110 section 15.5.22 wants the protocol to use instead.
            response.headers_mut().insert(UPGRADE, HeaderValue::from_static("HTTP/1.1"));
        }
        response
    }
}

/// Whether the same request may be answered another time.
fn is_for_later(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
}

/// In whole seconds as HTTP has it, and in milliseconds, which the Anthropic and OpenAI SDKs look for first.
fn set_retry_after(headers: &mut HeaderMap, after: Duration) {
    headers.insert(RETRY_AFTER, HeaderValue::from(whole_secs(after)));
    let millis = u64::try_from(after.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    headers.insert(RETRY_AFTER_MS, HeaderValue::from(millis));
}

fn set_headers(headers: &mut HeaderMap, code: &'static str, retry: bool) {
    headers.insert(ERROR_HEADER, HeaderValue::from_static(code));
    if !retry {
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_status_its_code_and_says_whether_to_retry() {
        let table = [
            (GatewayError::from(RouteError::InvalidPath), 400, "invalid_path", false),
            (RouteError::NoRoute.into(), 404, "no_route", false),
            (ReadError::Invalid("gzip".into()).into(), 400, "invalid_body", false),
            (GatewayError::InvalidSession("x".into()), 400, "invalid_session", false),
            (ReadError::TooLarge(TooLarge { limit: 1 }).into(), 413, "body_too_large", false),
            (ReadError::from(TooSlow).into(), 408, "body_timeout", true),
            (GatewayError::HeadTooLarge(1), 431, "head_too_large", false),
            (ReadError::Encoding("x".into()).into(), 415, "unsupported_encoding", false),
            (GatewayError::Unauthorized("x"), 401, "unauthorized", false),
            (Limited { limit: 1, what: "x", after: Duration::from_millis(1200) }.into(), 429, "limited", true),
            (GatewayError::NoWebsocket, 426, "no_websocket", false),
            (UpstreamError::Unreachable("10.0.0.1:1".into()).into(), 502, "upstream_unreachable", true),
            (UpstreamError::Closed("x".into()).into(), 502, "upstream_unreachable", true),
            (GatewayError::Overloaded, 503, "overloaded", true),
            (ReadError::OverBudget.into(), 503, "overloaded", true),
            (GatewayError::NoStore, 503, "store_unavailable", true),
            (UpstreamError::Idle { seconds: 600 }.into(), 504, "upstream_idle", true),
        ];
        let id = RequestId::for_tests();
        for (error, status, code, retry) in table {
            let wire = error.wire(&id);
            assert_eq!((wire.status, wire.code), (status, code));
            assert!(!wire.message.contains("10.0.0.1"));
            let response = error.into_response(Shape::UNKNOWN, &id);
            assert_eq!(response.status(), status);
            assert_eq!(response.headers().get(ERROR_HEADER).unwrap(), code);
            assert_eq!(response.headers().get(CONTENT_TYPE).unwrap(), "application/json");
            assert_eq!(response.headers().contains_key(SHOULD_RETRY), !retry, "{code}");
            let says_when = matches!(status, 429 | 503);
            assert_eq!(response.headers().contains_key(RETRY_AFTER), says_when, "{code}");
        }
    }
}
