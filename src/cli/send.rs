//! `hookgate send`
use super::admin_client::{AdminClient, AdminError, Target};
use super::{CliError, print_either};
use crate::session::record::MAIN;
use clap::{Args, ValueEnum};
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::process::ExitCode;
use std::time::Duration;

/// How often `--wait` asks.
const ASK_EVERY: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate send --session 8f3a --kind correction 'Use bcrypt, not sha256'")]
pub(super) struct Send {
    #[command(flatten)]
    target: Target,
    /// The session's id
    #[arg(long)]
    session: String,
    /// The agent's id or label; * is all of the session, PARENT/* all that one started
    #[arg(long, default_value = MAIN)]
    agent: String,
    /// Whose session, when several tenants have one of this id
    #[arg(long)]
    tenant: Option<String>,
    /// What it asks for
    #[arg(long, value_enum, default_value = "note")]
    kind: Kind,
    /// How long it may wait to be delivered, such as 15m, at most 7d
    #[arg(long)]
    ttl: Option<String>,
    /// Who sends it
    #[arg(long)]
    from: Option<String>,
    /// The same id again is the same message
    #[arg(long)]
    id: Option<String>,
    /// Wait until it is delivered, and say when; exit 1 if it is not
    #[arg(long)]
    wait: bool,
    /// Print the API's JSON
    #[arg(long)]
    json: bool,
    /// What the model reads, at most 2 KiB
    text: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Waits for the session's next request
    Note,
    /// The same, and a turn that is about to end goes on with it
    Correction,
    /// The same, and no further tool call of the turn is made
    Halt,
}

impl Send {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        let client = self.target.client()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.send(&client))
    }

    async fn send(&self, client: &AdminClient) -> Result<ExitCode, CliError> {
        let sent = client.tell(Method::POST, &self.path(), &self.query(), Some(&self.body())).await?;
        let id = text(&sent, "id");
        if !self.wait {
            self.show(&sent, &format!("{} {id}", text(&sent, "state")))?;
            return Ok(ExitCode::SUCCESS);
        }
        let letters = self.settled(client, id).await?;
        let lines: Vec<String> = letters.iter().map(line).collect();
        self.show(&Value::from(letters.clone()), &lines.join("\n"))?;
        let is_delivered = |letter: &Value| text(letter, "state") == "delivered";
        // Of several agents one may be gone: whoever waits wants to know that all have it.
        let all = !letters.is_empty() && letters.iter().all(is_delivered);
        Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The message in all mailboxes, once it waits in none.
    async fn settled(&self, client: &AdminClient, id: &str) -> Result<Vec<Value>, AdminError> {
        let query = [self.query(), vec![("id", id)]].concat();
        loop {
            let mut page = client.ask(Method::GET, &self.path(), &query).await?;
            let Some(Value::Array(letters)) = page.get_mut("items").map(Value::take) else { return Ok(Vec::new()) };
            if letters.iter().all(|letter| text(letter, "state") != "queued") {
                return Ok(letters);
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    fn path(&self) -> [&str; 6] {
        ["v1", "sessions", &self.session, "agents", &self.agent, "messages"]
    }

    fn query(&self) -> Vec<(&str, &str)> {
        self.tenant.iter().map(|tenant| ("tenant", tenant.as_str())).collect()
    }

    fn body(&self) -> Value {
        let kind = match self.kind {
            Kind::Note => "note",
            Kind::Correction => "correction",
            Kind::Halt => "halt",
        };
        let mut body = Map::from_iter([("text".to_owned(), json!(self.text)), ("kind".to_owned(), json!(kind))]);
        let optional = [("ttl", &self.ttl), ("from", &self.from), ("id", &self.id)];
        body.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?)))));
        Value::Object(body)
    }

    fn show(&self, json: &Value, text: &str) -> Result<(), CliError> {
        Ok(print_either(self.json, json, text)?)
    }
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// What became of it in one mailbox.
fn line(letter: &Value) -> String {
    let (id, agent, state) = (text(letter, "id"), text(letter, "agent"), text(letter, "state"));
    match (state, letter.get("turn").and_then(Value::as_u64)) {
        ("delivered", Some(turn)) => {
            format!("{id} {agent}: delivered {} in turn {turn}", text(letter, "delivered_at"))
        }
        _ => format!("{id} {agent}: {state} {}", text(letter, "reason")).trim_end().to_owned(),
    }
}
