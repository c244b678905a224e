//! A session as the API shows it: what operators need, and nothing of credentials.
use crate::bus::Bus;
use crate::session::record::{ModelSeen, SessionRecord, Slot};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// One agent of a session.
#[derive(Serialize, ToSchema)]
pub(super) struct Session {
    /// Opaque owner.
    tenant: String,
    id: String,
    /// `main` for the first.
    agent: String,
    /// What people call the agent.
    label: Option<String>,
    /// The agent that started this one, as the client names it.
    parent: Option<String>,
    /// The workspace.
    project: Option<String>,
    /// The client's profile.
    client: String,
    /// Why the current activation began: startup, resume or compact.
    source: &'static str,
    started_at: Timestamp,
    /// The last request.
    last_active: Timestamp,
    /// Turns begun.
    turns: u64,
    /// When session.end ran; null while the session is alive.
    ended_at: Option<Timestamp>,
    /// The model that was asked last.
    model: Option<Model>,
    /// Persistent context by slot.
    slots: BTreeMap<String, Context>,
}

/// A model.
#[derive(Serialize, ToSchema)]
struct Model {
    /// As the client named it.
    requested: String,
    /// After aliases.
    resolved: String,
    /// The wire format: anthropic, chat, responses or gemini.
    dialect: &'static str,
    /// Where it went.
    upstream: String,
}

/// What a slot holds.
#[derive(Serialize, ToSchema)]
struct Context {
    /// The text; left out of the list of all sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    updated_at: Timestamp,
    /// A hook's name, or `admin`.
    by: String,
}

/// A part of a list.
#[derive(Serialize, ToSchema)]
pub(super) struct Page {
    pub(super) items: Vec<Session>,
    /// The cursor of the next part; null at the end.
    pub(super) next: Option<String>,
}

impl Session {
    /// With the texts of its slots.
    pub(super) fn whole(record: &SessionRecord, bus: &Bus) -> Self {
        Self::new(record, bus, |slot| Some(slot.text.clone()))
    }

    /// Without the texts of its slots: a list of many sessions stays small.
    pub(super) fn listed(record: &SessionRecord, bus: &Bus) -> Self {
        Self::new(record, bus, |_| None)
    }

    fn new(record: &SessionRecord, bus: &Bus, text: impl Fn(&Slot) -> Option<String>) -> Self {
        let context = |slot: &Slot| Context { text: text(slot), updated_at: slot.updated_at, by: slot.by.clone() };
        Self {
            tenant: record.key.tenant.0.clone(),
            id: record.key.id.clone(),
            agent: record.key.agent.clone(),
            label: bus.label(&record.key).map(|label| label.to_string()),
            parent: record.parent.clone(),
            project: record.project.clone(),
            client: record.client.clone(),
            source: record.source.name(),
            started_at: record.started_at,
            last_active: record.last_active,
            turns: record.turns,
            ended_at: record.ended_at,
            model: record.model.as_ref().map(Model::of),
            slots: record.slots.iter().map(|(name, slot)| (name.clone(), context(slot))).collect(),
        }
    }
}

impl Model {
    fn of(seen: &ModelSeen) -> Self {
        Self {
            requested: seen.requested.clone(),
            resolved: seen.resolved.clone(),
            dialect: seen.dialect.name(),
            upstream: seen.upstream.clone(),
        }
    }
}
