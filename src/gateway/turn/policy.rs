//! `model.context`: the last word on every body that goes to a model, whatever kind of request it is.
//!
//! Hooks run in config order, and each sees what those before it made. What a hook says is done as a whole or not at all: an
//! edit that can't be made fails the hook and leaves the request as it was before it.
use super::identify::Identity;
use super::occasion::{Occasion, Particulars};
use super::opening::refusal;
use super::owner::Name;
use super::read::Read;
use super::upward::Upward;
use super::{TurnError, Turns};
use crate::config::EventKind;
use crate::context::edit::Text;
use crate::context::placement::{Placed, TextKind};
use crate::context::{Edit, RequestView, Step};
use crate::dialect::{EditError, Reading, ViewError};
use crate::hooks::{FireContext, HookFailure, HookReport, Status};
use crate::json::{Doc, Kind, Rope, ScanError, Splice, raw};
use crate::session::ledger::{Entry, What};
use crate::session::record::{MAIN, SessionKey, Source, Tenant};
use std::sync::Arc;

/// A request after the hooks of `model.context`.
#[derive(Debug, Default)]
pub(super) struct Policed {
    /// The body; `None`: as it came.
    pub body: Option<Rope>,
    /// What changes beside the body.
    pub upward: Upward,
    /// The gateway answers this instead.
    pub reply: Option<String>,
}

/// The body as it stands.
#[derive(Debug, Clone)]
struct Draft {
    doc: Doc,
    view: Arc<RequestView>,
    changed: bool,
    upward: Upward,
}

/// Why what a hook says is not done.
enum Trouble {
    /// An edit can't be made: the hook failed.
    NotMade(HookFailure),
    /// The body can be read in two ways: a policy that reads it in one of them would not hold.
    Ambiguous(ScanError),
}

impl Turns {
    /// Runs the hooks on `body` (`None`: as it came). `identity`: of a turn's request.
    ///
    /// # Errors
    /// [`TurnError::Body`] when an edit meets something in the body that can be read in two ways.
    pub(super) async fn police(
        &self,
        read: &Read,
        identity: Option<&Identity>,
        body: Option<Rope>,
    ) -> Result<Policed, TurnError> {
        let kind = EventKind::ModelContext;
        if !self.pipeline.has(kind) {
            return Ok(Policed { body, ..Policed::default() });
        }
        let mut draft = self.draft(read, body.as_ref())?;
        let occasion = match identity {
            Some(identity) => self.occasion(read, identity),
            None => self.bystander(read).await,
        };
        let request_id = read.asked.request_id.to_string();
        let record = identity.map(|identity| identity.record.clone());
        for turn in self.pipeline.in_order(kind) {
            let request = turn.wants_request().then(|| Arc::new(read.neutral(&draft.doc, &draft.view)));
            let particulars = Particulars { identity: &request_id, request, ..Particulars::default() };
            let event = occasion.event(kind, record.as_deref(), particulars);
            let context = FireContext { headers: &read.asked.headers, deadline: Some(read.deadline) };
            let mut report = turn.fire(&event, context).await;
            match self.edited(read, identity, &draft, &report).await {
                Ok(next) => draft = next,
                Err(Trouble::NotMade(failure)) => fail(&mut report, failure),
                Err(Trouble::Ambiguous(error)) => return Err(error.into()),
            }
            if let Some(reply) = refusal(std::slice::from_ref(&report)) {
                return Ok(Policed { reply: Some(reply), ..Policed::default() });
            }
        }
        let body = if draft.changed { Some(Rope::from(draft.doc.bytes().clone())) } else { body };
        Ok(Policed { body, upward: draft.upward, reply: None })
    }

    fn draft(&self, read: &Read, body: Option<&Rope>) -> Result<Draft, TurnError> {
        let (doc, view) = match body {
            None => (read.doc.clone(), read.view.clone()),
            // What the gateway itself placed is readable; should it not be, no policy could hold.
            Some(rope) => self.reread(read, rope).map_err(|error| match error {
                ViewError::Scan(error) => TurnError::Body(error),
                ViewError::Shape { .. } => TurnError::Body(ScanError::NotAnObject),
            })?,
        };
        Ok(Draft { doc, view: Arc::new(view), changed: false, upward: Upward::default() })
    }

    fn reread(&self, read: &Read, rope: &Rope) -> Result<(Doc, RequestView), ViewError> {
        let doc = Doc::parse(rope.to_bytes())?;
        let cache = self.sessions.facts.of(read.endpoint().dialect, &read.profile.name);
        let reading = Reading { is_reminder: &|text| read.profile.is_reminder(text), cache: &cache };
        let view = read.dialect().view(&doc, read.endpoint(), &reading)?;
        Ok((doc, view))
    }

    /// The draft with all that one hook changes.
    async fn edited(
        &self,
        read: &Read,
        identity: Option<&Identity>,
        draft: &Draft,
        report: &HookReport,
    ) -> Result<Draft, Trouble> {
        let mut draft = draft.clone();
        for (index, edit) in report.outcome.edits.iter().enumerate() {
            let fails = |reason: String| Trouble::NotMade(HookFailure::NotMade { index, reason });
            let refused = |error: EditError| match error {
                EditError::Scan(error) => Trouble::Ambiguous(error),
                error => fails(error.to_string()),
            };
            let splice = match edit {
                Edit::HeadersSet { name, value } => {
                    draft.upward.set(name, value).map_err(|error| fails(error.to_string()))?;
                    continue;
                }
                Edit::HeadersRemove { names } => {
                    draft.upward.remove(names).map_err(|error| fails(error.to_string()))?;
                    continue;
                }
                Edit::ModelSet { name } => rename(&mut draft, &name.0),
                Edit::MessagesAppend { text, .. } => match self.append_once(read, identity, report, text).await {
                    true => read.dialect().edit(&draft.doc, &draft.view, edit).map_err(refused)?,
                    false => continue,
                },
                _ => read.dialect().edit(&draft.doc, &draft.view, edit).map_err(refused)?,
            };
            if splice.is_empty() {
                continue;
            }
            let rope = splice.apply(draft.doc.bytes()).map_err(|error| fails(EditError::from(error).to_string()))?;
            let (doc, view) = self.reread(read, &rope).map_err(|error| fails(error.to_string()))?;
            draft = Draft { doc, view: Arc::new(view), changed: true, ..draft };
        }
        Ok(draft)
    }

    /// Records text that a hook adds to the history of a turn, so that it stands there in every later request. False when
    /// this turn has it already.
    async fn append_once(&self, read: &Read, identity: Option<&Identity>, report: &HookReport, text: &Text) -> bool {
        let Some(identity) = identity else { return true };
        let (Step::Prompt { item } | Step::Tool { item }) = read.view.step else { return true };
        let Some(anchor) = identity.anchors.at(&read.view, item) else { return true };
        let placed =
            Placed { source: report.hook.to_string(), kind: TextKind::Ephemeral, text: text.0.clone(), version: None };
        {
            let state = identity.live.state.lock();
            let begin = state.ledger.entries().iter().rposition(|(_, entry)| matches!(entry.what, What::Prompt { .. }));
            let turn = state.ledger.entries().iter().skip(begin.unwrap_or_default());
            if turn.flat_map(|(_, entry)| entry.what.texts()).any(|known| *known == placed) {
                return false;
            }
        }
        self.record(identity, vec![Entry { anchor, what: What::Note { texts: vec![placed] } }]).await;
        true
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

/// The edit of the model's name; where the path names it (Gemini) the request's line changes.
fn rename(draft: &mut Draft, name: &str) -> Splice {
    let mut splice = Splice::new();
    match draft.doc.get("model").filter(|member| member.kind == Kind::String) {
        Some(member) => splice.replace(member.value, raw::quote(name)),
        None => draft.upward.model = Some(name.to_owned()),
    }
    splice
}

fn fail(report: &mut HookReport, failure: HookFailure) {
    tracing::warn!(hook = &*report.hook, "hook {:?} failed: {failure}", report.hook);
    report.status = Status::Failed(failure);
    report.outcome = Default::default();
}
