//! One piece of knowledge, from its proposal on.
use super::KnowledgeError;
use crate::session::record::Tenant;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// Version of the stored form.
pub const VERSION: u32 = 1;
/// Longest title in bytes: a line.
pub const MAX_TITLE: usize = 256;
/// Longest body in bytes: twice what the default budget lets a whole turn be told, so that nothing useful is longer.
pub const MAX_BODY: usize = 8 * 1024;
/// Longest name in bytes: of a tier, a project, a hook, a person.
pub const MAX_NAME: usize = 256;

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// To be followed.
    Rule,
    /// Was settled.
    Decision,
    /// Is so.
    Fact,
    /// Is to be done.
    Task,
}

impl Kind {
    /// The word in the API and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Decision => "decision",
            Self::Fact => "fact",
            Self::Task => "task",
        }
    }
}

/// Where it stands in its review. Nothing but what is approved reaches a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nobody has looked at it.
    Pending,
    /// It counts.
    Approved,
    /// It does not count.
    Rejected,
    /// It counted, until a newer one took its place.
    Superseded,
}

impl Status {
    /// The word in the API and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Superseded => "superseded",
        }
    }

    /// Whether it has its place in the directory, where there is one: it is approved, or was.
    pub const fn is_filed(self) -> bool {
        matches!(self, Self::Approved | Self::Superseded)
    }
}

/// For whom it is, of the sessions of its tenant. Ordered from the most specific.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum Scope {
    /// One session, with all its agents.
    Session {
        /// Its id.
        session: String,
    },
    /// The sessions of a project.
    Project {
        /// Its name; an absolute path is also the project of what lies below it.
        project: String,
    },
    /// Every session.
    All,
}

/// Whose sight it is: what is in scope depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// The session's tenant.
    pub tenant: &'a Tenant,
    /// The session.
    pub session: &'a str,
    /// Its project.
    pub project: Option<&'a str>,
}

impl Scope {
    /// Whether `reader` is meant.
    pub fn covers(&self, reader: &Reader<'_>) -> bool {
        match self {
            Self::Session { session } => session == reader.session,
            Self::Project { project } => reader.project.is_some_and(|own| own == project || is_below(own, project)),
            Self::All => true,
        }
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.starts_with('/') && path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
}

/// Where it came from; all of it is unknown where a person wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The session.
    #[serde(default)]
    pub session: Option<String>,
    /// The agent in it.
    #[serde(default)]
    pub agent: Option<String>,
    /// The session's project.
    #[serde(default)]
    pub project: Option<String>,
    /// Ordinal of the turn in the session.
    #[serde(default)]
    pub turn: Option<u64>,
    /// The hook that proposed it, or who else did.
    #[serde(default)]
    pub hook: Option<String>,
}

/// A piece of knowledge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// [`VERSION`] of the writer.
    pub v: u32,
    /// Unique over all tenants, and in the order of time.
    pub id: String,
    /// Whose it is; `None`: everybody's, which only an operator can make.
    pub tenant: Option<Tenant>,
    /// A line, not blank.
    pub title: String,
    /// Not blank.
    pub body: String,
    /// What it is.
    pub kind: Kind,
    /// How much its author makes of it, in the author's own words.
    pub tier: Option<String>,
    /// How sure its author is, from 0 to 1.
    pub confidence: Option<Number>,
    /// For whom it is.
    #[serde(flatten)]
    pub scope: Scope,
    /// Where it stands.
    pub status: Status,
    /// The older entry whose place it takes when it is approved.
    pub supersedes: Option<String>,
    /// The newer entry that took its place.
    pub superseded_by: Option<String>,
    /// Where it came from.
    pub origin: Origin,
    /// When it was proposed.
    pub proposed_at: Timestamp,
    /// Who approved or rejected it.
    pub decided_by: Option<String>,
    /// When.
    pub decided_at: Option<Timestamp>,
}

impl Entry {
    /// As a model reads it.
    pub fn text(&self) -> String {
        format!("{}: {}\n{}", self.kind.name(), self.title, self.body)
    }

    /// Whether somebody has said this already: in the same words, for the same sessions.
    pub fn says_the_same(&self, other: &Self) -> bool {
        (&self.tenant, &self.title, &self.body, &self.scope) == (&other.tenant, &other.title, &other.body, &other.scope)
    }

    /// Since when it is known.
    pub fn since(&self) -> Timestamp {
        self.decided_at.unwrap_or(self.proposed_at)
    }

    /// Checks what a person or a hook wrote, and trims it.
    ///
    /// # Errors
    /// [`KnowledgeError::Invalid`], naming the member.
    pub fn checked(mut self) -> Result<Self, KnowledgeError> {
        self.title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        self.body = self.body.trim().to_owned();
        bounded("title", &self.title, MAX_TITLE)?;
        bounded("body", &self.body, MAX_BODY)?;
        printable("title", &self.title)?;
        printable("body", &self.body)?;
        let names = [
            ("tier", &self.tier),
            ("supersedes", &self.supersedes),
            ("session", &self.origin.session),
            ("agent", &self.origin.agent),
            ("project", &self.origin.project),
            ("hook", &self.origin.hook),
        ];
        for (member, name) in names.into_iter().filter_map(|(member, name)| Some((member, name.as_ref()?))) {
            bounded(member, name, MAX_NAME)?;
        }
        if let Some(Tenant(tenant)) = &self.tenant {
            bounded("tenant", tenant, MAX_NAME)?;
        }
        match &self.scope {
            Scope::Session { session } => bounded("session", session, MAX_NAME)?,
            Scope::Project { project } => bounded("project", project, MAX_NAME)?,
            Scope::All => {}
        }
        let sure = self.confidence.as_ref().and_then(Number::as_f64);
        if sure.is_some_and(|sure| !(0.0..=1.0).contains(&sure)) {
            return Err(KnowledgeError::invalid("confidence", "write a number from 0 to 1"));
        }
        Ok(self)
    }
}

/// A reviewer must see what is approved: a control character can repaint a terminal, and a mark of direction turns a text
/// around.
fn printable(member: &'static str, text: &str) -> Result<(), KnowledgeError> {
    let hides = |c: char| (c.is_control() && !matches!(c, '\n' | '\t' | '\r')) || is_direction(c);
    match text.chars().any(hides) {
        true => Err(KnowledgeError::invalid(member, "holds control characters")),
        false => Ok(()),
    }
}

/// Unicode's embeddings, overrides and isolates (UAX 9, section 2).
const fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn bounded(member: &'static str, text: &str, limit: usize) -> Result<(), KnowledgeError> {
    if text.trim().is_empty() {
        return Err(KnowledgeError::invalid(member, "is empty"));
    }
    if text.len() > limit {
        return Err(KnowledgeError::TooLong { member, length: text.len(), limit });
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An approved entry.
    pub(in crate::knowledge) fn entry(id: &str, title: &str, body: &str) -> Entry {
        Entry {
            v: VERSION,
            id: id.into(),
            tenant: Some(Tenant("t_1".into())),
            title: title.into(),
            body: body.into(),
            kind: Kind::Rule,
            tier: None,
            confidence: None,
            scope: Scope::All,
            status: Status::Approved,
            supersedes: None,
            superseded_by: None,
            origin: Origin::default(),
            proposed_at: Timestamp::from_second(1).unwrap(),
            decided_by: None,
            decided_at: None,
        }
    }

    #[test]
    fn a_scope_covers_its_sessions_and_no_others() {
        let tenant = Tenant("t_1".into());
        let reader = |session, project| Reader { tenant: &tenant, session, project };
        let session = Scope::Session { session: "s1".into() };
        let project = |name: &str| Scope::Project { project: name.into() };
        for (scope, own, expected) in [
            (&session, reader("s1", None), true),
            (&session, reader("s10", None), false),
            (&project("demo"), reader("s1", Some("demo")), true),
            (&project("demo"), reader("s1", Some("demo/sub")), false),
            (&project("demo"), reader("s1", None), false),
            (&project("/home/me/app"), reader("s1", Some("/home/me/app")), true),
            (&project("/home/me/app"), reader("s1", Some("/home/me/app/web")), true),
            (&project("/home/me/app/"), reader("s1", Some("/home/me/app/web")), true),
            (&project("/home/me/app"), reader("s1", Some("/home/me/application")), false),
            (&Scope::All, reader("s1", None), true),
        ] {
            assert_eq!(scope.covers(&own), expected, "{scope:?} {own:?}");
        }
        assert!(session < project("a") && project("z") < Scope::All, "the most specific comes first");
    }

    #[test]
    fn the_stored_form_is_fixed() {
        let stored = serde_json::to_string(&entry("k1", "Use uv", "Not pip.")).unwrap();
        insta::assert_snapshot!(stored, @r#"{"v":1,"id":"k1","tenant":"t_1","title":"Use uv","body":"Not pip.","kind":"rule","tier":null,"confidence":null,"scope":"all","status":"approved","supersedes":null,"superseded_by":null,"origin":{"session":null,"agent":null,"project":null,"turn":null,"hook":null},"proposed_at":"1970-01-01T00:00:01Z","decided_by":null,"decided_at":null}"#);
        assert_eq!(serde_json::from_str::<Entry>(&stored).unwrap(), entry("k1", "Use uv", "Not pip."));
        let of_project = Entry { scope: Scope::Project { project: "p".into() }, ..entry("k1", "a", "b") };
        assert_eq!(serde_json::from_str::<Entry>(&serde_json::to_string(&of_project).unwrap()).unwrap(), of_project);
    }

    #[test]
    fn what_is_written_is_trimmed_and_bounded() {
        let kept = entry("k", "  Use\n uv ", "\n body \n").checked().unwrap();
        assert_eq!((kept.title.as_str(), kept.body.as_str()), ("Use uv", "body"));
        for (bad, words) in [
            (entry("k", " ", "b"), "title: is empty"),
            (entry("k", "t", ""), "body: is empty"),
            (entry("k", "a\u{1b}[2Jb", "b"), "title: holds control characters"),
            (entry("k", "t", "a\u{202e}b"), "body: holds control characters"),
            (
                Entry { supersedes: Some("k".repeat(MAX_NAME + 1)), ..entry("k", "t", "b") },
                "supersedes: has 257 bytes, at most 256 are kept",
            ),
            (
                Entry { tenant: Some(Tenant("t".repeat(MAX_NAME + 1))), ..entry("k", "t", "b") },
                "tenant: has 257 bytes, at most 256 are kept",
            ),
            (entry("k", &"t".repeat(MAX_TITLE + 1), "b"), "title: has 257 bytes, at most 256 are kept"),
            (entry("k", "t", &"b".repeat(MAX_BODY + 1)), "body: has 8193 bytes, at most 8192 are kept"),
            (
                Entry { confidence: Number::from_f64(1.5), ..entry("k", "t", "b") },
                "confidence: write a number from 0 to 1",
            ),
        ] {
            assert_eq!(bad.checked().unwrap_err().to_string(), words);
        }
    }
}
