//! What is kept of one request. Serialized it is what the admin API and the event stream show.
use super::run::HookRun;
use crate::context::Usage;
use jiff::Timestamp;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Hooks run, or the upstream has not answered yet.
    Asking,
    /// The answer comes.
    Answering,
    /// It is over.
    Done,
}

/// Token counts as the provider reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Input {
    /// Not from the provider's cache.
    pub input: u64,
    /// Read from it.
    pub cached_input: u64,
    /// Written by the model.
    pub output: u64,
}

impl From<Usage> for Input {
    fn from(usage: Usage) -> Self {
        Self { input: usage.input, cached_input: usage.cached_input, output: usage.output }
    }
}

/// A text of hooks that stands in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Standing {
    /// The hook or slot that it comes from; empty where that is not known any more.
    #[schema(value_type = String)]
    pub source: Arc<str>,
    /// persistent or ephemeral.
    pub kind: &'static str,
    /// system, or message and its index from 0.
    pub place: &'static str,
    /// Which message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// Whether the request before this one had it.
    pub is_new: bool,
    /// The beginning of the text.
    #[schema(value_type = String)]
    pub text: Arc<str>,
}

/// What became of the room for new texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Budget {
    /// Characters that were used.
    pub used: usize,
    /// `lifecycle.max_injected_context_chars`.
    pub limit: usize,
    /// Hooks whose text was cut.
    pub cut: Vec<String>,
    /// Hooks whose text was left out.
    pub left_out: Vec<String>,
}

/// What of the request before is a prefix of this one, in bytes of the client's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Cache {
    /// The request before.
    pub before: u64,
    /// What the client kept of it.
    pub client: u64,
    /// What was kept of it in what went up.
    pub sent: u64,
    /// Hooks at whose text the prefix broke though the client kept it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken_by: Vec<String>,
    /// Tokens that the provider had to read again for it, estimated by bytes; known with the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reread_tokens: Option<u64>,
}

/// Why the model was sent back to work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Continuation {
    /// hook, message or refused_calls.
    pub by: &'static str,
    /// What it was told; only where one request is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub text: Option<Box<str>>,
}

/// One request.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Request {
    /// As in the answer's `x-hookgate-request-id`.
    pub id: String,
    /// Opaque owner of the session.
    pub tenant: String,
    /// The session.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// When it came.
    pub at: Timestamp,
    /// turn, side or compaction.
    pub kind: &'static str,
    /// What it brings: prompt, tool (results), resume or empty.
    pub step: &'static str,
    /// Ordinal of the turn in the session; 0 where it belongs to none.
    pub turn: u64,
    /// The client's profile.
    pub client: String,
    /// The model as the client named it.
    pub model: String,
    /// After aliases, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// The wire format.
    pub dialect: &'static str,
    /// Where it goes.
    pub upstream: String,
    /// Messages in its history.
    pub items: usize,
    /// Size of the body as it came, in bytes.
    pub received: usize,
    /// Size of the body that went up; null while it did not.
    pub sent: Option<usize>,
    /// How far it is.
    pub state: State,
    /// Until it went up, in microseconds.
    pub prepared_us: Option<u64>,
    /// Until the upstream answered, in microseconds.
    pub answered_us: Option<u64>,
    /// Until its end, in microseconds.
    pub took_us: Option<u64>,
    /// The upstream's.
    pub status: Option<u16>,
    /// completed, step, failed; replied: the gateway answered; refused: it was not sent; unfollowed: it is no turn.
    pub outcome: Option<&'static str>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The upstream's words for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub error: Option<Box<str>>,
    /// stop, length, tool_calls, refusal, pause or error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub finish: Option<crate::context::Finish>,
    /// Names of the tools that the answer calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// What it cost, all legs together.
    pub usage: Option<Input>,
    /// The hooks that ran for it, in the order in which they ended.
    pub hooks: Vec<HookRun>,
    /// How many texts of hooks stand in it.
    pub standing: usize,
    /// Their characters.
    pub standing_chars: usize,
    /// Those texts; only where one request is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Standing>,
    /// What became of the room for new texts; null where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What providers' caches can reuse; null for a first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// Ids of the messages of the session bus that it delivered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Further legs of its answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub continuations: Vec<Continuation>,
}

impl Request {
    /// Without texts: for lists and for the event stream.
    pub(super) fn summary(&self) -> Self {
        Self {
            hooks: self.hooks.iter().map(HookRun::bare).collect(),
            texts: Vec::new(),
            continuations: self.continuations.iter().map(|c| Continuation { by: c.by, text: None }).collect(),
            id: self.id.clone(),
            tenant: self.tenant.clone(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            client: self.client.clone(),
            model: self.model.clone(),
            resolved: self.resolved.clone(),
            upstream: self.upstream.clone(),
            reason: self.reason.clone(),
            error: self.error.clone(),
            calls: self.calls.clone(),
            budget: self.budget.clone(),
            cache: self.cache.clone(),
            messages: self.messages.clone(),
            ..*self
        }
    }

    /// About how many bytes it takes.
    pub(super) fn weight(&self) -> usize {
        let runs = self.hooks.iter().map(HookRun::weight).sum::<usize>();
        let texts = self.texts.iter().map(|text| size_of::<Standing>() + text.text.len()).sum::<usize>();
        let continued = self.continuations.iter().filter_map(|c| c.text.as_ref()).map(|text| text.len()).sum::<usize>();
        let listed = [&self.calls, &self.messages]
            .into_iter()
            .chain(self.budget.iter().flat_map(|budget| [&budget.cut, &budget.left_out]))
            .chain(self.cache.iter().map(|cache| &cache.broken_by));
        let listed = listed.flatten().map(|name| size_of::<String>() + name.len()).sum::<usize>();
        let names = [&self.id, &self.tenant, &self.session, &self.agent, &self.client, &self.model, &self.upstream];
        let names = names.into_iter().chain(&self.resolved).chain(&self.reason).map(String::len).sum::<usize>();
        let error = self.error.as_ref().map_or(0, |text| text.len());
        size_of::<Self>() + runs + texts + continued + listed + names + error
    }
}
