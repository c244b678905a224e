//! The configuration after checking: every default filled in, every path absolute, every expression compiled by its owner
//! at start. Fields are named like the keys of config/hookgate.yaml.
use super::claude_code::ClaudeCode;
use super::keys::Keys;
use super::listeners::{Listen, Tls, Trust};
use super::redis_url::RedisUrl;
use super::terms::Terms;
use crate::context::Edit;
use crate::context::edit::Globs;
use crate::dialect::DialectId;
use crate::telemetry::{audit, traces};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
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

/// The lifecycle events of a request's life (README, What a hook gets and says).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// `session.start`
    SessionStart,
    /// `prompt.submit`
    PromptSubmit,
    /// `model.context`
    ModelContext,
    /// `tool.result`
    ToolResult,
    /// `tool.call`
    ToolCall,
    /// `session.stopping`
    SessionStopping,
    /// `session.stop`
    SessionStop,
    /// `session.fail`
    SessionFail,
    /// `session.end`
    SessionEnd,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::SessionStart,
        Self::PromptSubmit,
        Self::ModelContext,
        Self::ToolResult,
        Self::ToolCall,
        Self::SessionStopping,
        Self::SessionStop,
        Self::SessionFail,
        Self::SessionEnd,
    ];

    /// The name in configs, payloads and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session.start",
            Self::PromptSubmit => "prompt.submit",
            Self::ModelContext => "model.context",
            Self::ToolResult => "tool.result",
            Self::ToolCall => "tool.call",
            Self::SessionStopping => "session.stopping",
            Self::SessionStop => "session.stop",
            Self::SessionFail => "session.fail",
            Self::SessionEnd => "session.end",
        }
    }
}

/// `on_error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The request goes on without it.
    Skip,
    /// The prompt is blocked.
    Block,
}

/// `mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It counts.
    Enforce,
    /// It runs, is recorded, changes nothing.
    Audit,
}

/// One of `hooks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Unique.
    pub name: String,
    /// When it runs.
    pub on: Vec<EventKind>,
    /// What it does.
    pub run: Run,
    /// The persistent slot that it owns.
    pub slot: String,
    /// CEL; `None` is always.
    pub when: Option<String>,
    /// How long it may take; `None`: the event's default.
    pub timeout: Option<Duration>,
    /// What a failure does.
    pub on_error: OnError,
    /// Whether its answer counts.
    pub mode: Mode,
    /// `include: [request]`.
    pub include_request: bool,
}

/// What `model.family` may be (README, What a hook gets and says): the maker's line of a model.
pub const FAMILIES: [&str; 9] = ["claude", "gpt", "gemini", "qwen", "llama", "mistral", "deepseek", "grok", "other"];

/// `run.model_context`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelContext {
    /// In the order in which they are written.
    pub families: Vec<Family>,
    /// For every other model.
    pub default: Option<Family>,
    /// The tools that edit files: those of them that are not the model's are taken out.
    pub edit_tools: Globs,
    /// Where the system prompts go.
    pub place: SystemPlace,
}

/// Models of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Its name; without `matching` it is a [`FAMILIES`] name that tells which models are meant.
    pub name: String,
    /// Names of models, requested or resolved.
    pub matching: Option<Globs>,
    /// What the model is told.
    pub system: Option<SystemText>,
    /// The edit tools that it works with.
    pub tools: Globs,
}

/// A system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemText {
    /// As it stands.
    Text(String),
    /// A file, read at every run.
    File(PathBuf),
}

/// On which side of the agent's own instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemPlace {
    /// Behind them.
    Append,
    /// Ahead of them.
    Prepend,
}

/// `run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// A constant.
    Text(String),
    /// Changes of the request.
    Edits(Arc<[Edit]>),
    /// A file, read at every run.
    File(PathBuf),
    /// A process.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// Working directory.
        cwd: PathBuf,
        /// Its own variables.
        env: BTreeMap<String, String>,
        /// Names passed on from the gateway's environment.
        env_pass: Vec<String>,
    },
    /// Processes that stay running.
    Worker {
        /// Program and arguments.
        argv: Vec<String>,
        /// Working directory.
        cwd: PathBuf,
        /// Their own variables.
        env: BTreeMap<String, String>,
        /// Names passed on from the gateway's environment.
        env_pass: Vec<String>,
        /// How many.
        workers: usize,
    },
    /// What each model is told and which tools it edits files with.
    ModelContext(Arc<ModelContext>),
    /// Hook scripts written for Claude Code.
    ClaudeCode(Box<ClaudeCode>),
    /// Approved knowledge that matches the prompt.
    Knowledge {
        /// How many entries at most.
        max_entries: usize,
    },
    /// A POST.
    Http {
        /// Where.
        url: http::Uri,
        /// With.
        headers: Vec<(http::HeaderName, Secret)>,
    },
}
