//! `hooks`: when they run and what they do.
use super::Secret;
use crate::config::claude_code::ClaudeCode;
use crate::context::Edit;
use crate::context::edit::Globs;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
