//! `upstreams`: where requests go.
use super::Secret;
use crate::dialect::DialectId;
use std::time::Duration;

/// The family of wire formats that an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions and Responses.
    OpenAi,
    /// Gemini.
    Gemini,
}

impl Provider {
    /// Whether a body of this dialect belongs to this provider.
    pub const fn speaks(self, dialect: DialectId) -> bool {
        matches!(
            (self, dialect),
            (Self::Anthropic, DialectId::Anthropic)
                | (Self::OpenAi, DialectId::Chat | DialectId::Responses)
                | (Self::Gemini, DialectId::Gemini)
        )
    }
}

/// One of `upstreams`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name: also the prefix `/NAME`.
    pub name: String,
    /// What it speaks.
    pub provider: Provider,
    /// Scheme, authority and an optional path that is put before every request path; no trailing slash.
    pub base_url: http::Uri,
    /// A path prefix of its own, without trailing slash, stripped on the way up.
    pub prefix: Option<String>,
    /// Headers set on the way up.
    pub headers: Vec<(http::HeaderName, Secret)>,
    /// Replaces the client's credential.
    pub api_key: Option<Secret>,
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// Without a byte from the upstream.
    pub idle_timeout: Duration,
    /// `cached: false`: the upstream has no prompt cache, so layout auto chooses `system`.
    pub cached: bool,
}
