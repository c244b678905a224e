//! `hookgate demo`: a conversation through hooks, with a provider that only plays its part.
//!
//! ```text
//! conversation (a client) ─► a gateway with the hooks of `hooks/` ─► provider (scripted)
//! ```
mod conversation;
mod house;
mod provider;
mod script;
mod show;
mod transcript;
mod wire;

use self::conversation::Conversation;
use super::{CliError, print};
use crate::app::AppError;
use crate::config::Problems;
use crate::dialect::{DialectId, ViewError};
use crate::json::ScanError;
use crate::session::SessionError;
use crate::telemetry::logs;
use clap::{Args, ValueEnum};
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

/// What a demo is not about stays unsaid; a hook that fails does not.
const LOG_LEVEL: &str = "warn";

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate demo --dialect responses")]
pub(super) struct Demo {
    /// What the client speaks
    #[arg(long, value_enum, default_value = "anthropic")]
    dialect: Spoken,
    /// Where hooks' text goes
    #[arg(long, value_enum, default_value = "auto")]
    layout: Placed,
    /// Print what was seen as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Spoken {
    /// Anthropic Messages
    Anthropic,
    /// OpenAI Chat Completions
    Chat,
    /// OpenAI Responses
    Responses,
    /// Gemini
    Gemini,
    /// One conversation in each
    All,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Placed {
    Auto,
    System,
    Stable,
}

/// Why the demo can't be shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum DemoError {
    /// The demo's own configuration.
    #[error(transparent)]
    Config(#[from] Problems),
    /// The gateway.
    #[error(transparent)]
    App(#[from] AppError),
    /// What was stored can't be read.
    #[error(transparent)]
    Sessions(#[from] SessionError),
    /// The folder with the hooks, the provider's port.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The gateway can't be asked.
    #[error("the gateway can't be asked: {0}")]
    Http(#[from] reqwest::Error),
    /// The gateway, or the provider behind it, said no.
    #[error("the gateway answered {status}: {body}")]
    Status {
        /// The status.
        status: http::StatusCode,
        /// The words.
        body: String,
    },
    /// A hook said something that is no JSON, or what was seen can't be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A body that was seen is no JSON object.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A body that was seen is none of its dialect.
    #[error(transparent)]
    View(#[from] ViewError),
}

impl Demo {
    pub(super) fn run(self, format: logs::Format) -> Result<ExitCode, CliError> {
        logs::init(format, LOG_LEVEL)?;
        let runtime = tokio::runtime::Runtime::new()?;
        let mut seen = Vec::new();
        for dialect in self.dialect.dialects() {
            let conversation = runtime.block_on(Conversation::hold(*dialect, self.layout.name()))?;
            if self.json {
                seen.push(conversation.json()?);
            } else {
                print(show::text(&conversation, is_colourful())?)?;
            }
        }
        if self.json {
            print(format_args!("{:#}", serde_json::Value::from(seen)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Spoken {
    fn dialects(self) -> &'static [DialectId] {
        match self {
            Self::Anthropic => &[DialectId::Anthropic],
            Self::Chat => &[DialectId::Chat],
            Self::Responses => &[DialectId::Responses],
            Self::Gemini => &[DialectId::Gemini],
            Self::All => &DialectId::ALL,
        }
    }
}

impl Placed {
    const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::System => "system",
            Self::Stable => "stable",
        }
    }
}

/// On a terminal, unless its user wants none (no-color.org).
fn is_colourful() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
