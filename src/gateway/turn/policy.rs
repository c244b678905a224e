//! `model.context`: the last word on every body that goes to a model, whatever kind of request it is.
//!
//! Hooks run in config order, and each sees what those before it made. What a hook says is done as a whole or not at all: an
//! edit that can't be made fails the hook and leaves the request as it was before it.
use super::identify::Identity;
use super::instructions;
use super::occasion::{Occasion, Particulars};
use super::opening::{could_not_be_made, refusal};
use super::owner::Name;
use super::read::Read;
use super::upward::Upward;
use super::{TurnError, Turns};
use crate::config::{EventKind, OnOpaque};
use crate::context::edit::{Globs, Text};
use crate::context::placement::{Placed, TextKind};
use crate::context::{Edit, Operation, RequestView, Roster, Step};
use crate::dialect::{EditError, ViewError};
use crate::hooks::{FireContext, HookFailure, HookReport};
use crate::json::{Doc, Kind, Rope, ScanError, Splice, raw};
use crate::session::ledger::{Entry, HookEdits, What};
use crate::session::record::{MAIN, SessionKey, Source, Tenant};
use std::collections::HashSet;
use std::sync::Arc;

/// What the user reads where a rule about tools can't be kept.
const UNSEEN_TOOLS: &str =
    "This request was stopped: it may have tools that can't be seen here, so that no rule about tools would hold.";

/// A request after the hooks of `model.context`.
#[derive(Debug, Default)]
pub(super) struct Policed {
    /// The body; `None`: as it came.
    pub body: Option<Rope>,
    /// What changes beside the body.
    pub upward: Upward,
    /// The gateway answers this instead.
    pub reply: Option<String>,
    /// What the answer may call.
    pub tools: Roster,
}

/// The request as it stands.
#[derive(Debug, Clone, Default)]
struct Draft {
    /// The body, where it is another than the client's.
    body: Option<Arc<(Doc, RequestView)>>,
    upward: Upward,
    /// Text that was added to the history, to be recorded with what it was added to.
    notes: Vec<Entry>,
    tools: ToolEdits,
}

/// What hooks say about the request's tools.
#[derive(Debug, Clone, Default)]
struct ToolEdits {
    /// Something that can change them was done.
    any: bool,
    gone: Vec<Globs>,
    kept: Vec<Globs>,
}

impl ToolEdits {
    fn note(&mut self, edit: &Edit) {
        match edit {
            Edit::ToolsRemove { names } => self.gone.push(names.clone()),
            Edit::ToolsKeep { names } => self.kept.push(names.clone()),
            Edit::ToolsAdd { .. } | Edit::ToolsReplace { .. } | Edit::Native { .. } => {}
            _ => return,
        }
        self.any = true;
    }
}

impl Draft {
    fn body<'a>(&'a self, read: &'a Read) -> (&'a Doc, &'a RequestView) {
        self.body.as_deref().map_or((&read.doc, &read.view), |(doc, view)| (doc, view))
    }

    /// What the answer may call; `None` where no hook changed the client's tools.
    fn roster(&self, read: &Read) -> Option<Roster> {
        if !self.tools.any || read.asked.endpoint.operation != Operation::Generate {
            return None;
        }
        let (doc, view) = self.body(read);
        let dialect = read.dialect();
        let names = |names: Option<Vec<String>>| names.map(|names| names.into_iter().collect::<HashSet<String>>());
        match (names(dialect.roster(&read.doc, &read.view)), names(dialect.roster(doc, view))) {
            (Some(before), Some(after)) => (before != after).then_some(Roster::Only(after)),
            _ => {
                let listed = |doc, view| -> HashSet<String> {
                    read.neutral(doc, view).tools.into_iter().map(|tool| tool.name).collect()
                };
                let after = listed(doc, view);
                let removed: HashSet<String> = listed(&read.doc, &read.view).difference(&after).cloned().collect();
                let ToolEdits { gone, kept, .. } = self.tools.clone();
                let binds = !(removed.is_empty() && gone.is_empty() && kept.is_empty());
                binds.then_some(Roster::AllBut { removed, gone, kept })
            }
        }
    }
}

/// Why what a hook says is not done: the hook failed.
struct Trouble {
    failure: HookFailure,
    /// The body can be read in two ways: a policy that reads it in one of them would not hold.
    ambiguous: Option<ScanError>,
}

impl Turns {
    /// Makes `kept`, what hooks of the turn's prompt change, and then runs the hooks on `body` (`None`: as it came). `identity`:
    /// of a turn's request.
    ///
    /// # Errors
    /// [`TurnError::Body`] when an edit meets something in the body that can be read in two ways.
    pub(super) async fn police(
        &self,
        read: &Read,
        identity: Option<&Identity>,
        kept: &[HookEdits],
        body: Option<Rope>,
    ) -> Result<Policed, TurnError> {
        let kind = EventKind::ModelContext;
        if kept.is_empty() && !self.pipeline.has(kind) {
            return Ok(Policed { body, ..Policed::default() });
        }
        let mut draft = Draft { body: self.placed(read, body.as_ref())?, ..Draft::default() };
        self.show_draft(None, draft.body(read).0);
        for HookEdits { hook, must_hold, edits } in kept {
            match self.edited(read, identity, &draft, hook, edits) {
                Ok(next) => draft = next,
                Err(Trouble { ambiguous: Some(error), .. }) => return Err(error.into()),
                Err(Trouble { failure, .. }) => {
                    tracing::warn!(hook, "hook {hook:?}: what it changes of its turn is left out: {failure}");
                    if *must_hold {
                        return Ok(Policed { reply: Some(could_not_be_made(hook)), ..Policed::default() });
                    }
                }
            }
            self.show_draft(Some(hook), draft.body(read).0);
        }
        let occasion = match identity {
            Some(identity) => self.occasion(read, identity),
            None => self.bystander(read).await,
        };
        let request_id = read.asked.request_id.to_string();
        let record = identity.map(|identity| identity.record.clone());
        for turn in self.pipeline.in_order(kind) {
            let (doc, view) = draft.body(read);
            let request = turn.wants_request().then(|| Arc::new(read.neutral(doc, view)));
            let roster = turn.wants_roster().then(|| read.dialect().roster(doc, view)).flatten().map(Arc::from);
            let particulars = Particulars { identity: &request_id, request, roster, ..Particulars::default() };
            let event = occasion.event(kind, record.as_deref(), particulars);
            let context = FireContext { headers: &read.asked.headers, deadline: Some(read.deadline) };
            let mut ambiguous = None;
            let make = |report: &HookReport| {
                self.edited(read, identity, &draft, &report.hook, &report.outcome.edits).map_err(|trouble| {
                    ambiguous = trouble.ambiguous;
                    trouble.failure
                })
            };
            let (report, next) = turn.fire(&event, context, make).await;
            if let Some(error) = ambiguous {
                return Err(error.into());
            }
            draft = next.unwrap_or(draft);
            self.show_draft(Some(&report.hook), draft.body(read).0);
            if let Some(reply) = refusal(std::slice::from_ref(&report)) {
                return Ok(Policed { reply: Some(reply), ..Policed::default() });
            }
        }
        let tools = match draft.roster(read) {
            Some(Roster::AllBut { .. }) if self.config.policies.on_opaque == OnOpaque::Block => {
                tracing::warn!("a request was stopped: it may have tools that can't be seen (policies.on_opaque)");
                return Ok(Policed { reply: Some(UNSEEN_TOOLS.to_owned()), ..Policed::default() });
            }
            tools => tools.unwrap_or_default(),
        };
        if let Some(identity) = identity.filter(|_| !draft.notes.is_empty()) {
            self.record(identity, draft.notes).await;
        }
        let body = draft.body.map(|body| Rope::from(body.0.bytes().clone()));
        Ok(Policed { body, upward: draft.upward, reply: None, tools })
    }

    /// The body that the gateway has placed text in. It is readable; should it not be, no policy could hold.
    fn placed(&self, read: &Read, body: Option<&Rope>) -> Result<Option<Arc<(Doc, RequestView)>>, TurnError> {
        let read_again = body.map(|rope| self.reread(read, rope)).transpose();
        let readable = read_again.map_err(|error| match error {
            ViewError::Scan(error) => TurnError::Body(error),
            ViewError::Shape { .. } => TurnError::Body(ScanError::NotAnObject),
        })?;
        Ok(readable.map(Arc::new))
    }

    fn reread(&self, read: &Read, rope: &Rope) -> Result<(Doc, RequestView), ViewError> {
        let doc = Doc::parse(rope.to_bytes())?;
        let view = self.view(&doc, read.endpoint(), &read.profile)?;
        Ok((doc, view))
    }

    /// The draft with all that one hook changes.
    fn edited(
        &self,
        read: &Read,
        identity: Option<&Identity>,
        draft: &Draft,
        hook: &str,
        edits: &[Edit],
    ) -> Result<Draft, Trouble> {
        let mut draft = draft.clone();
        edits.iter().for_each(|edit| draft.tools.note(edit));
        for (index, edit) in edits.iter().enumerate() {
            let fails = |reason: String| Trouble { failure: HookFailure::NotMade { index, reason }, ambiguous: None };
            match edit {
                Edit::HeadersSet { name, value } => {
                    draft.upward.set(name, value).map_err(|error| fails(error.to_string()))?;
                    continue;
                }
                Edit::HeadersRemove { names } => {
                    draft.upward.remove(names).map_err(|error| fails(error.to_string()))?;
                    continue;
                }
                Edit::MessagesAppend { text, .. } => {
                    let note = identity.and_then(|identity| note(read, identity, hook, text));
                    if note.as_ref().zip(identity).is_some_and(|(note, identity)| stands(identity, &draft, note)) {
                        continue;
                    }
                    draft.notes.extend(note);
                }
                _ => {}
            }
            let (doc, view) = draft.body(read);
            let splice = match edit {
                Edit::ModelSet { name } => match rename(doc, &name.0) {
                    Some(splice) => splice,
                    None => {
                        draft.upward.model = Some(name.0.clone());
                        continue;
                    }
                },
                _ => instructions::edit(read, doc, view, edit).map_err(|error| {
                    let trouble = fails(error.to_string());
                    match error {
                        EditError::Scan(error) => Trouble { ambiguous: Some(error), ..trouble },
                        _ => trouble,
                    }
                })?,
            };
            if splice.is_empty() {
                continue;
            }
            let rope = splice.apply(doc.bytes()).map_err(|error| fails(error.to_string()))?;
            draft.body = Some(Arc::new(self.reread(read, &rope).map_err(|error| fails(error.to_string()))?));
        }
        Ok(draft)
    }

    /// Of a request that is no turn: what its headers and its model say.
    async fn bystander(&self, read: &Read) -> Occasion {
        let owner = self.owner(read).await.ok().flatten();
        let (session, parent, project) = match owner {
            Some(owner) => {
                let key = match owner.name {
                    Name::Key(key) => key,
                    Name::History(tenant) => SessionKey { tenant, id: String::new(), agent: owner.ids.agent.clone() },
                };
                (key, owner.ids.parent, owner.ids.project)
            }
            None => {
                let nobody = SessionKey { tenant: Tenant(String::new()), id: String::new(), agent: MAIN.to_owned() };
                (nobody, None, None)
            }
        };
        Occasion {
            session,
            parent,
            project,
            source: Source::Startup,
            activation: 0,
            started_at: String::new(),
            turn: 0,
            new: false,
            model: self.model(read),
            prompt: match read.view.step {
                Step::Prompt { item } => Some(self.prompt_text(read, item)),
                _ => None,
            },
        }
    }
}

/// The edit of the model's name; `None` where the path names it (Gemini).
fn rename(doc: &Doc, name: &str) -> Option<Splice> {
    let member = doc.get("model").filter(|member| member.kind == Kind::String)?;
    let mut splice = Splice::new();
    splice.replace(member.value, raw::quote(name));
    Some(splice)
}

/// The entry by which text that a hook adds to the history of a turn stands there in every later request, too.
fn note(read: &Read, identity: &Identity, hook: &str, text: &Text) -> Option<Entry> {
    let anchor = identity.anchors.at(&read.view, read.answered_item()?)?;
    let placed = Placed { source: hook.to_owned(), kind: TextKind::Ephemeral, text: text.0.clone(), version: None };
    Some(Entry { anchor, what: What::Note { texts: vec![placed] } })
}

/// Whether the running turn has this text already.
fn stands(identity: &Identity, draft: &Draft, note: &Entry) -> bool {
    let state = identity.live.state.lock();
    let recorded = state.ledger.entries().iter().map(|(_, entry)| entry);
    let begin = recorded.clone().rposition(|entry| matches!(entry.what, What::Prompt { .. })).unwrap_or_default();
    recorded.skip(begin).chain(&draft.notes).any(|entry| entry.what == note.what)
}
