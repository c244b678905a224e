//! Settings files of Claude Code, as far as their hooks go: read once at load, with the place of whatever is wrong, and
//! ready to be asked which handlers an event has.
//!
//! The format is Claude Code's, unchanged: `{"hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command":
//! "..."}]}]}}`. What can't happen behind a gateway is named once, and is no error: the same file serves the agent itself.

mod event;
mod matcher;
mod parse;
mod place;
mod rule;

pub use event::ClaudeEvent;
pub use matcher::Matcher;
pub(super) use parse::Settings;
pub use rule::Rule;

use super::resolved::{EventKind, Secret};
use http::HeaderName;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// `run.claude_code`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaudeCode {
    /// The files, as written and made absolute.
    pub settings: Vec<PathBuf>,
    /// What they say together.
    pub groups: Vec<Group>,
    /// `${CLAUDE_PROJECT_DIR}`.
    pub project_dir: PathBuf,
    /// Where handlers run, and what they are told to be the agent's folder.
    pub cwd: PathBuf,
    /// What a sub-agent is called: the wire does not tell.
    pub agent_type: String,
    /// What becomes of a tool call that a handler wants somebody to be asked about.
    pub on_ask: OnAsk,
    /// The handlers' own variables.
    pub env: BTreeMap<String, String>,
    /// Names passed on from the gateway's environment.
    pub env_pass: Vec<String>,
    /// Where transcripts are kept; `None`: in a temporary folder, for as long as the process lives.
    pub transcripts: Option<PathBuf>,
    /// Age after which one is deleted.
    pub retain: Duration,
}

impl ClaudeCode {
    /// The gateway's events that some handler is there for, narrowed to `named` where that names any.
    pub(super) fn events(&self, named: &[EventKind]) -> Vec<EventKind> {
        let wanted = |kind: &EventKind| named.is_empty() || named.contains(kind);
        let has = |kind: &EventKind| self.groups.iter().any(|group| group.event.kind() == *kind);
        EventKind::ALL.into_iter().filter(wanted).filter(has).collect()
    }
}

/// What `ask` and `defer` mean where nobody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnAsk {
    /// The call is made; the agent may ask by itself.
    Allow,
    /// The call is not made.
    Deny,
}

/// Handlers that share an event and a matcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// When.
    pub event: ClaudeEvent,
    /// For which tools, sources, agents or errors.
    pub matcher: Matcher,
    /// What runs.
    pub handlers: Vec<Handler>,
}

/// One thing to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// What.
    pub action: Action,
    /// How long it may take; `None`: the event's default.
    pub timeout: Option<Duration>,
    /// For which calls of the tool.
    pub rule: Option<Rule>,
    /// Nobody waits for it, and what it says does not count.
    pub background: bool,
}

/// What a handler does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A line for a shell.
    Shell {
        /// The shell, with the option in front of the line.
        shell: &'static [&'static str],
        /// The line.
        line: String,
    },
    /// A program.
    Program {
        /// It.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// A POST.
    Http {
        /// Where.
        url: http::Uri,
        /// With; values may name variables.
        headers: Vec<(HeaderName, Secret)>,
        /// The variables that they may name.
        allowed: Vec<String>,
    },
}

impl Action {
    /// How the log names it: no header, no query, and not more of a line than tells it from others.
    #[must_use]
    pub fn shown(&self) -> String {
        /// Longest shown line, in characters.
        const SHOWN: usize = 120;
        let text = match self {
            Self::Shell { line, .. } => line.clone(),
            Self::Program { program, arguments } => std::iter::once(program.as_str())
                .chain(arguments.iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join(" "),
            Self::Http { url, .. } => {
                let text = url.to_string();
                text.split_once('?').map_or(text.clone(), |(path, _)| path.to_owned())
            }
        };
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
            None => text,
        }
    }
}

#[cfg(test)]
mod tests;
