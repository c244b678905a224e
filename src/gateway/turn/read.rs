//! First phase: what the body says, in the dialect's and the client's terms.
use super::alias::Rename;
use super::{TurnError, Turns};
use crate::config::EventKind;
use crate::context::{Item, Operation, RequestView, Role, Step};
use crate::dialect::{self, Dialect, DialectId, Endpoint, NeutralRequest, Reading, ViewError};
use crate::gateway::request_id::RequestId;
use crate::inspect::Recording;
use crate::json::{Doc, Rope, Splice, raw};
use crate::session::key::PathIds;
use crate::session::profile::{Profile, RequestFacts, RequestKind, Texts};
use crate::session::record::Tenant;
use crate::telemetry::traces::Trace;
use bytes::Bytes;
use http::HeaderMap;
use std::borrow::Cow;
use std::sync::Arc;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;

/// A request as the edge hands it over.
#[derive(Clone)]
pub struct Asked {
    /// What the path names.
    pub endpoint: Endpoint,
    /// The client's headers.
    pub headers: Arc<HeaderMap>,
    /// The tenant of the gateway's own key that it came with.
    pub tenant: Option<Tenant>,
    /// The query, for a credential in it.
    pub query: Option<String>,
    /// A session named in the base URL.
    pub path_ids: Option<PathIds<'static>>,
    /// The body, decoded.
    pub body: Bytes,
    /// The upstream's name.
    pub upstream: String,
    /// Whether the upstream caches prompts.
    pub cached: bool,
    /// The gateway's request id.
    pub request_id: RequestId,
    /// Its trace.
    pub trace: Trace,
}

/// From this size on, in bytes, reading a body takes longer than a stream of another client should wait (about 1 ms).
const LARGE: usize = 1 << 20;

/// What became of reading a body.
pub(super) enum Looked {
    /// Hooks may have to do with it.
    Read(Box<Read>),
    /// They have not; the body, if the model in it was renamed.
    Unread(Option<Rope>),
}

impl Looked {
    fn unread(doc: &Doc, rename: Option<&Rename>) -> Self {
        let rope = rename.and_then(|rename| {
            let mut splice = Splice::new();
            rename.apply(&mut splice);
            splice.apply(doc.bytes()).ok()
        });
        Self::Unread(rope)
    }
}

/// A request that was read.
pub(super) struct Read {
    /// As handed over.
    pub asked: Asked,
    /// Its body.
    pub doc: Doc,
    /// What it says.
    pub view: RequestView,
    /// The model's name on the way up, where it is another.
    pub(super) rename: Option<Rename>,
    /// The client.
    pub profile: Arc<Profile>,
    /// What it is.
    pub kind: RequestKind,
    /// When all hooks before it goes up must be done.
    pub deadline: Instant,
    /// What is shown of it.
    pub recording: Recording,
}

impl Read {
    /// What the path names.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.asked.endpoint
    }

    /// Does what takes as long as reading the body does; of a large one where it holds up no other request.
    pub(super) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        let has_others =
            Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        if self.doc.bytes().len() >= LARGE && has_others { tokio::task::block_in_place(work) } else { work() }
    }

    /// The dialect's code.
    pub(super) fn dialect(&self) -> &'static dyn Dialect {
        dialect::of(self.asked.endpoint.dialect)
    }

    /// Whether it belongs to a turn of the user's.
    pub(super) fn is_turn(&self) -> bool {
        self.kind == RequestKind::Turn
    }

    /// A body of this request in neutral words, as it came or as hooks changed it.
    pub(super) fn neutral(&self, doc: &Doc, view: &RequestView) -> NeutralRequest {
        NeutralRequest { kind: self.kind_name(), ..self.dialect().neutral(doc, view) }
    }

    /// What hooks are told that it is.
    pub(super) fn kind_name(&self) -> &'static str {
        match (self.asked.endpoint.operation, self.kind) {
            (Operation::Count, _) => "count",
            (Operation::Batch, _) => "batch",
            (Operation::Generate, RequestKind::Turn) => "turn",
            (Operation::Generate, RequestKind::Side) => "side",
            (Operation::Generate, RequestKind::Compaction) => "compaction",
            (Operation::Generate, RequestKind::Batch) => "batch",
        }
    }

    /// Whether the provider keeps the answer, so that a later request may bring no more than what is new behind it.
    pub(super) fn is_kept(&self) -> bool {
        let may_be_kept = self.asked.endpoint.dialect == DialectId::Responses;
        let refuses = || self.doc.get("store").is_some_and(|store| self.doc.text(store.value) == "false");
        self.view.delta.is_some() || (may_be_kept && !refuses())
    }

    /// The item that the answer will stand behind.
    pub(super) fn answered_item(&self) -> Option<usize> {
        match self.view.step {
            Step::Prompt { item } | Step::Tool { item } => Some(item),
            Step::Resume | Step::Empty => None,
        }
    }

    /// Where the turn that this request goes on with ends so far: its prompt and what was said stand before this item.
    /// `None` when a turn begins here.
    pub(super) fn goes_on_behind(&self) -> Option<usize> {
        match self.view.step {
            Step::Tool { item } => Some(item),
            // A paused turn: what was said is sent back as the last item.
            Step::Resume => Some(self.view.items.len()),
            Step::Prompt { .. } | Step::Empty => None,
        }
    }

    /// The last item, if the client itself began the answer in it (a prefill). A paused turn that is sent again looks alike but
    /// for what only a model can have said: calls and signatures.
    pub(super) fn prefill(&self) -> Option<usize> {
        let (begun, item) = self.speech_before(self.view.items.len())?;
        let by_model = item.facts.signed || item.facts.server_pending || !item.facts.calls.is_empty();
        (item.role() == Role::Assistant && !by_model).then_some(begun)
    }

    /// The prompt that a prefill stands behind.
    pub(super) fn prefilled_prompt(&self) -> Option<usize> {
        let (prompt, asked) = self.speech_before(self.prefill()?)?;
        asked.facts.prompt.is_some().then_some(prompt)
    }

    /// The last item before `end` that somebody says.
    fn speech_before(&self, end: usize) -> Option<(usize, &Item)> {
        let before = self.view.items.iter().enumerate().take(end).rev();
        before.into_iter().find(|(_, item)| !matches!(item.role(), Role::System | Role::Other))
    }

    /// What a profile is told of it.
    pub(super) fn facts(&self) -> RequestFacts<'_> {
        let view = &self.view;
        RequestFacts {
            headers: &self.asked.headers,
            model: view.model.as_deref(),
            has_tools: view.has_tools,
            max_tokens: view.max_tokens,
            structured: view.structured,
            items: view.items.len(),
            tail_marked: view.items.last().is_some_and(|item| item.facts.markers > 0),
            compaction_item: view.items.iter().any(|item| item.facts.compaction),
            texts: self,
        }
    }

    /// The client's instruction blocks, each decoded when it is asked for.
    pub(super) fn system_blocks(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.view.system.iter().filter_map(|span| raw::string(self.doc.text(*span)))
    }

    /// The user's words of one item, each block for itself, reminders included.
    fn blocks(&self, item: usize) -> Vec<Cow<'_, str>> {
        let every = Reading { is_reminder: &|_| false, cache: &dialect::NoCache };
        vec![Cow::Owned(self.dialect().prompt_text(&self.doc, &self.view, item, &every))]
    }
}

impl Texts for Read {
    fn system(&self) -> Vec<Cow<'_, str>> {
        self.system_blocks().collect()
    }

    fn first_user(&self) -> Vec<Cow<'_, str>> {
        let first = self.view.items.iter().position(|item| item.role() == Role::User);
        first.map(|item| self.blocks(item)).unwrap_or_default()
    }

    fn last_user(&self) -> Vec<Cow<'_, str>> {
        match self.view.step {
            Step::Prompt { item } => self.blocks(item),
            _ => Vec::new(),
        }
    }
}

impl Turns {
    /// Reads a body; a large one where it holds up no other request.
    pub(super) async fn read_aside(self: Arc<Self>, asked: Asked) -> Result<Looked, TurnError> {
        if asked.body.len() < LARGE {
            return self.read(asked);
        }
        tokio::task::spawn_blocking(move || self.read(asked)).await.map_err(TurnError::Lost)?
    }

    fn read(&self, asked: Asked) -> Result<Looked, TurnError> {
        let deadline = Instant::now() + self.config.lifecycle.request_deadline;
        let doc = Doc::parse(asked.body.clone())?;
        let rename = self.rename(&doc);
        // A batch is sent by nobody's turn, and brings no results that were seen.
        let is_policed = match asked.endpoint.operation {
            Operation::Generate => true,
            Operation::Count => self.pipeline.has(EventKind::ModelContext) || self.pipeline.has(EventKind::ToolResult),
            Operation::Batch => self.pipeline.has(EventKind::ModelContext),
        };
        if (!self.adds() && !self.is_addressed(&asked, &doc)) || !is_policed {
            return Ok(Looked::unread(&doc, rename.as_ref()));
        }
        let profile = self.sessions.profiles.of(&asked.headers);
        let view = match self.view(&doc, &asked.endpoint, &profile) {
            Ok(view) => view,
            Err(ViewError::Scan(error)) => return Err(error.into()),
            Err(error @ ViewError::Shape { .. }) => {
                // The provider knows best what to say about it.
                tracing::debug!(dialect = asked.endpoint.dialect.name(), %error, "body relayed unread");
                return Ok(Looked::unread(&doc, rename.as_ref()));
            }
        };
        let mut read =
            Read { asked, doc, view, profile, rename, kind: RequestKind::Turn, deadline, recording: Recording::NONE };
        read.kind = read.profile.kind(&read.facts());
        Ok(Looked::Read(Box::new(read)))
    }

    /// What a body says, in the terms of its dialect and of the client.
    ///
    /// # Errors
    /// [`ViewError`]
    pub(super) fn view(&self, doc: &Doc, endpoint: &Endpoint, profile: &Profile) -> Result<RequestView, ViewError> {
        let cache = self.sessions.facts.of(endpoint.dialect, &profile.name);
        let reading = Reading { is_reminder: &|text| profile.is_reminder(text), cache: &cache };
        let mut view = dialect::of(endpoint.dialect).view(doc, endpoint, &reading)?;
        // Only hooks that edit ask: elsewhere no instruction block is decoded for it.
        if [EventKind::ModelContext, EventKind::PromptSubmit, EventKind::SessionStart]
            .map(|kind| self.pipeline.has(kind))
            .contains(&true)
        {
            view.protected = profile.protected(view.system.iter().filter_map(|text| raw::string(doc.text(*text))));
        }
        Ok(view)
    }

    /// The user's words of one item, without the client's reminders.
    pub(super) fn prompt_text(&self, read: &Read, item: usize) -> String {
        let cache = self.sessions.facts.of(read.endpoint().dialect, &read.profile.name);
        let reading = Reading { is_reminder: &|text| read.profile.is_reminder(text), cache: &cache };
        read.dialect().prompt_text(&read.doc, &read.view, item, &reading)
    }
}
