//! What somebody proposes, before it has an id.
use super::KnowledgeError;
use super::entry::{Entry, Kind, Origin, Scope, Status, VERSION};
use super::id::new_id;
use crate::session::record::Tenant;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Number;

/// A proposal as it is written: by a hook, in the admin API.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// A line, at most 256 bytes.
    pub title: String,
    /// At most 8 KiB.
    pub body: String,
    /// What it is.
    #[serde(default = "fact")]
    pub kind: Kind,
    /// How much its author makes of it.
    #[serde(default)]
    pub tier: Option<String>,
    /// How sure its author is, from 0 to 1.
    #[serde(default)]
    pub confidence: Option<Number>,
    /// For whom it is.
    #[serde(default)]
    pub scope: Extent,
    /// With scope `project`: which; without it the one of the session that it comes from.
    #[serde(default)]
    pub project: Option<String>,
    /// The entry whose place it takes when it is approved.
    #[serde(default)]
    pub supersedes: Option<String>,
}

/// The word for a scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// The session that it comes from.
    Session,
    /// The sessions of a project.
    Project,
    /// Every session of the tenant.
    #[default]
    All,
}

/// What is changed of a pending proposal: `None` stays as it was, and `Some(None)` takes away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// As in a proposal.
    pub title: Option<String>,
    /// As in a proposal.
    pub body: Option<String>,
    /// As in a proposal.
    pub kind: Option<Kind>,
    /// As in a proposal.
    pub tier: Option<Option<String>>,
    /// As in a proposal.
    pub confidence: Option<Option<Number>>,
    /// As in a proposal.
    pub scope: Option<Extent>,
    /// As in a proposal.
    pub project: Option<String>,
    /// As in a proposal.
    pub supersedes: Option<Option<String>>,
}

const fn fact() -> Kind {
    Kind::Fact
}

impl Draft {
    /// The pending entry that it makes.
    ///
    /// # Errors
    /// [`KnowledgeError::Invalid`], [`KnowledgeError::TooLong`], and [`KnowledgeError::Random`] without randomness.
    pub fn entry(self, tenant: Option<Tenant>, origin: Origin, now: Timestamp) -> Result<Entry, KnowledgeError> {
        let entry = Entry {
            v: VERSION,
            id: new_id(now)?,
            tenant,
            title: self.title,
            body: self.body,
            kind: self.kind,
            tier: self.tier,
            confidence: self.confidence,
            scope: scope(self.scope, self.project, &origin)?,
            status: Status::Pending,
            supersedes: self.supersedes,
            superseded_by: None,
            origin,
            proposed_at: now,
            decided_by: None,
            decided_at: None,
        };
        entry.checked()
    }
}

impl Changes {
    /// The entry with these changes.
    ///
    /// # Errors
    /// As [`Draft::entry`].
    pub fn apply(self, entry: &Entry) -> Result<Entry, KnowledgeError> {
        let mut changed = entry.clone();
        changed.title = self.title.unwrap_or(changed.title);
        changed.body = self.body.unwrap_or(changed.body);
        changed.kind = self.kind.unwrap_or(changed.kind);
        changed.tier = self.tier.unwrap_or(changed.tier);
        changed.confidence = self.confidence.unwrap_or(changed.confidence);
        changed.supersedes = self.supersedes.unwrap_or(changed.supersedes);
        changed.scope = match (self.scope, self.project) {
            (Some(extent), project) => scope(extent, project, &changed.origin)?,
            (None, Some(project)) => scope(Extent::Project, Some(project), &changed.origin)?,
            (None, None) => changed.scope,
        };
        changed.checked()
    }
}

fn scope(extent: Extent, project: Option<String>, origin: &Origin) -> Result<Scope, KnowledgeError> {
    let missing = |member, what| KnowledgeError::invalid(member, what);
    match extent {
        Extent::All => Ok(Scope::All),
        Extent::Session => {
            let session = origin.session.clone();
            session.map(|session| Scope::Session { session }).ok_or_else(|| missing("scope", "comes from no session"))
        }
        Extent::Project => {
            let project = project.or_else(|| origin.project.clone());
            project
                .map(|project| Scope::Project { project })
                .ok_or_else(|| missing("project", "comes from a session without a project, name one"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(json: &str) -> Draft {
        serde_json::from_str(json).unwrap()
    }

    fn entry(json: &str, origin: Origin) -> Result<Entry, String> {
        draft(json).entry(None, origin, Timestamp::from_second(1).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_proposal_needs_no_more_than_title_and_body() {
        let entry = entry(r#"{"title":"Use uv","body":"Not pip."}"#, Origin::default()).unwrap();
        assert_eq!((entry.kind, entry.status, entry.scope), (Kind::Fact, Status::Pending, Scope::All));
    }

    #[test]
    fn a_scope_is_filled_in_from_where_it_comes_from() {
        let origin = || Origin { session: Some("s1".into()), project: Some("demo".into()), ..Origin::default() };
        let scope_of = |scope: &str, origin: Origin| {
            entry(&format!(r#"{{"title":"t","body":"b",{scope}}}"#), origin).map(|entry| entry.scope)
        };
        assert_eq!(scope_of(r#""scope":"session""#, origin()), Ok(Scope::Session { session: "s1".into() }));
        assert_eq!(scope_of(r#""scope":"project""#, origin()), Ok(Scope::Project { project: "demo".into() }));
        let other = scope_of(r#""scope":"project","project":"x""#, origin());
        assert_eq!(other, Ok(Scope::Project { project: "x".into() }));
        assert_eq!(scope_of(r#""scope":"session""#, Origin::default()), Err("scope: comes from no session".into()));
        assert!(scope_of(r#""scope":"project""#, Origin::default()).unwrap_err().contains("name one"));
    }

    #[test]
    fn changes_leave_what_they_do_not_name() {
        let before = entry(r#"{"title":"t","body":"b","tier":"gold","supersedes":"k0"}"#, Origin::default()).unwrap();
        let changes = Changes { title: Some("u".into()), tier: Some(None), ..Changes::default() };
        let after = changes.apply(&before).unwrap();
        assert_eq!(after, Entry { title: "u".into(), tier: None, ..before.clone() });
        let project = Changes { project: Some("p".into()), ..Changes::default() };
        assert_eq!(project.apply(&before).unwrap().scope, Scope::Project { project: "p".into() });
    }
}
