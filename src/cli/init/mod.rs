//! `hookgate init`: a configuration to begin with.
mod found;
mod text;

use self::found::Found;
use super::run::agents::{self, Agent};
use super::{CliError, print};
use clap::Args;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where `hookgate run` finds it.
const FILE: &str = "hookgate.yaml";

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate init --agent codex")]
pub(super) struct Init {
    /// The agent that it is for, by its program's name; without it the one whose files are here
    #[arg(long, value_name = "NAME", value_parser = agent)]
    agent: Option<&'static Agent>,
    /// Overwrite a configuration that is here
    #[arg(long)]
    force: bool,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(super) enum InitError {
    /// There is one.
    #[error("{FILE} is there already; --force overwrites it")]
    Exists,
    /// The disk, or stdout.
    #[error("{FILE}: {0}")]
    Io(#[from] io::Error),
}

impl Init {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        self.execute()?;
        Ok(ExitCode::SUCCESS)
    }

    fn execute(self) -> Result<(), InitError> {
        let found = Found::look(Path::new("."));
        let agent = found.agent(self.agent);
        write(&PathBuf::from(FILE), &text::configuration(agent, &found), self.force)?;
        for (agent, trace) in &found.agents {
            print(format_args!("found {}: {trace}", agent.name))?;
        }
        for file in found.claude_hooks.iter().chain(&found.codex_hooks) {
            print(format_args!("found hooks: {file}"))?;
        }
        let (name, command) = match agent {
            Some(agent) => (agent.name, agent.program().unwrap_or("COMMAND")),
            None => ("any agent", "COMMAND"),
        };
        print(format_args!("wrote {FILE} for {name}\n\nNext: hookgate trust, then hookgate run -- {command}"))?;
        Ok(())
    }
}

fn write(file: &Path, text: &str, force: bool) -> Result<(), InitError> {
    let mut open = OpenOptions::new();
    let opened = match force {
        true => open.write(true).create(true).truncate(true).open(file),
        false => open.write(true).create_new(true).open(file),
    };
    match opened {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(InitError::Exists),
        opened => Ok(opened?.write_all(text.as_bytes())?),
    }
}

fn agent(name: &str) -> Result<&'static Agent, String> {
    agents::by_name(name).ok_or_else(|| {
        let known: Vec<_> = agents::AGENTS.iter().filter_map(Agent::program).collect();
        format!("write one of {}", known.join(", "))
    })
}
