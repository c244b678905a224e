//! The configuration after checking: every default filled in, every path absolute, every expression compiled by its owner
//! at start. Fields are named like the keys of config/hookgate.yaml.
mod hooks;
mod sessions;
mod upstreams;

pub use hooks::*;
pub use sessions::*;
pub use upstreams::*;

use crate::config::keys::Keys;
use crate::config::listeners::{Listen, Tls, Trust};
use crate::config::redis_url::RedisUrl;
use crate::config::terms::Terms;
use crate::telemetry::{audit, traces};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where agents connect.
    pub listen: Listen,
    /// What shows them whom they reached; `None`: plain HTTP.
    pub tls: Option<Tls>,
    /// Whose word counts for who a client is.
    pub trust: Trust,
    /// The admin listener.
    pub admin: Admin,
    /// Where requests go, in order.
    pub upstreams: Vec<Upstream>,
    /// Who may come in.
    pub keys: Keys,
    /// `models.aliases`: requested to resolved name.
    pub aliases: BTreeMap<String, String>,
    /// Whose request it is.
    pub sessions: Sessions,
    /// Where state lives.
    pub store: Store,
    /// Budgets and deadlines of a turn.
    pub lifecycle: Lifecycle,
    /// How text is placed.
    pub injection: Injection,
    /// Bounds.
    pub limits: Limits,
    /// Turns that hooks extend.
    pub continuation: Continuation,
    /// Rules about tools.
    pub policies: Policies,
    /// What was learned, and who approves it.
    pub knowledge: Knowledge,
    /// Messages into running sessions.
    pub bus: Bus,
    /// What else is told of requests.
    pub telemetry: Telemetry,
    /// Where decisions are written; `None`: nowhere.
    pub audit: Option<audit::Settings>,
    /// What is kept of requests.
    pub inspect: Inspect,
    /// The pipeline, in order.
    pub hooks: Vec<Hook>,
    /// Client profiles from the config, tried before the built-in ones: YAML texts in the format of `session/profiles/`.
    pub profiles: Vec<String>,
    /// How it came to be taken.
    pub terms: Terms,
}

/// A value that never prints.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// `inspect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inspect {
    /// The last requests of each session; 0 keeps none.
    pub requests_per_session: usize,
    /// Whether bodies are kept.
    pub bodies: bool,
}

impl Inspect {
    /// Most requests of one session. All of them are bounded in memory besides.
    pub const MAX_REQUESTS: usize = 10_000;
    /// Nothing is kept.
    pub const NONE: Self = Self { requests_per_session: 0, bodies: false };
}

/// `admin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The bearer token; `None`: made at start and kept in `STORE_PATH/admin.token`.
    pub token: Option<Secret>,
}

/// `store`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Store {
    /// sled in this folder.
    Sled {
        /// The folder.
        path: PathBuf,
    },
    /// Nothing survives.
    Memory,
    /// Redis or Valkey: several gateways may share it.
    Redis {
        /// Where.
        url: RedisUrl,
        /// What becomes of requests while it can't be reached.
        on_error: OnStoreError,
    },
}

/// `store.on_store_error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnStoreError {
    /// They go up with what this gateway remembers.
    Pass,
    /// Those that need a session are answered with 503.
    Refuse,
}

/// `lifecycle`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifecycle {
    /// Hooks' text newly placed in one turn, in Unicode scalar values.
    pub max_injected_context_chars: usize,
    /// All hooks before a request goes up, together.
    pub request_deadline: Duration,
    /// Model-facing requests of one turn beyond which no hook extends it; 0: no limit.
    pub max_requests_per_turn: u32,
}

/// `continuation`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuation {
    /// How often the hooks of `session.stopping` may extend one turn; 0: never.
    pub max_per_turn: u32,
}

/// `telemetry`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Telemetry {
    /// Whether answers say how long the gateway itself took.
    pub overhead_header: bool,
    /// Where spans go; `None`: there are none.
    pub otlp: Option<traces::Settings>,
}

/// `bus`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bus {
    /// The spool, where there is one.
    pub maildir: Option<PathBuf>,
}

/// `policies`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policies {
    /// What becomes of a request with tools that can't be seen, where a rule about tools applies.
    pub on_opaque: OnOpaque,
}

/// `policies.on_opaque`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnOpaque {
    /// It goes up; the rule holds for the names that it says.
    Pass,
    /// It is answered like a blocked prompt.
    Block,
}

/// `knowledge`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knowledge {
    /// Where approved entries are kept as files; `None`: in the store.
    pub dir: Option<PathBuf>,
    /// What approving, rejecting and editing take; `None`: the admin token.
    pub approve_token: Option<Secret>,
    /// Approved entries at the start of a session, in Unicode scalar values.
    pub max_context_chars: usize,
}

/// `injection.layout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Decided per conversation.
    Auto,
    /// System prompt rebuilt for every turn.
    System,
    /// Append-only.
    Stable,
}

/// `injection.retain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retain {
    /// Decided per request.
    Auto,
    /// Ephemeral text goes with its turn.
    Turn,
    /// Ephemeral text stays.
    History,
}

/// `injection`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// Where text goes.
    pub layout: Layout,
    /// What becomes of ephemeral text.
    pub retain: Retain,
    /// Whether each text stands in an attributed wrapper.
    pub wrap: bool,
}

/// `limits`; sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// One request body, as sent and decoded.
    pub request_body: usize,
    /// All bodies in memory at once.
    pub buffered_bytes: usize,
    /// What a hook may write.
    pub hook_output: usize,
    /// What a rule may hold of a response.
    pub held_response: usize,
    /// One text of a hook's answer.
    pub outcome_text: usize,
    /// Requests at once.
    pub concurrent_requests: usize,
    /// One request's line and headers.
    pub request_head: usize,
    /// How long the head of a connection's first request may take, once it has begun.
    pub head_timeout: Duration,
    /// Without a byte of a body that is waited for.
    pub body_timeout: Duration,
}
