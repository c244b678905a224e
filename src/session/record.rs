//! What is remembered of a session: one small record per (tenant, session, agent).
use super::tenant::Fingerprint;
use crate::dialect::DialectId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Version of the stored form.
pub const VERSION: u32 = 1;
/// Persistent slots of a session: one per hook or group of hooks, and no pipeline comes near this.
pub const MAX_SLOTS: usize = 64;
/// Credentials that may reach a session. Credentials rotate (short-lived tokens); the oldest goes when this is exceeded.
pub const MAX_CREDENTIALS: usize = 8;
/// The agent of a session's first conversation.
pub const MAIN: &str = "main";

/// Opaque owner of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tenant(pub String);

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What state belongs to. The parts are printable ASCII.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    /// Whose.
    pub tenant: Tenant,
    /// The session.
    pub id: String,
    /// The agent in it; [`MAIN`] for the first.
    pub agent: String,
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.tenant, self.id, self.agent)
    }
}

/// Why the current activation began: `session.source` in events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A new session.
    Startup,
    /// A session that ended speaks again, or an unknown key comes with a longer history.
    Resume,
    /// The history was compacted.
    Compact,
}

impl Source {
    /// The name in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Compact => "compact",
        }
    }
}

/// Persistent text that a hook placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The text.
    pub text: String,
    /// When it was set.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")]
    pub updated_at: Timestamp,
    /// Who set it: a hook's name, or `admin`.
    pub by: String,
}

/// The model that a session last asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSeen {
    /// As the client named it.
    pub requested: String,
    /// After aliases.
    pub resolved: String,
    /// The wire format.
    pub dialect: DialectId,
    /// Where it went.
    pub upstream: String,
}

/// The record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// [`VERSION`] of the writer.
    pub v: u32,
    /// What it belongs to.
    #[serde(flatten)]
    pub key: SessionKey,
    /// The parent agent, as the client names it.
    pub parent: Option<String>,
    /// The workspace.
    pub project: Option<String>,
    /// Name of the client's profile.
    pub client: String,
    /// When the session was opened.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")]
    pub started_at: Timestamp,
    /// The last request, as far as it was written down; [`super::records::Records`] knows better while it runs.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")]
    pub last_active: Timestamp,
    /// Counts starts: 1 for the first, one more for each resumption and compaction.
    pub activation: u64,
    /// Why this activation began.
    pub source: Source,
    /// Whether `session.start` was run for this activation.
    pub started: bool,
    /// When `session.end` was run; `None` while the session is alive.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::optional")]
    pub ended_at: Option<Timestamp>,
    /// Turns begun.
    pub turns: u64,
    /// The turn that was counted last, so that a request that is sent again after a crash does not count it once more.
    #[serde(default)]
    pub counted: Option<String>,
    /// The model that was asked last.
    #[serde(default)]
    pub model: Option<ModelSeen>,
    /// The client's own count of compactions, where it sends one.
    #[serde(default)]
    pub window: Option<u64>,
    /// Persistent text by slot.
    pub slots: BTreeMap<String, Slot>,
    /// Who may reach it, oldest first.
    pub credentials: Vec<Fingerprint>,
}

/// What is known of a session when it is opened.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The parent agent.
    pub parent: Option<String>,
    /// The workspace.
    pub project: Option<String>,
    /// Name of the client's profile.
    pub client: String,
    /// [`Source::Startup`], or [`Source::Resume`] for an unknown key with a longer history.
    pub source: Source,
    /// The credential that opens it; `None` where there is none.
    pub credential: Option<Fingerprint>,
    /// The time.
    pub now: Timestamp,
}

/// Why a stored record can't be used. It is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Written by a newer hookgate: what it holds is not known here, so it must not be written back.
    #[error("the record has version {found}, this hookgate reads up to {VERSION}")]
    Newer {
        /// Its version.
        found: u32,
    },
    /// Not a record.
    #[error("not a session record: {0}")]
    Broken(String),
}

/// Why a slot can't be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// [`MAX_SLOTS`] others are there.
    #[error("a session has at most {MAX_SLOTS} slots")]
    TooMany,
    /// Longer than `limits.outcome_text`.
    #[error("the text has {length} bytes, at most {limit} are kept")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
}

impl SessionRecord {
    /// The record of a session that begins.
    pub fn new(key: SessionKey, opening: Opening) -> Self {
        Self {
            v: VERSION,
            key,
            parent: opening.parent,
            project: opening.project,
            client: opening.client,
            started_at: opening.now,
            last_active: opening.now,
            activation: 1,
            source: opening.source,
            started: false,
            ended_at: None,
            turns: 0,
            counted: None,
            model: None,
            window: None,
            slots: BTreeMap::new(),
            credentials: opening.credential.into_iter().collect(),
        }
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        /// Read first, since a newer record may lack or change everything else.
        #[derive(Deserialize)]
        struct Versioned {
            v: u32,
        }
        let broken = |e: serde_json::Error| RecordError::Broken(e.to_string());
        let Versioned { v } = serde_json::from_slice(bytes).map_err(broken)?;
        if v > VERSION {
            return Err(RecordError::Newer { found: v });
        }
        serde_json::from_slice(bytes).map_err(broken)
    }

    /// The stored form.
    ///
    /// # Errors
    /// [`RecordError::Broken`] if it can't be written as JSON.
    pub fn encode(&self) -> Result<Vec<u8>, RecordError> {
        serde_json::to_vec(self).map_err(|e| RecordError::Broken(e.to_string()))
    }

    /// Whether `session.end` was run and nothing came since.
    pub fn is_ended(&self) -> bool {
        self.ended_at.is_some()
    }

    /// Begins another activation: `session.start` is to be run again.
    pub fn activate(&mut self, source: Source) {
        self.activation += 1;
        self.source = source;
        self.started = false;
        self.ended_at = None;
    }

    /// Sets the text of a slot; false if it held that text already.
    ///
    /// # Errors
    /// [`SlotError`] beyond [`MAX_SLOTS`] or `limit` bytes (`limits.outcome_text`).
    pub fn set_slot(
        &mut self,
        name: &str,
        text: &str,
        by: &str,
        now: Timestamp,
        limit: usize,
    ) -> Result<bool, SlotError> {
        if text.len() > limit {
            return Err(SlotError::TooLong { length: text.len(), limit });
        }
        match self.slots.get(name) {
            Some(slot) if slot.text == text => return Ok(false),
            None if self.slots.len() >= MAX_SLOTS => return Err(SlotError::TooMany),
            _ => {}
        }
        self.slots.insert(name.to_owned(), Slot { text: text.to_owned(), updated_at: now, by: by.to_owned() });
        Ok(true)
    }

    /// Empties a slot; false if it was empty.
    pub fn clear_slot(&mut self, name: &str) -> bool {
        self.slots.remove(name).is_some()
    }

    /// Whether this credential may reach the session.
    pub fn admits(&self, credential: &Fingerprint) -> bool {
        self.credentials.contains(credential)
    }

    /// Binds another credential to the session; the caller has seen that its history extends what is stored and that
    /// the upstream accepted it. False if it was bound already.
    pub fn admit(&mut self, credential: Fingerprint) -> bool {
        if self.admits(&credential) {
            return false;
        }
        if self.credentials.len() >= MAX_CREDENTIALS {
            self.credentials.remove(0);
        }
        self.credentials.push(credential);
        true
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::session) fn key(id: &str) -> SessionKey {
        SessionKey { tenant: Tenant("t_1".into()), id: id.into(), agent: MAIN.into() }
    }

    pub(in crate::session) fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    pub(in crate::session) fn opening(seconds: i64) -> Opening {
        Opening {
            parent: None,
            project: None,
            client: "generic".into(),
            source: Source::Startup,
            credential: Some(Fingerprint("c1".into())),
            now: at(seconds),
        }
    }

    fn record() -> SessionRecord {
        SessionRecord::new(key("s1"), opening(1))
    }

    #[test]
    fn the_stored_form_is_fixed() {
        let mut record = record();
        record.set_slot("notes", "hi", "hook", at(2), 10).unwrap();
        let stored = String::from_utf8(record.encode().unwrap()).unwrap();
        insta::assert_snapshot!(stored, @r#"{"v":1,"tenant":"t_1","id":"s1","agent":"main","parent":null,"project":null,"client":"generic","started_at":1000,"last_active":1000,"activation":1,"source":"startup","started":false,"ended_at":null,"turns":0,"counted":null,"model":null,"window":null,"slots":{"notes":{"text":"hi","updated_at":2000,"by":"hook"}},"credentials":["c1"]}"#);
        assert_eq!(SessionRecord::decode(stored.as_bytes()), Ok(record));
    }

    #[test]
    fn a_newer_version_is_named_and_not_read() {
        let newer = br#"{"v":7,"everything":"else"}"#;
        assert_eq!(SessionRecord::decode(newer), Err(RecordError::Newer { found: 7 }));
        assert!(matches!(SessionRecord::decode(b"{}"), Err(RecordError::Broken(_))));
        assert!(matches!(SessionRecord::decode(b"\xff"), Err(RecordError::Broken(_))));
    }

    #[test]
    fn slots_are_bounded() {
        let mut record = record();
        assert_eq!(record.set_slot("a", "12345", "h", at(2), 4), Err(SlotError::TooLong { length: 5, limit: 4 }));
        for n in 0..MAX_SLOTS {
            assert_eq!(record.set_slot(&n.to_string(), "t", "h", at(2), 4), Ok(true));
        }
        assert_eq!(record.set_slot("more", "t", "h", at(2), 4), Err(SlotError::TooMany));
        assert_eq!(record.set_slot("0", "u", "h", at(2), 4), Ok(true), "one that is there may change");
        assert_eq!(record.set_slot("0", "u", "h", at(3), 4), Ok(false), "the same text is no change");
        assert!(record.clear_slot("0"));
        assert!(!record.clear_slot("0"));
    }

    #[test]
    fn the_oldest_credential_goes_first() {
        let mut record = record();
        for n in 2..=MAX_CREDENTIALS + 1 {
            assert!(record.admit(Fingerprint(format!("c{n}"))));
        }
        assert_eq!(record.credentials.len(), MAX_CREDENTIALS);
        assert!(!record.admits(&Fingerprint("c1".into())));
        assert!(!record.admit(Fingerprint("c2".into())), "already bound");
    }

    #[test]
    fn an_activation_starts_anew() {
        let mut record = record();
        record.started = true;
        record.ended_at = Some(at(5));
        record.activate(Source::Resume);
        assert_eq!((record.activation, record.source, record.started), (2, Source::Resume, false));
        assert!(!record.is_ended());
    }
}
