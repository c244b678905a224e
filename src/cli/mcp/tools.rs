//! What an agent may do: each tool with its arguments and its request to the admin API.
use crate::cli::admin_client::{AdminClient, AdminError};
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The arguments of a call.
type Arguments = Map<String, Value>;

/// Whom the server is for.
pub(super) struct Whose {
    pub(super) session: Option<String>,
    pub(super) agent: String,
    pub(super) tenant: Option<String>,
}

/// Why a call gives nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    /// An argument is missing, or of another type.
    #[error("{0}: {1}")]
    Argument(&'static str, &'static str),
    /// The gateway says no.
    #[error(transparent)]
    Admin(#[from] AdminError),
}

/// A tool.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Agents,
    Send,
    Receipts,
    Knowledge,
    Propose,
}

/// All of them.
pub(super) const TOOLS: [Known; 5] = [
    Known {
        name: "list_agents",
        about: "The agents of the session, and when each was last active.",
        what: What::Agents,
    },
    Known {
        name: "send_message",
        about: "Send a message to another agent; its model reads it with its next tool result or prompt.",
        what: What::Send,
    },
    Known {
        name: "read_receipts",
        about: "The messages to an agent, and which of them were delivered.",
        what: What::Receipts,
    },
    Known {
        name: "find_knowledge",
        about: "What was learned in earlier sessions and approved, as far as it matches some words.",
        what: What::Knowledge,
    },
    Known {
        name: "propose_knowledge",
        about: "Propose something that later sessions should know. People review it first.",
        what: What::Propose,
    },
];

/// Arguments that go to the API as they are.
const OF_A_MESSAGE: [&str; 4] = ["text", "kind", "ttl", "id"];
const OF_A_PROPOSAL: [&str; 8] = ["title", "body", "kind", "tier", "confidence", "scope", "project", "supersedes"];

impl Known {
    /// The JSON schema of its arguments.
    pub(super) fn schema(&self) -> Arc<Map<String, Value>> {
        let text = |about: &str| json!({"type": "string", "description": about});
        let (required, mut properties) = match self.what {
            What::Agents => (json!([]), json!({})),
            What::Send => (
                json!(["agent", "text"]),
                json!({
                    "agent": text("Who gets it."),
                    "text": text("At most 2 KiB."),
                    "kind": {"enum": ["note", "correction", "halt"], "default": "note"},
                    "ttl": text("How long it may wait to be delivered, such as 15m."),
                    "id": text("Sent twice with the same id it is one message."),
                }),
            ),
            What::Receipts => (json!(["agent"]), json!({"agent": text("Whose messages.")})),
            What::Knowledge => (
                json!(["query"]),
                json!({"query": text("What is wanted, in words."), "limit": {"type": "integer", "minimum": 1, "maximum": 50}}),
            ),
            What::Propose => (
                json!(["title", "body"]),
                json!({
                    "title": text("A line."),
                    "body": text("What is to be remembered, at most 8 KiB."),
                    "kind": {"enum": ["rule", "decision", "fact", "task"], "default": "fact"},
                    "tier": text("How much you make of it."),
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                    "scope": {"enum": ["session", "project", "all"], "default": "all"},
                    "project": text("With scope project: which; without it the session's."),
                    "supersedes": text("The id of the approved entry whose place it takes."),
                }),
            ),
        };
        properties["session"] = text("The session; without it the one that this server was started for.");
        let schema =
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        Arc::new(schema.as_object().cloned().unwrap_or_default())
    }

    /// Does it.
    ///
    /// # Errors
    /// [`ToolError`], for the model to read.
    pub(super) async fn call(
        &self,
        client: &AdminClient,
        whose: &Whose,
        arguments: &Arguments,
    ) -> Result<Value, ToolError> {
        let session = match argument(arguments, "session")? {
            Some(session) => session,
            None => whose.session.as_deref().ok_or(ToolError::Argument("session", "missing, name one"))?,
        };
        let mut query: Vec<(&str, &str)> = whose.tenant.iter().map(|tenant| ("tenant", tenant.as_str())).collect();
        let of_session = ["v1", "sessions", session];
        match self.what {
            What::Agents => Ok(brief(&client.ask(Method::GET, &of_session, &query).await?)),
            What::Send => {
                let to = needed(arguments, "agent")?;
                let mut message = picked(arguments, &OF_A_MESSAGE);
                message.insert("from".into(), whose.agent.as_str().into());
                let path = [&of_session[..], &["agents", to, "messages"]].concat();
                Ok(client.tell(Method::POST, &path, &query, Some(&message.into())).await?)
            }
            What::Receipts => {
                let path = [&of_session[..], &["agents", needed(arguments, "agent")?, "messages"]].concat();
                Ok(client.ask(Method::GET, &path, &query).await?)
            }
            What::Knowledge => {
                let limit = arguments.get("limit").and_then(Value::as_u64).map(|limit| limit.to_string());
                query.push(("query", needed(arguments, "query")?));
                query.extend(limit.iter().map(|limit| ("limit", limit.as_str())));
                let path = [&of_session[..], &["agents", &whose.agent, "knowledge"]].concat();
                Ok(client.ask(Method::GET, &path, &query).await?)
            }
            What::Propose => {
                let mut proposal = picked(arguments, &OF_A_PROPOSAL);
                proposal.insert("session".into(), session.into());
                proposal.insert("agent".into(), whose.agent.as_str().into());
                proposal.extend(whose.tenant.iter().map(|tenant| ("tenant".to_owned(), tenant.as_str().into())));
                Ok(client.tell(Method::POST, &["v1", "proposals"], &[], Some(&proposal.into())).await?)
            }
        }
    }
}

fn argument<'a>(arguments: &'a Arguments, name: &'static str) -> Result<Option<&'a str>, ToolError> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ToolError::Argument(name, "write a text")),
    }
}

fn needed<'a>(arguments: &'a Arguments, name: &'static str) -> Result<&'a str, ToolError> {
    argument(arguments, name)?.ok_or(ToolError::Argument(name, "missing"))
}

fn picked(arguments: &Arguments, names: &[&str]) -> Arguments {
    let member = |name: &&str| Some(((*name).to_owned(), arguments.get(*name)?.clone()));
    names.iter().filter_map(member).collect()
}

/// What one agent may know of the others: not what their slots hold.
fn brief(session: &Value) -> Value {
    let items = session.get("items").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let agents: Vec<Value> = items
        .iter()
        .map(|agent| {
            let names = ["agent", "parent", "turns", "last_active", "ended_at"];
            names.iter().filter_map(|name| Some(((*name).to_owned(), agent.get(*name)?.clone()))).collect::<Map<_, _>>()
        })
        .map(Value::from)
        .collect();
    json!({"agents": agents})
}
