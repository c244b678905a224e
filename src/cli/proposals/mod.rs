//! `hookgate proposals list|show|add|approve|reject|edit`
mod arguments;

use crate::cli::admin_client::{AdminClient, Target};
use crate::cli::table::{cell, table};
use crate::cli::{CliError, print_either};
use crate::config;
use arguments::{Command, Which, members, text, word};
use clap::Args;
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::io::Read as _;
use std::process::ExitCode;

/// The columns of `list`, by the names in the API.
const COLUMNS: [&str; 6] = ["id", "status", "kind", "scope", "proposed_at", "title"];
/// What `show` tells ahead of the body.
const DETAILS: [&str; 14] = [
    "status",
    "kind",
    "tier",
    "confidence",
    "scope",
    "session",
    "project",
    "tenant",
    "origin",
    "supersedes",
    "superseded_by",
    "proposed_at",
    "decided_by",
    "decided_at",
];
/// The variable that may hold the token of reviews.
const APPROVE_TOKEN_VARIABLE: &str = "HOOKGATE_APPROVE_TOKEN";
/// Takes the body from stdin.
const STDIN: &str = "-";

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate proposals list --status pending")]
pub(super) struct Proposals {
    #[command(flatten)]
    target: Target,
    /// The token of knowledge.approve_token, for approve, reject and edit; without it HOOKGATE_APPROVE_TOKEN, else the admin token
    #[arg(long, global = true)]
    approve_token: Option<String>,
    /// Print the API's JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

impl Proposals {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        let given = self.approve_token.clone().or_else(|| config::process_env(APPROVE_TOKEN_VARIABLE));
        let client = match given.filter(|token| self.command.reviews() && !token.is_empty()) {
            Some(token) => self.target.client_with(Some(token))?,
            None => self.target.client()?,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.ask(&client))?;
        Ok(ExitCode::SUCCESS)
    }

    async fn ask(&self, client: &AdminClient) -> Result<(), CliError> {
        match &self.command {
            Command::List { status, tenant } => {
                let status = status.map(word);
                let query = [("status", status.as_deref()), ("tenant", tenant.as_deref())];
                let query: Vec<_> = query.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
                let all = client.list(&["v1", "proposals"], &query).await?;
                self.show(&Value::from(all.clone()), &table(&COLUMNS, &all))
            }
            Command::Show(Which { id }) => {
                let found = client.ask(Method::GET, &["v1", "proposals", id], &[]).await?;
                self.show(&found, &details(&found))
            }
            Command::Add { title, body, members: others, session, tenant } => {
                let mut all = vec![("title", Some(title.as_str().into())), ("body", Some(whole(body)?.into()))];
                all.extend(others.all());
                all.extend([("session", text(session)), ("tenant", text(tenant))]);
                let made = client.tell(Method::POST, &["v1", "proposals"], &[], Some(&members(all))).await?;
                self.done(&made, "proposed")
            }
            Command::Approve { which, by, supersedes } => {
                let body = members([("by", text(by)), ("supersedes", text(supersedes))]);
                let path = ["v1", "proposals", &which.id, "approve"];
                self.done(&client.tell(Method::POST, &path, &[], Some(&body)).await?, "approved")
            }
            Command::Reject { which, by } => {
                let path = ["v1", "proposals", &which.id, "reject"];
                let body = members([("by", text(by))]);
                self.done(&client.tell(Method::POST, &path, &[], Some(&body)).await?, "rejected")
            }
            Command::Edit { which, title, body, members: others } => {
                let body = body.as_deref().map(whole).transpose()?;
                let mut all = vec![("title", text(title)), ("body", body.map(Value::from))];
                all.extend(others.all());
                let path = ["v1", "proposals", &which.id];
                self.done(&client.tell(Method::PATCH, &path, &[], Some(&members(all))).await?, "changed")
            }
        }
    }

    fn done(&self, proposal: &Value, what: &str) -> Result<(), CliError> {
        self.show(proposal, &format!("{what} {}: {}", cell(proposal.get("id")), cell(proposal.get("title"))))
    }

    fn show(&self, json: &Value, text: &str) -> Result<(), CliError> {
        Ok(print_either(self.json, json, text)?)
    }
}

fn whole(body: &str) -> std::io::Result<String> {
    if body != STDIN {
        return Ok(body.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

fn details(proposal: &Value) -> String {
    let mut lines = vec![format!("{}: {}", cell(proposal.get("id")), cell(proposal.get("title")))];
    for name in DETAILS {
        let value = match proposal.get(name) {
            Some(Value::Object(members)) => json!(without_nulls(members)),
            Some(other) => other.clone(),
            None => Value::Null,
        };
        if !value.is_null() {
            lines.push(format!("  {name}: {}", cell(Some(&value))));
        }
    }
    lines.extend([String::new(), cell(proposal.get("body"))]);
    lines.join("\n")
}

fn without_nulls(members: &Map<String, Value>) -> Map<String, Value> {
    members.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())).collect()
}
