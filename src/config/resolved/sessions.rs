//! `sessions`: whose request it is.
use std::time::Duration;

/// Where an id is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdSource {
    /// A request header.
    Header(http::HeaderName),
    /// A place in the body: a JSON pointer (RFC 6901), and a regex whose one group is the id.
    Body {
        /// The pointer.
        pointer: String,
        /// The regex; `None` takes the whole string.
        matching: Option<String>,
    },
}

/// `sessions.without_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutId {
    /// The session is found by the history that the request begins with.
    Chain,
    /// No session; only hooks that need none run.
    None,
}

/// `sessions.isolation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// A session belongs to the credential that opened it.
    Credential,
    /// One user.
    None,
}

/// `sessions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sessions {
    /// The session's id, first present wins.
    pub id: Vec<IdSource>,
    /// The agent's id.
    pub agent: Vec<IdSource>,
    /// The parent agent's id.
    pub parent: Vec<IdSource>,
    /// The workspace's name.
    pub project: Vec<IdSource>,
    /// For clients that send no id.
    pub without_id: WithoutId,
    /// Who may reach a session.
    pub isolation: Isolation,
    /// Idle time after which `session.end` fires.
    pub idle_end: Duration,
    /// Age after which an ended record is deleted.
    pub retain: Duration,
    /// CEL expressions that say what is a side request.
    pub side_requests: Vec<String>,
}
