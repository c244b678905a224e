//! What can go wrong on the way up.
use std::error::Error as _;

/// Why there is no (whole) answer.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// No connection: refused, unknown host, TLS, or the connect timeout. The upstream has seen nothing.
    #[error("no connection to the upstream: {0}")]
    Unreachable(String),
    /// The connection was lost before the answer was whole. The upstream may have worked on the request.
    #[error("the upstream closed the connection: {0}")]
    Closed(String),
    /// It said that it failed, in the middle of its answer.
    #[error("the upstream failed in the middle of its answer")]
    Failed,
    /// No byte for the upstream's `idle_timeout`.
    #[error("no byte from the upstream for {seconds} s")]
    Idle {
        /// The timeout.
        seconds: u64,
    },
    /// The client's own body broke off or was refused while it was passed on.
    #[error("the client's body ended early")]
    ClientBody(#[source] hyper_util::client::legacy::Error),
    /// Path or query can't stand in a URI of this upstream.
    #[error("the request target can't be sent: {0}")]
    Target(#[from] http::uri::InvalidUri),
    /// The configured upstream can't be used.
    #[error("upstream: {0}")]
    Config(&'static str),
}

impl UpstreamError {
    /// A word for traces.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Closed(_) => "closed",
            Self::Failed => "failed",
            Self::Idle { .. } => "timeout",
            Self::ClientBody(_) => "client_body",
            Self::Target(_) | Self::Config(_) => "config",
        }
    }
}

impl UpstreamError {
    pub(super) fn from_client(error: hyper_util::client::legacy::Error) -> Self {
        if error.is_connect() {
            return Self::Unreachable(chain(&error));
        }
        let from_body = error
            .source()
            .and_then(|source| source.downcast_ref::<hyper::Error>())
            .is_some_and(|source| source.is_user());
        if from_body { Self::ClientBody(error) } else { Self::Closed(chain(&error)) }
    }

    /// The connection broke while the answer's body was read.
    pub fn from_body(error: &hyper::Error) -> Self {
        Self::Closed(chain(error))
    }
}

/// The error with its causes: hyper's own texts say only where it happened, the cause says what.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
