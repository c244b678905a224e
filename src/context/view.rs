//! What hookgate knows of a request body: roles, anchors and places, without a copy of its text.
use super::Digest;
use crate::json::{ScanError, Span};
use std::sync::Arc;

/// What a path does with a model-facing body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Asks the model for an answer.
    Generate,
    /// Counts tokens of the same body.
    Count,
    /// Submits many bodies at once.
    Batch,
}

/// The form in which the client wants the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerForm {
    /// One JSON body.
    Json,
    /// Server-sent events.
    Sse,
    /// Gemini without `alt=sse`: one JSON array whose elements arrive one by one.
    JsonArray,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions: system or developer, wherever they stand.
    System,
    /// The user (or what the client says in the user's name).
    User,
    /// The model.
    Assistant,
    /// Only tool results.
    Tool,
    /// Items that are nobody's speech: tool definitions carried in the input, references, compaction triggers.
    Other,
}

/// What one message (or a run of neighbouring assistant items) says, computed once per distinct raw text and cached by
/// the hash of that text: a long history is parsed once, not per request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemFacts {
    /// Who speaks; see [`RoleOr`] for the default.
    pub role: RoleOr,
    /// The normal form, as a link of the conversation's chain. `None`: leaves no trace (client reminders, system
    /// messages and other items that clients move or rewrite between requests).
    pub link: Option<Digest>,
    /// The normal form of the user's own text (and images), when there is any: not a tool result, not only reminders.
    pub prompt: Option<Digest>,
    /// Ids of the tool calls it makes. A call without an id (Gemini) has the digest of its name and arguments instead.
    pub calls: Vec<String>,
    /// Ids of the calls whose results it carries.
    pub results: Vec<String>,
    /// Holds a signed or encrypted block that is bound to what stands before it.
    pub signed: bool,
    /// Cache markers in it.
    pub markers: u8,
    /// A provider-side compaction of the history before it.
    pub compaction: bool,
    /// An assistant turn that waits for the server: unresolved server tool use. Nothing may be added to the reply.
    pub server_pending: bool,
    /// Which of its content blocks are only client reminders, by index into the native content (a string is block 0).
    pub reminders: Vec<usize>,
    /// Why it can't be read. Kept with the facts, so that a remembered item is refused as a new one is.
    pub broken: Option<ScanError>,
}

/// [`Role`] with a default, so that [`ItemFacts`] can be built field by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleOr(pub Role);

impl Default for RoleOr {
    fn default() -> Self {
        Self(Role::Other)
    }
}

/// One element of the history: a message, an input item, a content; neighbouring assistant elements form one.
#[derive(Debug, Clone)]
pub struct Item {
    /// From the first byte of its first element to the last byte of its last.
    pub span: Span,
    /// The elements of the native array that it covers, as indexes into it.
    pub elements: std::ops::Range<usize>,
    /// What it says.
    pub facts: Arc<ItemFacts>,
}

impl Item {
    /// Who speaks.
    pub fn role(&self) -> Role {
        self.facts.role.0
    }
}

/// A request that carries only what is new: the provider has the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Responses `previous_response_id`.
    PreviousResponse(String),
    /// Responses `conversation`.
    Conversation(String),
    /// Anthropic `thread: {type: create}`: whole history now, deltas later.
    ThreadCreate,
    /// Anthropic `thread: {type: continue, previous_message_id}`.
    ThreadContinue(String),
}

/// What the request is, seen from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A new user prompt: the index of the item that holds it.
    Prompt {
        /// Index into [`RequestView::items`].
        item: usize,
    },
    /// The same turn goes on: the index of the last item with tool results.
    Tool {
        /// Index into [`RequestView::items`].
        item: usize,
    },
    /// Ends with the assistant (a paused turn sent again, a prefill) or the server waits for results alone: nothing may be added at the tail.
    Resume,
    /// No message at all, or only instructions.
    Empty,
}

/// What hookgate knows of one request body.
#[derive(Debug, Clone)]
pub struct RequestView {
    /// What the path does.
    pub operation: Operation,
    /// The model that the client asked for, from the body or the path.
    pub model: Option<String>,
    /// The form of the answer.
    pub form: AnswerForm,
    /// The client's own instruction blocks that stand ahead of the conversation, in order: text spans with their JSON
    /// quotes. A string is one block.
    pub system: Vec<Span>,
    /// How many of the first of them the client needs first and untouched. The dialect does not know; who knows the client
    /// says it.
    pub protected: usize,
    /// False where the dialect has no place for instructions in this request (Gemini `cachedContent`).
    pub system_open: bool,
    /// The history in order.
    pub items: Vec<Item>,
    /// What the end of the request says it is.
    pub step: Step,
    /// Whether the request defines tools.
    pub has_tools: bool,
    /// The answer's token limit.
    pub max_tokens: Option<u64>,
    /// Asks for reasoning (`thinking`, `reasoning`, `reasoning_effort`, `thinkingConfig`).
    pub asks_reasoning: bool,
    /// Wants an answer of a given JSON shape (`output_config.format`, `response_format`, `text.format`, `responseSchema`): side requests often do.
    pub structured: bool,
    /// Cache markers anywhere in the request.
    pub markers: usize,
    /// Set when the provider holds the history.
    pub delta: Option<Delta>,
    /// How many answers are asked for (`n`, `candidateCount`).
    pub choices: u64,
}

impl RequestView {
    /// Whether this instruction block is one that the client needs first and untouched.
    pub fn is_protected(&self, text: Span) -> bool {
        self.system.iter().take(self.protected).any(|block| *block == text)
    }

    /// Index of the last item with a signed block.
    pub fn last_signed(&self) -> Option<usize> {
        self.items.iter().rposition(|i| i.facts.signed)
    }

    /// The next item behind `item` that somebody says.
    pub fn next_speech(&self, item: usize) -> Option<usize> {
        (item + 1..self.items.len()).find(|i| !matches!(self.items[*i].role(), Role::System | Role::Other))
    }

    /// Whether the provider holds the history before this request, so that what was placed there does not show in it.
    pub fn is_delta(&self) -> bool {
        self.delta.as_ref().is_some_and(|delta| *delta != Delta::ThreadCreate)
    }

    /// Whether this request's history carries no answer yet.
    pub fn is_first(&self) -> bool {
        !self.items.iter().any(|i| i.role() == Role::Assistant)
            && self.delta.as_ref().is_none_or(|d| *d == Delta::ThreadCreate)
    }
}
