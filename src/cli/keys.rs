//! `hookgate keys`
use super::{CliError, print_either};
use crate::config::{KEY_PREFIX, KeyHash};
use clap::{Args, Subcommand};
use serde_json::json;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Random bytes of a key: nobody guesses 256 bits, so that its hash needs no salt and no slowness.
const LEN: usize = 32;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate keys new --name alice")]
pub(super) struct Keys {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key: it is shown once, and its hash goes into the configuration
    New(New),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate keys new --name alice --tenant team-a")]
struct New {
    /// What the key is called in logs
    #[arg(long)]
    name: String,
    /// Whose sessions and limits it has; without one a tenant of its own with its name
    #[arg(long)]
    tenant: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Keys {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        let Command::New(New { name, tenant, json }) = self.command;
        let key = random()?;
        let hash = KeyHash::of(key.as_bytes()).to_string();
        let mut entry = json!({"name": name, "hash": hash});
        if let Some(tenant) = tenant {
            entry["tenant"] = tenant.into();
        }
        // JSON is YAML too, and quotes whatever a name may hold.
        let text = format!(
            "{key}\n\n# The key is not kept anywhere: give it to the client now. Its entry for `keys.entries`, or for the\n# list in `keys.file`:\n- {entry}"
        );
        print_either(json, &json!({"key": key, "entry": entry}), &text)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; LEN];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().fold(KEY_PREFIX.to_owned(), |mut key, byte| {
        // Writing to a string can't fail.
        let _ = write!(key, "{byte:02x}");
        key
    }))
}
