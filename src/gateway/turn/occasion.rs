//! What all events of one turn have in common, and the events made of it.
use crate::config::EventKind;
use crate::context::{Answer, Call, Finish, Usage};
use crate::dialect::{DialectId, NeutralRequest};
use crate::hooks::contract::{Event, ModelInfo, PromptInfo, SessionInfo, ToolInfo, TurnInfo, VERSION};
use crate::hooks::{event_id, model};
use crate::session::conversation::{Said, Turn};
use crate::session::record::{ModelSeen, SessionKey, SessionRecord, Source};
use crate::telemetry::traces::Trace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whose turn it is, what was asked, and of whom. Stored with a stop that is not run yet, so that it can run after a
/// restart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Occasion {
    /// The session.
    pub session: SessionKey,
    /// The parent agent.
    pub parent: Option<String>,
    /// The workspace.
    pub project: Option<String>,
    /// Why the session's activation began.
    pub source: Source,
    /// Counts the activations of the session.
    pub activation: u64,
    /// RFC 3339.
    pub started_at: String,
    /// Ordinal of the turn in the session.
    pub turn: u64,
    /// Whether this request opened the session.
    pub new: bool,
    /// Which model is asked, and where.
    pub model: ModelSeen,
    /// The user's words.
    pub prompt: Option<String>,
    /// The request's trace; a stop that a restart interrupted has none.
    #[serde(skip)]
    pub trace: Trace,
}

/// How a turn ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TurnEnd {
    /// Stable over retries.
    pub id: String,
    /// The last answer's id.
    pub message_id: Option<String>,
    /// The whole turn's text.
    pub text: String,
    /// Where in it the last answer begins, in bytes.
    #[serde(default)]
    pub last_from: usize,
    /// The whole turn's calls.
    pub calls: Vec<Call>,
    /// Neutral.
    pub finish: Finish,
    /// The provider's.
    pub native_finish: Option<String>,
    /// Input of the last request, output of all.
    pub usage: Usage,
    /// Answers that hooks asked for, and the first.
    #[serde(default = "one")]
    pub legs: u32,
    /// Whether a hook has sent the model back to work in this turn.
    #[serde(default)]
    pub continuing: bool,
    /// Ordinal of the time that the turn was about to end.
    #[serde(default = "one")]
    pub attempt: u32,
    /// The upstream's words for why it failed.
    #[serde(default)]
    pub error: Option<String>,
}

/// Of an ending that an earlier version stored.
const fn one() -> u32 {
    1
}

impl TurnEnd {
    /// From the last answer of the turn; the caller adds what was said before it.
    pub(super) fn of(id: &str, answer: &Answer) -> Self {
        Self {
            id: id.to_owned(),
            message_id: answer.id.clone(),
            text: answer.text.clone(),
            last_from: 0,
            calls: answer.calls.clone(),
            finish: answer.finish,
            native_finish: answer.native_finish.clone(),
            usage: answer.usage,
            legs: 1,
            continuing: false,
            attempt: 1,
            error: answer.error.clone(),
        }
    }

    /// Says how often the running turn was continued.
    pub(super) fn continued(&mut self, turn: &Turn) {
        self.legs = turn.continued.saturating_add(1);
        self.continuing = turn.continued > 0;
        self.attempt = self.legs;
    }

    /// Puts what was said earlier ahead of it.
    pub(super) fn put_before(&mut self, said: &Said) {
        self.text.insert_str(0, &said.text);
        self.last_from += said.text.len();
        self.calls.splice(0..0, said.calls.iter().cloned());
    }

    fn info(&self) -> TurnInfo {
        TurnInfo {
            id: self.id.clone(),
            message_id: self.message_id.clone(),
            text: self.text.clone(),
            last_from: self.last_from,
            tool_calls: self.calls.clone(),
            finish_reason: self.finish,
            native_finish_reason: self.native_finish.clone(),
            usage: self.usage,
            legs: self.legs,
            continuing: self.continuing,
            attempt: self.attempt,
            error: self.error.clone(),
        }
    }
}

/// What an event says beside its [`Occasion`].
#[derive(Debug, Default)]
pub(super) struct Particulars<'a> {
    /// What makes it this event and no other: the turn's id, the activation.
    pub identity: &'a str,
    /// The request in neutral words, if a hook wants it.
    pub request: Option<Arc<NeutralRequest>>,
    /// On `tool.call` and `tool.result`.
    pub tool: Option<ToolInfo>,
    /// On `tool.result`, of a whole step.
    pub batch: Option<Arc<[ToolInfo]>>,
    /// On stop and fail.
    pub turn: Option<&'a TurnEnd>,
    /// On fail and end.
    pub reason: Option<&'a str>,
}

impl ModelSeen {
    /// As events show it.
    pub(super) fn info(&self) -> ModelInfo {
        ModelInfo {
            requested: self.requested.clone(),
            resolved: self.resolved.clone(),
            family: model::family(&self.resolved),
            dialect: self.dialect.name(),
            upstream: self.upstream.clone(),
        }
    }
}

impl Occasion {
    /// Of a session that ends: what its record tells of its last turn.
    pub(super) fn of_record(record: &SessionRecord) -> Self {
        // A record without a model is one that no turn was begun in.
        let nothing = || ModelSeen {
            requested: String::new(),
            resolved: String::new(),
            dialect: DialectId::Anthropic,
            upstream: String::new(),
        };
        Self {
            session: record.key.clone(),
            parent: record.parent.clone(),
            project: record.project.clone(),
            source: record.source,
            activation: record.activation,
            started_at: record.started_at.to_string(),
            turn: record.turns,
            new: false,
            model: record.model.clone().unwrap_or_else(nothing),
            prompt: None,
            trace: Trace::default(),
        }
    }

    /// The event for the hooks that listen to `kind`; `record`, if the session has one, tells what the slots hold now.
    pub(super) fn event(&self, kind: EventKind, record: Option<&SessionRecord>, particulars: Particulars<'_>) -> Event {
        let key = &self.session;
        Event {
            v: VERSION,
            event: kind.name(),
            event_id: event_id(&[&key.tenant.0, &key.id, &key.agent, kind.name(), particulars.identity]),
            hook: String::new(),
            session: SessionInfo {
                id: key.id.clone(),
                agent: key.agent.clone(),
                parent: self.parent.clone(),
                project: self.project.clone(),
                tenant: key.tenant.0.clone(),
                turn: self.turn,
                source: self.source.name().to_owned(),
                started_at: self.started_at.clone(),
                new: self.new,
            },
            model: self.model.info(),
            persistent: record.map(slots).unwrap_or_default(),
            prompt: self.prompt.clone().map(|text| PromptInfo { text }),
            request: particulars.request,
            roster: None,
            batch: particulars.batch,
            tool: particulars.tool,
            turn: particulars.turn.map(TurnEnd::info),
            reason: particulars.reason.map(str::to_owned),
            trace: self.trace.clone(),
        }
    }
}

fn slots(record: &SessionRecord) -> BTreeMap<String, String> {
    record.slots.iter().map(|(name, slot)| (name.clone(), slot.text.clone())).collect()
}
