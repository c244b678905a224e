//! A message: what is sent, and what has become of it.
use super::Refusal;
use crate::config::duration;
use crate::session::key;
use crate::session::record::SessionKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::time::Duration;

/// Longest text in bytes: a message is read in the middle of the model's work, a longer one belongs into a file.
pub const MAX_TEXT: usize = 2 * 1024;
/// How long a message waits that says nothing else.
pub const DEFAULT_TTL: Duration = Duration::from_secs(15 * 60);
/// Longest `ttl`: what is older speaks of something else.
pub const MAX_TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Longest `from` in characters.
const MAX_FROM: usize = 128;
/// A sender that gives no name.
const NOBODY: &str = "unknown";

/// What a message asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// To be known. Waits for the session's next request.
    #[default]
    Note,
    /// The model is to do something else. Does not wait for a next prompt: a turn that ends goes on with it.
    Correction,
    /// The turn is to end: the calls of the running answer are not made.
    Halt,
}

impl Kind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Correction => "correction",
            Self::Halt => "halt",
        }
    }

    /// Whether a turn that ends goes on with it.
    pub const fn is_urgent(self) -> bool {
        matches!(self, Self::Correction | Self::Halt)
    }

    /// Of several that wait, the smaller goes first.
    pub(super) const fn rank(self) -> u8 {
        match self {
            Self::Halt => 0,
            Self::Correction => 1,
            Self::Note => 2,
        }
    }
}

/// A message as it is sent: the body of the API, a file in the spool, a member of a hook's `send`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// What the model reads.
    pub text: String,
    /// What it asks for.
    #[serde(default)]
    pub kind: Kind,
    /// How long it waits; [`DEFAULT_TTL`].
    #[serde(default)]
    pub ttl: Option<String>,
    /// Who sends it.
    #[serde(default)]
    pub from: Option<String>,
    /// The same id again is the same message. Without one it gets one.
    #[serde(default)]
    pub id: Option<String>,
}

/// By which way a message came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The admin API, whose token the sender has.
    Api,
    /// A file: anybody who can write there gives any name.
    File,
    /// A hook of this session's agent.
    Hook {
        /// The agent.
        agent: SessionKey,
        /// The hook.
        hook: String,
    },
}

/// A message in a mailbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Unique in its mailbox.
    pub id: String,
    /// What it asks for.
    pub kind: Kind,
    /// What the model reads.
    pub text: String,
    /// Who sent it.
    pub from: String,
    /// Whether that is known, or only said.
    pub verified: bool,
    /// How many messages of agents led to it without a prompt of a person between; 0: it is a person's.
    #[serde(default)]
    pub hops: u32,
    /// When it was taken in.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")]
    pub queued_at: Timestamp,
    /// When it is too late for it.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")]
    pub expires_at: Timestamp,
    /// What became of it.
    #[serde(flatten)]
    pub state: State,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// It waits.
    Queued,
    /// A request of this conversation was to bring it. Whether the upstream took that request is not known.
    Claimed {
        /// The conversation.
        conversation: String,
        /// Id of its turn.
        turn_id: String,
        /// The process of that request, where several share the store; none once it came to nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The upstream accepted a request that shows it.
    Delivered {
        /// When.
        #[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")]
        at: Timestamp,
        /// Ordinal of the turn in the session.
        turn: u64,
        /// The turn's id.
        turn_id: String,
    },
    /// Nobody took it in time.
    Expired,
    /// It was not taken in.
    Refused {
        /// Why.
        why: String,
    },
}

impl State {
    /// Its name in receipts: whether a request is under way with a message is the gateway's business.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Queued | Self::Claimed { .. } => "queued",
            Self::Delivered { .. } => "delivered",
            Self::Expired => "expired",
            Self::Refused { .. } => "refused",
        }
    }

    /// Whether it may still be delivered.
    pub const fn waits(&self) -> bool {
        matches!(self, Self::Queued | Self::Claimed { .. })
    }
}

impl Message {
    /// What of it is due to be forgotten.
    pub(super) fn is_late(&self, now: Timestamp) -> bool {
        self.state.waits() && self.expires_at <= now
    }
}

impl Written {
    /// The message as it is queued.
    ///
    /// # Errors
    /// [`Refusal`] naming what is wrong.
    pub fn checked(self, origin: &Origin, now: Timestamp) -> Result<Message, Refusal> {
        if self.text.trim().is_empty() {
            return Err(Refusal::Empty);
        }
        if self.text.len() > MAX_TEXT {
            return Err(Refusal::TooLong(self.text.len()));
        }
        let (from, verified) = sender(self.from, origin)?;
        let id = match self.id {
            Some(id) => key::checked(id.as_bytes())
                .ok_or_else(|| invalid("id", "write 1 or more printable ASCII characters"))?,
            None => fresh_id(),
        };
        let ttl = match self.ttl.as_deref() {
            None => DEFAULT_TTL,
            Some(text) => duration(text)
                .filter(|ttl| *ttl <= MAX_TTL)
                .ok_or_else(|| invalid("ttl", "write a duration such as 15m, at most 7d"))?,
        };
        let expires_at = now.checked_add(ttl).map_err(|_| invalid("ttl", "too long"))?;
        Ok(Message {
            id,
            kind: self.kind,
            text: self.text,
            from,
            verified,
            hops: 0,
            queued_at: now,
            expires_at,
            state: State::Queued,
        })
    }
}

fn invalid(member: &'static str, what: &str) -> Refusal {
    Refusal::Invalid { member, what: what.to_owned() }
}

/// Whose name it bears, and whether that is known.
fn sender(from: Option<String>, origin: &Origin) -> Result<(String, bool), Refusal> {
    let named = from.filter(|name| !name.trim().is_empty());
    if named.as_ref().is_some_and(|name| name.chars().count() > MAX_FROM || name.chars().any(char::is_control)) {
        return Err(invalid("from", "write at most 128 characters, none of them control characters"));
    }
    Ok(match origin {
        Origin::Api => (named.unwrap_or_else(|| "operator".to_owned()), true),
        Origin::File => (named.unwrap_or_else(|| NOBODY.to_owned()), false),
        Origin::Hook { agent, .. } => (format!("{}/{}", agent.id, agent.agent), true),
    })
}

/// An id that nobody else has.
pub fn fresh_id() -> String {
    let mut bytes = [0; 12];
    // Without randomness from the system nothing else would work either; the clock keeps ids apart.
    if getrandom::fill(&mut bytes).is_err() {
        bytes[..8].copy_from_slice(&Timestamp::now().as_nanosecond().to_le_bytes()[..8]);
    }
    bytes.iter().fold("m_".to_owned(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Written {
        Written { text: text.into(), ..Written::default() }
    }

    #[test]
    fn a_message_that_says_only_its_text_is_a_note_that_waits_a_quarter_of_an_hour() {
        let now = Timestamp::from_second(1000).unwrap();
        let message = written("hi").checked(&Origin::Api, now).unwrap();
        assert_eq!((message.kind, message.expires_at.as_second()), (Kind::Note, 1900));
        assert!(message.id.starts_with("m_") && message.verified);
    }

    #[test]
    fn what_can_not_be_delivered_is_refused_by_name() {
        let long = "x".repeat(MAX_TEXT + 1);
        for (message, said) in [
            (written(" \n"), "the text is empty"),
            (written(&long), "the text has 2049 bytes, at most 2048 are delivered"),
            (Written { ttl: Some("soon".into()), ..written("x") }, "ttl: write a duration such as 15m, at most 7d"),
            (Written { ttl: Some("8d".into()), ..written("x") }, "ttl: write a duration such as 15m, at most 7d"),
            (Written { id: Some("a\nb".into()), ..written("x") }, "id: write 1 or more printable ASCII characters"),
            (
                Written { from: Some("a\u{7}".into()), ..written("x") },
                "from: write at most 128 characters, none of them control characters",
            ),
        ] {
            assert_eq!(message.checked(&Origin::Api, Timestamp::now()).unwrap_err().to_string(), said);
        }
        assert!(written(&long[1..]).checked(&Origin::Api, Timestamp::now()).is_ok());
    }

    #[test]
    fn a_name_in_a_file_is_only_said() {
        let named = Written { from: Some("cto".into()), ..written("x") };
        let message = named.checked(&Origin::File, Timestamp::now()).unwrap();
        assert_eq!((&*message.from, message.verified), ("cto", false));
    }
}
