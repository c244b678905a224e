//! `hookgate sessions list|show|watch|end|clear|label`
use super::admin_client::{AdminClient, AdminError, Target};
use super::table::{cell, table};
use super::watch::watch;
use super::{CliError, print_either};
use crate::session::record::MAIN;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::process::ExitCode;

/// The columns of `list`, by the names in the API.
const COLUMNS: [&str; 6] = ["id", "agent", "tenant", "turns", "last_active", "label"];

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate sessions list")]
pub(super) struct Sessions {
    #[command(flatten)]
    target: Target,
    /// Print the API's JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// All sessions, latest first
    #[command(after_help = "Example:\n  hookgate sessions list --json")]
    List,
    /// One session with all its agents and what their slots hold
    #[command(after_help = "Example:\n  hookgate sessions show 8f3a")]
    Show(Whose),
    /// What happens, live, one line per event: requests, hooks, messages, ends
    #[command(after_help = "Example:\n  hookgate sessions watch 8f3a --json")]
    Watch {
        /// Only this session
        id: Option<String>,
    },
    /// End a session: its session.end hooks run
    #[command(after_help = "Example:\n  hookgate sessions end 8f3a --agent reviewer")]
    End(Agent),
    /// Empty a session's slots
    #[command(after_help = "Example:\n  hookgate sessions clear 8f3a --slot project")]
    Clear {
        #[command(flatten)]
        agent: Agent,
        /// Only this slot
        #[arg(long)]
        slot: Option<String>,
    },
    /// Name an agent, so that messages can be sent to it by that name
    #[command(after_help = "Example:\n  hookgate sessions label 8f3a --agent 019c-77 qa")]
    Label {
        #[command(flatten)]
        agent: Agent,
        #[command(flatten)]
        naming: Naming,
    },
}

/// A name, or that there is to be none.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Naming {
    /// What it is to be called
    label: Option<String>,
    /// Take its name
    #[arg(long)]
    remove: bool,
}

#[derive(Debug, Args)]
struct Whose {
    /// The session's id
    id: String,
    /// Whose, when several tenants have a session of this id
    #[arg(long)]
    tenant: Option<String>,
}

#[derive(Debug, Args)]
struct Agent {
    #[command(flatten)]
    session: Whose,
    /// The agent
    #[arg(long, default_value = MAIN)]
    agent: String,
}

impl Whose {
    fn query(&self) -> Vec<(&str, &str)> {
        self.tenant.iter().map(|tenant| ("tenant", tenant.as_str())).collect()
    }
}

impl Agent {
    fn path<'a>(&'a self, rest: &[&'a str]) -> Vec<&'a str> {
        [&["v1", "sessions", &self.session.id, "agents", &self.agent], rest].concat()
    }
}

impl Sessions {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        let client = self.target.client()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.ask(&client))?;
        Ok(ExitCode::SUCCESS)
    }

    async fn ask(&self, client: &AdminClient) -> Result<(), CliError> {
        match &self.command {
            Command::List => {
                let mut all = client.list(&["v1", "sessions"], &[]).await?;
                all.sort_by_key(|record| Reverse(last_active(record)));
                self.show(&Value::from(all.clone()), &table(&COLUMNS, &all))
            }
            Command::Show(session) => {
                let found = client.ask(Method::GET, &["v1", "sessions", &session.id], &session.query()).await?;
                self.show(&found, &details(&found))
            }
            Command::Watch { id } => watch(client, id.as_deref(), self.json).await,
            Command::End(agent) => {
                let ended = client.ask(Method::POST, &agent.path(&["end"]), &agent.session.query()).await?;
                self.show(&ended, &format!("ended {} {}", agent.session.id, agent.agent))
            }
            Command::Clear { agent, slot } => {
                let cleared = clear(client, agent, slot.as_deref()).await?;
                let text = match cleared.as_slice() {
                    [] => "nothing to clear".to_owned(),
                    slots => format!("cleared {}", slots.join(", ")),
                };
                self.show(&Value::from(cleared), &text)
            }
            Command::Label { agent, naming } => {
                let (path, query) = (agent.path(&["label"]), agent.session.query());
                let named = match &naming.label {
                    Some(label) => client.tell(Method::PUT, &path, &query, Some(&json!({ "label": label }))).await?,
                    None => client.ask(Method::DELETE, &path, &query).await?,
                };
                let name = naming.label.as_deref().unwrap_or("without a label");
                self.show(&named, &format!("{} {} is {name}", agent.session.id, agent.agent))
            }
        }
    }

    fn show(&self, json: &Value, text: &str) -> Result<(), CliError> {
        Ok(print_either(self.json, json, text)?)
    }
}

fn last_active(record: &Value) -> Option<Timestamp> {
    record.get("last_active")?.as_str()?.parse().ok()
}

/// The names of the slots that were emptied.
async fn clear(client: &AdminClient, agent: &Agent, slot: Option<&str>) -> Result<Vec<String>, AdminError> {
    let query = agent.session.query();
    let slots: Vec<String> = match slot {
        Some(slot) => vec![slot.to_owned()],
        None => {
            let record = client.ask(Method::GET, &agent.path(&[]), &query).await?;
            slots(&record).map(|(name, _)| name.to_owned()).collect()
        }
    };
    for slot in &slots {
        client.ask(Method::DELETE, &agent.path(&["context", slot]), &query).await?;
    }
    Ok(slots)
}

/// The slots of one agent's record with their texts.
fn slots(record: &Value) -> impl Iterator<Item = (&str, &str)> {
    let slots = record.get("slots").and_then(Value::as_object);
    let text = |slot: &'_ Value| slot.get("text").and_then(Value::as_str).is_some();
    slots
        .into_iter()
        .flatten()
        .filter(move |(_, slot)| text(slot))
        .map(|(name, slot)| (name.as_str(), slot.get("text").and_then(Value::as_str).unwrap_or_default()))
}

fn details(found: &Value) -> String {
    let records = found.get("items").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut lines = Vec::new();
    for record in records {
        lines.push(COLUMNS.map(|name| format!("{name}={}", cell(record.get(name)))).join(" "));
        lines.extend(slots(record).map(|(name, text)| format!("  {name}: {}", text.replace('\n', "\n    "))));
    }
    lines.join("\n")
}
