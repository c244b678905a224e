//! The command line: one file per command. Logs go to stderr, results to stdout.
//!
//! Exit codes: 0 ok, 1 findings or failure, 2 wrong usage.
mod admin_client;
mod check;
mod demo;
mod explain;
mod health;
mod init;
mod keys;
mod mcp;
mod proposals;
mod rehearsal;
mod run;
mod send;
mod serve;
mod sessions;
mod store;
mod table;
mod test;
mod trust;
mod user;
mod watch;

use crate::app::AppError;
use crate::config::Problems;
use crate::telemetry::logs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::Value;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// Wrong usage that clap can't know of.
const WRONG_USAGE: u8 = 2;

#[derive(Debug, Parser)]
#[command(name = "hookgate", version, about, after_help = "Example:\n  hookgate demo")]
struct Cli {
    /// How log lines look
    #[arg(long, global = true, value_enum, default_value = "text")]
    log_format: LogFormat,
    /// What is logged, such as info or hookgate=debug
    #[arg(long, global = true, default_value = "info")]
    log_level: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an agent behind a gateway of its own
    Run(run::Run),
    /// Write a configuration for the agent and the hook scripts that are here
    Init(init::Init),
    /// Trust what the configuration of a working tree would run
    Trust(trust::Trust),
    /// Run the gateway; SIGHUP and changes of the file reload the configuration
    Serve(serve::Serve),
    /// Validate a configuration and print every problem, or print a JSON schema
    Check(check::Check),
    /// Whether a running gateway takes requests: exit code 0 or 1
    Health(health::Health),
    /// Dry run: what the hooks make of a request
    Explain(Box<explain::Explain>),
    /// Policy tests: requests, and what must become of them
    Test(test::Test),
    /// Show a conversation through hooks, without a key and without a network
    Demo(demo::Demo),
    /// See and change the sessions of a running gateway
    Sessions(Box<sessions::Sessions>),
    /// Review what hooks and agents propose to remember
    Proposals(Box<proposals::Proposals>),
    /// Serve an agent over MCP (stdio): other agents, messages, knowledge
    Mcp(Box<mcp::Mcp>),
    /// Make keys for clients, so that agents need no provider's key
    Keys(keys::Keys),
    /// Move the stored state to another store, or look whether it is sound
    Store(Box<store::StoreCommand>),
    /// Send a message into a running session
    Send(Box<send::Send>),
}

/// `--config`, the same for every command.
#[derive(Debug, Args)]
struct ConfigFile {
    /// The configuration; without it ./config/hookgate.yaml, else /etc/hookgate/hookgate.yaml, else the defaults
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

impl From<LogFormat> for logs::Format {
    fn from(format: LogFormat) -> Self {
        match format {
            LogFormat::Text => Self::Text,
            LogFormat::Json => Self::Json,
        }
    }
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
enum CliError {
    /// The configuration can't be used.
    #[error(transparent)]
    Config(#[from] Problems),
    /// The gateway can't run.
    #[error(transparent)]
    App(#[from] AppError),
    /// The log level.
    #[error(transparent)]
    Logs(#[from] logs::BadLevel),
    /// The admin API of a running gateway.
    #[error(transparent)]
    Admin(#[from] admin_client::AdminError),
    /// A dry run.
    #[error(transparent)]
    Explain(#[from] explain::ExplainError),
    /// A client of MCP that does not speak it.
    #[error(transparent)]
    Mcp(#[from] mcp::McpError),
    /// No randomness for a key.
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    /// A command that was to be run.
    #[error(transparent)]
    Run(#[from] run::RunError),
    /// No configuration was written.
    #[error(transparent)]
    Init(#[from] init::InitError),
    /// Nothing was trusted.
    #[error(transparent)]
    Trust(#[from] trust::TrustError),
    /// The demo.
    #[error(transparent)]
    Demo(#[from] demo::DemoError),
    /// Stored state that is moved.
    #[error(transparent)]
    Store(#[from] crate::session::store::dump::DumpError),
    /// The runtime can't start, or stdout is closed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs the command that the process's arguments name.
pub fn run() -> ExitCode {
    // clap itself answers wrong usage, with 2.
    let cli = Cli::parse();
    let format = cli.log_format.into();
    let done = match cli.command {
        Command::Run(command) => command.run(format, &cli.log_level),
        Command::Init(command) => command.run(),
        Command::Trust(command) => command.run(),
        Command::Serve(command) => command.run(format, &cli.log_level),
        Command::Check(command) => command.run(),
        Command::Health(command) => command.run(),
        Command::Explain(command) => command.run(format),
        Command::Test(command) => command.run(format),
        Command::Demo(command) => command.run(format),
        Command::Sessions(command) => command.run(),
        Command::Proposals(command) => command.run(),
        Command::Mcp(command) => command.run(),
        Command::Keys(command) => command.run(),
        Command::Send(command) => command.run(),
        Command::Store(command) => command.run(),
    };
    match done {
        Ok(code) => code,
        // `hookgate ... | head` is no failure.
        Err(CliError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        // The terminal is the agent's: it must be seen who speaks.
        Err(CliError::Run(error)) => {
            let _ = writeln!(io::stderr(), "hookgate: {error}");
            ExitCode::from(error.code())
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes a result: as JSON for programs, or its text for people.
fn print_either(json: bool, value: &Value, text: &str) -> io::Result<()> {
    if json { print(value) } else { print(text) }
}

/// Writes a line of a result.
fn print(line: impl std::fmt::Display) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_consistent_and_every_command_shows_an_example() {
        let mut cli = Cli::command();
        cli.clone().debug_assert();
        cli.build();
        let own = |cli: &clap::Command| {
            cli.get_subcommands().filter(|command| command.get_name() != "help").cloned().collect::<Vec<_>>()
        };
        let mut commands = own(&cli);
        commands.extend(commands.clone().iter().flat_map(own));
        for mut command in commands {
            let help = command.render_help().to_string();
            assert!(help.contains("Example:\n  hookgate "), "{help}");
        }
    }
}
