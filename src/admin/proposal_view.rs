//! A proposal as the API shows it.
use crate::knowledge::{Entry, Origin, Scope};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Number;
use utoipa::ToSchema;

/// A proposal, and what became of it.
#[derive(Serialize, ToSchema)]
pub(super) struct Proposal {
    id: String,
    /// Whose it is; null: everybody's.
    tenant: Option<String>,
    title: String,
    body: String,
    /// rule, decision, fact or task.
    kind: &'static str,
    tier: Option<String>,
    /// From 0 to 1.
    #[schema(value_type = Option<f64>)]
    confidence: Option<Number>,
    /// session, project or all.
    scope: &'static str,
    /// With scope session: which.
    session: Option<String>,
    /// With scope project: which.
    project: Option<String>,
    /// pending, approved, rejected or superseded.
    status: &'static str,
    /// The older one whose place it takes.
    supersedes: Option<String>,
    /// The newer one that took its place.
    superseded_by: Option<String>,
    origin: Source,
    proposed_at: Timestamp,
    /// Who approved or rejected it.
    decided_by: Option<String>,
    decided_at: Option<Timestamp>,
}

/// Where a proposal came from.
#[derive(Serialize, ToSchema)]
struct Source {
    session: Option<String>,
    agent: Option<String>,
    project: Option<String>,
    /// Ordinal of the turn in the session.
    turn: Option<u64>,
    /// The hook, or who else proposed it.
    hook: Option<String>,
}

/// A part of a list.
#[derive(Serialize, ToSchema)]
pub(super) struct Proposals {
    pub(super) items: Vec<Proposal>,
    /// The cursor of the next part; null at the end.
    pub(super) next: Option<String>,
}

impl Proposal {
    pub(super) fn of(entry: &Entry) -> Self {
        let (scope, session, project) = match &entry.scope {
            Scope::Session { session } => ("session", Some(session.clone()), None),
            Scope::Project { project } => ("project", None, Some(project.clone())),
            Scope::All => ("all", None, None),
        };
        let Origin { session: from, agent, project: of, turn, hook } = entry.origin.clone();
        Self {
            id: entry.id.clone(),
            tenant: entry.tenant.as_ref().map(|tenant| tenant.0.clone()),
            title: entry.title.clone(),
            body: entry.body.clone(),
            kind: entry.kind.name(),
            tier: entry.tier.clone(),
            confidence: entry.confidence.clone(),
            scope,
            session,
            project,
            status: entry.status.name(),
            supersedes: entry.supersedes.clone(),
            superseded_by: entry.superseded_by.clone(),
            origin: Source { session: from, agent, project: of, turn, hook },
            proposed_at: entry.proposed_at,
            decided_by: entry.decided_by.clone(),
            decided_at: entry.decided_at,
        }
    }
}
