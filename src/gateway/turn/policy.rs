//! `model.context`: the last word on every body that goes to a model, whatever kind of request it is.
//!
//! Hooks run in config order, and each sees what those before it made. What a hook says is done as a whole or not at all: an
//! edit that can't be made fails the hook and leaves the request as it was before it.
use super::audited::Changes;
use super::draft::Draft;
use super::identify::Identity;
use super::instructions;
use super::occasion::{Occasion, Particulars};
use super::opening::{could_not_be_made, refusal};
use super::owner::Name;
use super::read::Read;
use super::upward::Upward;
use super::{TurnError, Turns};
use crate::config::{EventKind, OnOpaque};
use crate::context::edit::Text;
use crate::context::placement::{Placed, TextKind};
use crate::context::{Edit, Roster, Step};
use crate::dialect::{EditError, ViewError};
use crate::hooks::pipeline::Turn;
use crate::hooks::{Event, FireContext, HookFailure, HookReport};
use crate::json::{Doc, Kind, Rope, ScanError, Splice, raw};
use crate::session::ledger::{Entry, HookEdits, What};
use crate::session::record::{MAIN, SessionKey, Source, Tenant};
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
        placed: Splice,
    ) -> Result<Policed, TurnError> {
        let kind = EventKind::ModelContext;
        let mut draft = Draft::new(placed, read);
        let mut changes = Changes::default();
        if kept.is_empty() && !self.pipeline.has(kind) {
            let body = draft.body(read)?;
            self.audit_request(read, identity.map(|identity| &*identity.key), &changes, body.as_ref());
            return Ok(Policed { body, ..Policed::default() });
        }
        self.show(None, &mut draft, read)?;
        for HookEdits { hook, must_hold, edits } in kept {
            match read.aside(|| self.edited(read, identity, &draft, hook, edits)) {
                Ok(next) => {
                    if next.is_other(&draft) {
                        changes.note(hook, edits);
                    }
                    draft = next;
                }
                Err(Trouble { ambiguous: Some(error), .. }) => return Err(error.into()),
                Err(Trouble { failure, .. }) => {
                    tracing::warn!(hook, "hook {hook:?}: what it changes of its turn is left out: {failure}");
                    if *must_hold {
                        self.audit_block(read, identity.map(|identity| &*identity.key), Some(hook), "block");
                        return Ok(Policed { reply: Some(could_not_be_made(hook)), ..Policed::default() });
                    }
                }
            }
            self.show(Some(hook), &mut draft, read)?;
        }
        let occasion = match identity {
            Some(identity) => self.occasion(read, identity),
            None => self.bystander(read).await,
        };
        let request_id = read.asked.request_id.to_string();
        let record = identity.map(|identity| identity.record.clone());
        let context =
            FireContext { headers: &read.asked.headers, deadline: Some(read.deadline), recording: &read.recording };
        // The same for all hooks but those that look into the request, which is another one behind each edit.
        let particulars = Particulars { identity: &request_id, ..Particulars::default() };
        let event = occasion.event(kind, record.as_deref(), particulars);
        let firing = self.pipeline.firing(kind, &event, context);
        for turn in self.pipeline.in_order(kind).filter(|turn| turn.concerns(&firing)) {
            let seeing = self.seeing(turn, &event, &mut draft, read)?;
            let own = seeing.as_ref().map(|event| self.pipeline.firing(kind, event, context));
            let mut ambiguous = None;
            let make = |report: &HookReport| {
                let edits = &report.outcome.edits;
                if edits.is_empty() {
                    return Ok(None);
                }
                let made = read.aside(|| self.edited(read, identity, &draft, &report.hook, edits));
                made.map(Some).map_err(|trouble| {
                    ambiguous = trouble.ambiguous;
                    trouble.failure
                })
            };
            let (report, next) = turn.fire(own.as_ref().unwrap_or(&firing), make).await;
            if let Some(error) = ambiguous {
                return Err(error.into());
            }
            if let Some(next) = next.flatten() {
                if next.is_other(&draft) {
                    changes.note(&report.hook, &report.outcome.edits);
                }
                draft = next;
            }
            self.show(Some(&report.hook), &mut draft, read)?;
            if let Some(reply) = refusal(std::slice::from_ref(&report)) {
                return Ok(Policed { reply: Some(reply), ..Policed::default() });
            }
        }
        let tools = match draft.roster(self, read).map_err(unreadable)? {
            Some(Roster::AllBut { .. }) if self.config.policies.on_opaque == OnOpaque::Block => {
                tracing::warn!("a request was stopped: it may have tools that can't be seen (policies.on_opaque)");
                self.audit_block(read, Some(&occasion.session), None, "on_opaque");
                return Ok(Policed { reply: Some(UNSEEN_TOOLS.to_owned()), ..Policed::default() });
            }
            tools => tools.unwrap_or_default(),
        };
        let body = draft.body(read)?;
        self.audit_request(read, Some(&occasion.session), &changes, body.as_ref());
        if let Some(identity) = identity.filter(|_| !draft.notes.is_empty()) {
            self.record(identity, draft.notes).await;
        }
        Ok(Policed { body, upward: draft.upward, reply: None, tools })
    }

    /// The event for a hook that looks into the request as it stands; `None` for one that doesn't.
    fn seeing(
        &self,
        hook: Turn<'_>,
        event: &Event,
        draft: &mut Draft,
        read: &Read,
    ) -> Result<Option<Event>, TurnError> {
        if !hook.wants_request() && !hook.wants_roster() {
            return Ok(None);
        }
        draft.settle(self, read).map_err(unreadable)?;
        let (doc, view) = draft.base(read);
        let request = hook.wants_request().then(|| Arc::new(read.neutral(doc, view)));
        let roster = hook.wants_roster().then(|| read.dialect().roster(doc, view)).flatten().map(Arc::from);
        Ok(Some(Event { request, roster, ..event.clone() }))
    }

    /// Shows the draft to a witness, if there is one.
    fn show(&self, behind: Option<&str>, draft: &mut Draft, read: &Read) -> Result<(), TurnError> {
        if self.pipeline.witness().is_some() {
            draft.settle(self, read).map_err(unreadable)?;
            self.show_draft(behind, draft.base(read).0);
        }
        Ok(())
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
        edits.iter().for_each(|edit| draft.note(edit));
        for (index, edit) in edits.iter().enumerate() {
            let fails = |reason: String| Trouble { failure: HookFailure::NotMade { index, reason }, ambiguous: None };
            let unread = |error: ViewError| fails(error.to_string());
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
            draft.ready_for(edit, self, read).map_err(unread)?;
            let mut added = false;
            while !added {
                let Some(splice) = changes(read, &mut draft, edit).map_err(|error| trouble(error, fails))? else {
                    break;
                };
                added = draft.add(edit, splice, self, read).map_err(unread)?;
            }
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
            trace: read.asked.trace.clone(),
        }
    }
}

/// What an edit changes of the draft's body; `None`: nothing of it.
fn changes(read: &Read, draft: &mut Draft, edit: &Edit) -> Result<Option<Splice>, EditError> {
    let (doc, view) = draft.base(read);
    let splice = match edit {
        Edit::ModelSet { name } => match rename(doc, &name.0) {
            Some(splice) => splice,
            None => {
                draft.upward.model = Some(name.0.clone());
                return Ok(None);
            }
        },
        _ => instructions::edit(read, doc, view, edit)?,
    };
    Ok((!splice.is_empty()).then_some(splice))
}

fn trouble(error: EditError, fails: impl Fn(String) -> Trouble) -> Trouble {
    let trouble = fails(error.to_string());
    match error {
        EditError::Scan(error) => Trouble { ambiguous: Some(error), ..trouble },
        _ => trouble,
    }
}

/// What the gateway has made is readable; should it not be, no policy could hold.
pub(super) fn unreadable(error: ViewError) -> TurnError {
    match error {
        ViewError::Scan(error) => TurnError::Body(error),
        ViewError::Shape { .. } => TurnError::Body(ScanError::NotAnObject),
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
