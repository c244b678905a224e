//! What a hook gets and what it may answer (README, What a hook gets and says).
use crate::bus::{Kind, Written};
use crate::context::{Call, Digest, Edit, Usage};
use crate::dialect::NeutralRequest;
use crate::knowledge::Draft;
use crate::telemetry::traces::Trace;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Version of the event format.
pub const VERSION: u32 = 1;

/// One event for one hook: a line of compact JSON on stdin, or a POST body.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// [`VERSION`].
    pub v: u32,
    /// `session.start` and so on.
    pub event: &'static str,
    /// Deterministic: the same event, if it has to run again after a crash, has the same id.
    pub event_id: String,
    /// The hook's name; filled in by the pipeline.
    pub hook: String,
    /// Whose event it is.
    pub session: SessionInfo,
    /// The model that is asked.
    pub model: ModelInfo,
    /// What the slots hold.
    pub persistent: BTreeMap<String, String>,
    /// The user's prompt of this turn.
    pub prompt: Option<PromptInfo>,
    /// Only for hooks with `include: [request]`; the pipeline takes it out for the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Arc<NeutralRequest>>,
    /// Only on `tool.call` and `tool.result`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolInfo>,
    /// The names of the request's tools, for a runner that [asks](super::runner::Runner::wants_roster); not a part of what
    /// hooks read. `None` also where there may be tools that the request does not show.
    #[serde(skip)]
    pub roster: Option<Arc<[String]>>,
    /// All calls of a step with their results, for a runner that [asks](super::runner::Runner::wants_batch): the event is of
    /// the step then, and of no result alone. Not a part of what hooks read.
    #[serde(skip)]
    pub batch: Option<Arc<[ToolInfo]>>,
    /// Only on stopping, stop and fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnInfo>,
    /// Why a turn failed or a session ended; only on `session.fail` and `session.end`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The request that it belongs to; not a part of what hooks read.
    #[serde(skip)]
    pub trace: Trace,
}

/// `session`.
#[derive(Debug, Clone, Serialize)]
pub struct SessionInfo {
    /// The session's id.
    pub id: String,
    /// The agent, `main` for the first.
    pub agent: String,
    /// The parent agent.
    pub parent: Option<String>,
    /// The workspace.
    pub project: Option<String>,
    /// Opaque owner.
    pub tenant: String,
    /// Ordinal of the turn, from 1.
    pub turn: u64,
    /// `startup`, `resume`, `compact`.
    pub source: String,
    /// RFC 3339.
    pub started_at: String,
    /// Whether this request opened it.
    pub new: bool,
}

/// `model`.
#[derive(Debug, Clone, Serialize)]
pub struct ModelInfo {
    /// As the client named it.
    pub requested: String,
    /// After aliases.
    pub resolved: String,
    /// The maker's line.
    pub family: &'static str,
    /// The wire format.
    pub dialect: &'static str,
    /// Where it goes.
    pub upstream: String,
}

/// `prompt`.
#[derive(Debug, Clone, Serialize)]
pub struct PromptInfo {
    /// The user's words.
    pub text: String,
}

/// `tool`: a call, and on `tool.result` what came of it.
#[derive(Debug, Clone, Serialize)]
pub struct ToolInfo {
    /// The call's id; empty where the dialect has none (Gemini).
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them; `null` where the request does not show them.
    pub input: Box<RawValue>,
    /// What the tool said, its texts joined by newlines; `null` on `tool.call`.
    pub result: Option<String>,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// `turn`.
#[derive(Debug, Clone, Serialize)]
pub struct TurnInfo {
    /// Stable over retries.
    pub id: String,
    /// The last answer's id.
    pub message_id: Option<String>,
    /// The whole turn's answer, all its requests.
    pub text: String,
    /// Where in `text` the last answer begins, in bytes.
    #[serde(skip)]
    pub last_from: usize,
    /// The whole turn's calls.
    pub tool_calls: Vec<Call>,
    /// Neutral.
    pub finish_reason: crate::context::Finish,
    /// The provider's.
    pub native_finish_reason: Option<String>,
    /// Input of the last request, output of all.
    pub usage: Usage,
    /// Answers of the model that the message which ends now is made of: 1 where no hook extended it.
    pub legs: u32,
    /// From the first continuation of a turn to the next user prompt, across tool steps.
    pub continuing: bool,
    /// Ordinal, from 1, of the end that this is in its turn: one more than the continuations before it.
    pub attempt: u32,
    /// The upstream's words for why it failed.
    #[serde(skip)]
    pub error: Option<String>,
}

impl TurnInfo {
    /// The text of the last answer alone.
    #[must_use]
    pub fn last_text(&self) -> &str {
        self.text.get(self.last_from..).unwrap_or_default()
    }
}

/// A deterministic id of the event that `parts` name: the same parts give the same id, after a crash too, and another
/// split of the same characters gives another one. 128 bits of a digest in Crockford's base32, 26 characters like a ULID.
#[must_use]
pub fn event_id(parts: &[&str]) -> String {
    /// Crockford's base32: no I, L, O, U.
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    /// 26 characters of 5 bits hold 130; the first carries 3 bits.
    const LENGTH: u32 = 26;
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    let bits = u128::from_be_bytes(Digest::of(&parts).0);
    (0..LENGTH).rev().map(|place| char::from(ALPHABET[(bits >> (5 * place)) as usize % ALPHABET.len()])).collect()
}

/// What a hook answered, checked and cleaned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Texts, none blank.
    pub context: Vec<String>,
    /// The slot is emptied.
    pub clear_context: bool,
    /// The prompt is refused with this reason.
    pub block: Option<String>,
    /// The gateway answers with this text.
    pub respond: Option<String>,
    /// The turn does not end yet: the model is told this text, which is not blank, and goes on. Only on
    /// `session.stopping`.
    pub continue_with: Option<String>,
    /// The turn ends, whatever other hooks say. Only on `session.stopping`.
    pub veto: bool,
    /// What the model sees otherwise. Only on `model.context`, `session.start` and `prompt.submit`.
    pub edits: Arc<[Edit]>,
    /// What is to be remembered once somebody has approved it.
    pub propose: Vec<Draft>,
    /// Messages to other agents.
    pub send: Vec<Sending>,
    /// What becomes of a tool's call or result. Only on `tool.call` and `tool.result`.
    pub tool: ToolOutcome,
}

/// A message to other agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// To which session; `None`: the event's own.
    pub session: Option<String>,
    /// To which of its agents; `None`: the first.
    pub agent: Option<String>,
    /// The message.
    pub message: Written,
}

impl<'de> Deserialize<'de> for Sending {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct To {
            session: Option<String>,
            agent: Option<String>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct AsWritten {
            #[serde(default)]
            to: To,
            text: String,
            #[serde(default)]
            kind: Kind,
            ttl: Option<String>,
            id: Option<String>,
        }
        let AsWritten { to, text, kind, ttl, id } = AsWritten::deserialize(deserializer)?;
        // Who sends it is known.
        let message = Written { text, kind, ttl, from: None, id };
        Ok(Self { session: to.session, agent: to.agent, message })
    }
}

/// What a hook says of one tool call or of its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutcome {
    /// The call is not made; the model is told why. Only on `tool.call`.
    pub deny: Option<String>,
    /// The call is made with these arguments instead. Only on `tool.call`.
    pub input: Option<Value>,
    /// The model gets this text as the result. Only on `tool.result`.
    pub result: Option<String>,
}

/// The effect of a refusal.
pub(super) const BLOCK: &str = "block";

impl Outcome {
    /// The names of what it does, as in the answer.
    #[must_use]
    pub fn effects(&self) -> Vec<&'static str> {
        let effects = [
            (!self.context.is_empty(), "context"),
            (self.clear_context, "clear_context"),
            (self.block.is_some(), BLOCK),
            (self.respond.is_some(), "respond"),
            (self.continue_with.is_some(), "continue"),
            (self.veto, "veto"),
            (self.tool.deny.is_some(), "tool.deny"),
            (self.tool.input.is_some(), "tool.input"),
            (self.tool.result.is_some(), "tool.result"),
            (!self.edits.is_empty(), "edits"),
            (!self.propose.is_empty(), "propose"),
            (!self.send.is_empty(), "send"),
        ];
        effects.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ids_are_deterministic_and_tell_parts_apart() {
        let id = event_id(&["t_1", "s1", "main", "prompt.submit", "3"]);
        assert_eq!(id, event_id(&["t_1", "s1", "main", "prompt.submit", "3"]));
        assert_ne!(id, event_id(&["t_1", "s1", "main", "prompt.submit3", ""]));
        assert_eq!(id.len(), 26);
        assert!(id.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()), "{id}");
        assert!(id.as_bytes()[0] < b'8', "26 characters hold 130 bits: the first one stays below 8");
    }
}
