//! What is known of an upstream that failed behind the first leg of an answer, so that the client reads it as if the failure
//! had been the answer.
use super::leg_request::LegBody;
use crate::dialect::ErrorWords;
use crate::upstream::UpstreamError;
use http::header::RETRY_AFTER;
use http::response::Parts;
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use std::fmt;
use std::time::Duration;

/// Most of a failed answer's body that is read, in bytes: errors are short.
const MAX_BODY: usize = 64 * 1024;

/// How long a failed answer's body is waited for.
const BODY_TIMEOUT: Duration = Duration::from_secs(2);

/// Why there is no further leg, or only half of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The upstream's status; 502 or 504 where it gave none.
    pub status: StatusCode,
    /// Whether the status is the upstream's own.
    pub is_answer: bool,
    /// How it says it.
    pub words: ErrorWords,
    /// When it wants to be asked again.
    pub retry_after: Option<HeaderValue>,
}

impl Failure {
    /// Of an error answer with this head.
    pub async fn answered(head: &Parts, body: LegBody) -> Self {
        let read = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await;
        let body = read.ok().and_then(Result::ok).map(|body| body.to_bytes()).unwrap_or_default();
        Self {
            status: head.status,
            is_answer: true,
            words: ErrorWords::of(&body),
            retry_after: head.headers.get(RETRY_AFTER).cloned(),
        }
    }

    /// In the middle of an answer, by an event or a body with this data.
    pub fn said(data: &[u8]) -> Self {
        Self { words: ErrorWords::of(data), ..Self::unknown() }
    }

    /// Nobody said why.
    pub fn unknown() -> Self {
        let status = StatusCode::BAD_GATEWAY;
        Self { status, is_answer: false, words: ErrorWords::default(), retry_after: None }
    }

    /// The answer can't be joined to the one before.
    pub fn unusable(why: &str) -> Self {
        let words = ErrorWords { message: Some(why.to_owned()), ..ErrorWords::default() };
        Self { words, ..Self::unknown() }
    }

    /// What the client reads.
    pub fn message(&self) -> String {
        self.words.message.clone().unwrap_or_else(|| UpstreamError::Failed.to_string())
    }
}

impl From<&UpstreamError> for Failure {
    /// Whatever a library says of it is not the client's business.
    fn from(error: &UpstreamError) -> Self {
        match error {
            UpstreamError::Idle { .. } => {
                Self { status: StatusCode::GATEWAY_TIMEOUT, ..Self::unusable(&error.to_string()) }
            }
            _ => Self::unusable("the upstream can't be reached"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status.as_u16())?;
        let words = [&self.words.kind, &self.words.code, &self.words.message];
        words.into_iter().flatten().try_for_each(|word| write!(f, ", {word}"))
    }
}
