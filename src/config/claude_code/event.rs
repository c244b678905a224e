//! Claude Code's events, and which of them there are behind a gateway.
use crate::config::EventKind;
use std::time::Duration;

/// An event of Claude Code that a gateway can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClaudeEvent {
    /// A session of the main agent begins, resumes or was compacted.
    SessionStart,
    /// A new prompt of the user.
    UserPromptSubmit,
    /// A tool call, before it is made.
    PreToolUse,
    /// The result of a call that worked.
    PostToolUse,
    /// The result of a call that did not.
    PostToolUseFailure,
    /// All results of one step of calls, before the model gets them.
    PostToolBatch,
    /// The main agent wants to end its turn.
    Stop,
    /// A sub-agent begins.
    SubagentStart,
    /// A sub-agent wants to end.
    SubagentStop,
    /// A turn ended with an error.
    StopFailure,
    /// A session is over.
    SessionEnd,
}

/// Events that Claude Code knows and no wire shows.
pub(super) const NEVER: [&str; 20] = [
    "Notification",
    "PermissionRequest",
    "PermissionDenied",
    "InstructionsLoaded",
    "UserPromptExpansion",
    "MessageDisplay",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "Elicitation",
    "ElicitationResult",
    "TaskCreated",
    "TaskCompleted",
    "TeammateIdle",
    "Setup",
    "PreCompact",
    "PostCompact",
];

/// How long a handler may take that says nothing: Claude Code's own defaults.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// The same before a prompt goes on.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// All handlers of `SessionEnd` together.
const END_TIMEOUT: Duration = Duration::from_millis(1500);

impl ClaudeEvent {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PostToolBatch,
        Self::Stop,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::StopFailure,
        Self::SessionEnd,
    ];

    /// As Claude Code writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PostToolBatch => "PostToolBatch",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::StopFailure => "StopFailure",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// The event of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// The gateway's event that it is part of.
    #[must_use]
    pub const fn kind(self) -> EventKind {
        match self {
            Self::SessionStart | Self::SubagentStart => EventKind::SessionStart,
            Self::UserPromptSubmit => EventKind::PromptSubmit,
            Self::PreToolUse => EventKind::ToolCall,
            Self::PostToolUse | Self::PostToolUseFailure | Self::PostToolBatch => EventKind::ToolResult,
            Self::Stop | Self::SubagentStop => EventKind::SessionStopping,
            Self::StopFailure => EventKind::SessionFail,
            Self::SessionEnd => EventKind::SessionEnd,
        }
    }

    /// Whether it is about one tool: only there `if` has something to look at.
    #[must_use]
    pub const fn is_tool(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse | Self::PostToolUseFailure)
    }

    /// Whether its groups have a matcher; on the others one is ignored.
    #[must_use]
    pub const fn has_matcher(self) -> bool {
        !matches!(self, Self::UserPromptSubmit | Self::PostToolBatch | Self::Stop)
    }

    /// How long a handler may take that says nothing.
    #[must_use]
    pub const fn default_timeout(self) -> Duration {
        match self {
            Self::UserPromptSubmit => PROMPT_TIMEOUT,
            Self::SessionEnd => END_TIMEOUT,
            _ => DEFAULT_TIMEOUT,
        }
    }
}
