//! The four wire formats. Each is one folder: view (reading a request), lower (placements to splices), reader (an answer,
//! streamed or not), writer (a whole answer and errors made by the gateway), joiner and legs (several answers that the
//! client knows as one: on their way down, and in the histories that go up). Pure: no IO, no tasks.
//!
//! A new dialect is one new folder, one variant of [`DialectId`] and one arm of [`of`].

pub mod anthropic;
pub mod binder;
#[cfg(test)]
mod binder_testing;
mod blocks;
mod body_binder;
mod body_joiner;
pub mod chat;
mod edit;
#[cfg(test)]
mod edit_testing;
mod frame;
pub mod gemini;
mod held;
mod history;
mod joiner;
#[cfg(test)]
mod leg_testing;
pub mod neutral;
mod object;
mod openai;
mod path;
mod plan;
pub mod responses;
mod restore;
mod rewrite;
mod split;
#[cfg(test)]
mod testing;
mod transcript;
mod upstream_error;

pub use binder::{BindError, Binder, BoundLeg, Pass, Ruled};
pub use edit::EditError;
pub use joiner::{JoinError, Joiner, Piece};
pub use neutral::{NeutralMessage, NeutralRequest, NeutralResult, NeutralTool, ToolResult};
pub use upstream_error::ErrorWords;

use crate::context::{Answer, AnswerForm, Binding, Call, Edit, ItemFacts, Leg, Operation, Place, RequestView};
use crate::json::{Doc, ScanError, Span, Splice};
use bytes::Bytes;
use std::sync::Arc;

/// Names a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DialectId {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Gemini generateContent.
    Gemini,
}

impl DialectId {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Chat, Self::Responses, Self::Gemini];

    /// The name in events, logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Gemini => "gemini",
        }
    }
}

/// The dialect's code.
pub fn of(id: DialectId) -> &'static dyn Dialect {
    match id {
        DialectId::Anthropic => &anthropic::Anthropic,
        DialectId::Chat => &chat::Chat,
        DialectId::Responses => &responses::Responses,
        DialectId::Gemini => &gemini::Gemini,
    }
}

/// A path that carries a model-facing body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Whose.
    pub dialect: DialectId,
    /// What it does.
    pub operation: Operation,
    /// The model, where the path names it (Gemini).
    pub model: Option<String>,
    /// The form of the answer, where the path says it (Gemini); elsewhere the body does.
    pub form: Option<AnswerForm>,
}

/// The endpoint that a request path names, by its end, so that any prefix may stand before it; `query` without `?`.
/// `None`: nothing that hookgate looks into.
pub fn endpoint(method: &http::Method, path: &str, query: Option<&str>) -> Option<Endpoint> {
    DialectId::ALL.iter().find_map(|id| of(*id).endpoint(method, path, query))
}

/// What reading a request needs from outside.
pub struct Reading<'a> {
    /// Whether a text block is the client's own reminder (date, environment, memory) and not the user's words.
    pub is_reminder: &'a dyn Fn(&str) -> bool,
    /// Facts by the raw text they were computed from.
    pub cache: &'a dyn FactsCache,
}

/// Remembers [`ItemFacts`] by the raw text of the item.
pub trait FactsCache {
    /// The facts of `raw`, computed by `compute` if they are not known.
    fn facts(&self, raw: &str, compute: &dyn Fn() -> ItemFacts) -> Arc<ItemFacts>;
}

/// A cache that remembers nothing: for tests and one-off reads.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoCache;

impl FactsCache for NoCache {
    fn facts(&self, _raw: &str, compute: &dyn Fn() -> ItemFacts) -> Arc<ItemFacts> {
        Arc::new(compute())
    }
}

/// Why a body of a known endpoint can't be used for hooks. The gateway answers 400 for [`ViewError::Scan`] and relays
/// the body untouched for the rest: the provider knows best what to say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// An object that hookgate reads is ambiguous or broken.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A member has a type that the dialect does not know.
    #[error("{member} has an unexpected type")]
    Shape {
        /// Which member.
        member: &'static str,
    },
}

/// Why a placement can't be lowered. The gateway sends the body without it and says so in the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// The item has no place for text (a wrong role, content that can't be extended).
    #[error("item {item} has no place for text")]
    NoPlace {
        /// Index into the items.
        item: usize,
    },
    /// The request has no place for instructions.
    #[error("this request takes no instructions")]
    NoSystem,
    /// The element could not be read.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// A reply that the gateway makes itself: a blocked prompt's reason, or a hook's `respond`.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The assistant's text.
    pub text: String,
    /// The model that the client asked for.
    pub model: String,
    /// Unique within the gateway, `[a-z0-9]`, for the ids that the dialect wants.
    pub id: String,
    /// Seconds since 1970, for dialects that state when an answer was made.
    pub created: u64,
}

/// An error that the gateway tells of, before a dialect gives it a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    /// HTTP status.
    pub status: u16,
    /// As in `x-hookgate-error`.
    pub code: &'static str,
    /// What the client reads.
    pub message: String,
    /// The gateway's request id.
    pub request_id: String,
    /// The upstream's own words, where the error is the upstream's.
    pub said: Option<ErrorWords>,
}

/// Reads one answer. Fed with frames or a whole body; never changes what is forwarded.
pub trait AnswerReader: Send {
    /// The data of one server-sent event, or one element of a JSON array stream.
    fn event(&mut self, event: Option<&[u8]>, data: &[u8]);
    /// A whole JSON body (any status).
    fn body(&mut self, body: &[u8]);
    /// Whether the dialect's terminal marker has been seen: what came is the whole answer, even if nothing follows.
    fn is_terminal(&self) -> bool;
    /// Whether nothing of the answer can follow any more; token counts may, behind a terminal marker.
    fn is_closed(&self) -> bool {
        self.is_terminal()
    }
    /// What was read. Without a terminal marker the answer is cut, unless the dialect has none and what came is whole.
    fn finish(&mut self) -> Answer;
}

/// One wire format.
pub trait Dialect: Send + Sync + 'static {
    /// Which.
    fn id(&self) -> DialectId;

    /// The endpoint, if the path is one of this dialect's.
    fn endpoint(&self, method: &http::Method, path: &str, query: Option<&str>) -> Option<Endpoint>;

    /// Reads a request.
    ///
    /// # Errors
    /// [`ViewError`] when the body is ambiguous, or of a shape that the dialect does not know.
    fn view(&self, doc: &Doc, endpoint: &Endpoint, reading: &Reading<'_>) -> Result<RequestView, ViewError>;

    /// The bodies of a batch, each where it stands; none where the batch names a file that holds them.
    ///
    /// # Errors
    /// [`ViewError`] when the batch is ambiguous, or of a shape that the dialect does not know.
    fn batch(&self, _doc: &Doc) -> Result<Vec<Span>, ViewError> {
        Ok(Vec::new())
    }

    /// Lowers placements to edits of the body; the result is legal for the dialect.
    ///
    /// # Errors
    /// [`LowerError`] for the first placement that has no place; nothing is then lowered.
    fn lower(&self, doc: &Doc, view: &RequestView, places: &[Place]) -> Result<Splice, LowerError>;

    /// What one edit changes of the body; the result is legal for the dialect. An edit that finds nothing to change (a tool
    /// that is not there to be removed) changes nothing. Edits of the model's name and of headers are the gateway's.
    ///
    /// # Errors
    /// [`EditError`]: nothing of it is made then.
    fn edit(&self, doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError> {
        match edit {
            Edit::Native { dialect, patch } => return edit::native(doc, self.id(), *dialect, patch),
            _ if view.operation == Operation::Batch => {
                return Err(EditError::Unknown { dialect: self.id().name(), what: "edit of a batch" });
            }
            Edit::ModelSet { .. } | Edit::HeadersSet { .. } | Edit::HeadersRemove { .. } => return Ok(Splice::new()),
            _ => {}
        }
        match edit::placed(view, edit)? {
            Some(place) => Ok(self.lower(doc, view, &[place])?),
            None => self.rewrite(doc, view, edit),
        }
    }

    /// [`Dialect::edit`], for edits that are more than a patch or a text in a place that every dialect has.
    ///
    /// # Errors
    /// As there.
    fn rewrite(&self, doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError>;

    /// The names of the tools that the answer to this body may call, in all carriers that the dialect has; `None` where
    /// there may be others that the body does not show (cached content, stored prompts, tools of the provider).
    fn roster(&self, doc: &Doc, view: &RequestView) -> Option<Vec<String>>;

    /// The request of the next leg: `doc`, the body of the leg before as it was sent, with that leg's answer and reply
    /// behind it, in places that are legal for the dialect. Where the provider holds the answer, only the reply goes up,
    /// behind the answer's id.
    ///
    /// # Errors
    /// [`LowerError`] when the body has no place for it.
    fn extend(&self, doc: &Doc, view: &RequestView, leg: &Leg) -> Result<Splice, LowerError>;

    /// Joins the answers of several legs in this form to one message.
    fn joiner(&self, form: AnswerForm) -> Box<dyn Joiner>;

    /// Holds one leg in this form to the tools that it may call.
    fn binder(&self, form: AnswerForm, binding: Arc<Binding>) -> Box<dyn Binder>;

    /// The calls of an answer that [`Joiner::answer`] gave, as elements of the native history, in order.
    fn native_calls(&self, answer: &[String]) -> Vec<String>;

    /// The type of a call, one of [`Dialect::native_calls`], for its result ([`LegResult::kind`]); `None` where no text can be
    /// the result.
    fn result_kind(&self, _call: &str) -> Option<String> {
        Some(String::new())
    }

    /// The request in neutral words, for hooks that ask for it. Costs a parse of the whole body.
    fn neutral(&self, doc: &Doc, view: &RequestView) -> NeutralRequest;

    /// The user's own words of one item (no reminders), blocks joined by a newline.
    fn prompt_text(&self, doc: &Doc, view: &RequestView, item: usize, reading: &Reading<'_>) -> String;

    /// Text and calls of one assistant item.
    fn said(&self, doc: &Doc, view: &RequestView, item: usize) -> (String, Vec<Call>);

    /// The tool results of one item, in the order of [`ItemFacts::results`]. None for what only looks like one (Responses'
    /// approval of a call).
    fn results(&self, doc: &Doc, view: &RequestView, item: usize) -> Vec<ToolResult>;

    /// A reader for one answer in this form.
    fn reader(&self, form: AnswerForm) -> Box<dyn AnswerReader>;

    /// Content type of an answer in this form.
    fn content_type(&self, form: AnswerForm) -> &'static str {
        match form {
            AnswerForm::Sse => "text/event-stream; charset=utf-8",
            AnswerForm::Json | AnswerForm::JsonArray => "application/json",
        }
    }

    /// A complete, normal assistant message.
    fn reply(&self, reply: &Reply, form: AnswerForm) -> Bytes;

    /// Body of an error answer that this dialect's SDKs parse. Gemini's array stream wraps it in `[ ]`.
    fn error(&self, error: &WireError, form: AnswerForm) -> Bytes;

    /// The end of a stream that can't go on: the dialect's own error event, ready to be written after whole frames. `open` is
    /// true when the last frame was cut in the middle, so that it must be ended first.
    fn stream_error(&self, error: &WireError, form: AnswerForm, open: bool) -> Bytes;

    /// A keep-alive that every SDK of this dialect ignores.
    fn keep_alive(&self, form: AnswerForm) -> Bytes;
}
