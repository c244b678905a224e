//! The calls of an answer on their way: some come in pieces (Vertex), and some wait for hooks.
use super::partial_args::PartialArgs;
use super::screened::CallPart;
use crate::context::{Binding, Call, Glance, Ruling, binding};
use crate::dialect::binder::{BindError, Calls, Ruled};
use crate::dialect::transcript::arguments;
use std::sync::Arc;

/// All calls of an answer.
#[derive(Debug)]
pub(super) struct Drafts {
    calls: Calls,
    /// In the model's order.
    drafts: Vec<Draft>,
    /// The ones of which further pieces come.
    open: Vec<usize>,
    /// The first one that is not decided on.
    next: usize,
    /// It is complete, and waits.
    waiting: Option<Call>,
    /// Nothing more comes.
    finished: bool,
}

#[derive(Debug)]
struct Draft {
    candidate: u64,
    name: String,
    glance: Glance,
    /// What is known of it, until it is decided on.
    call: Option<Call>,
    /// Its arguments, as long as pieces of them may come.
    args: Option<PartialArgs>,
    /// Which of the decided calls it is.
    ruled: Option<usize>,
}

/// What becomes of a call's parts.
#[derive(Debug)]
pub(super) enum Fate<'a> {
    /// They go down as they came.
    Pass,
    /// They are left out.
    Gone,
    /// The first one goes down, as a whole call with these arguments.
    Replace(&'a str),
}

impl Drafts {
    pub(super) fn new(binding: Arc<Binding>) -> Self {
        Self { calls: Calls::new(binding), drafts: vec![], open: vec![], next: 0, waiting: None, finished: false }
    }

    /// Takes note of a part of a candidate's; which call it belongs to, and whether it is the first of it.
    ///
    /// # Errors
    /// [`BindError`]
    pub(super) fn take(&mut self, candidate: u64, part: &CallPart<'_>) -> Result<(usize, bool), BindError> {
        let is_its = |draft: &&usize| self.drafts.get(**draft).is_some_and(|draft| draft.candidate == candidate);
        match self.open.iter().find(is_its).copied() {
            Some(open) => {
                self.go_on(open, part)?;
                Ok((open, false))
            }
            None => {
                let draft = self.begin(candidate, part)?;
                self.go_on(draft, part)?;
                Ok((draft, true))
            }
        }
    }

    /// A further call, which has a name.
    fn begin(&mut self, candidate: u64, part: &CallPart<'_>) -> Result<usize, BindError> {
        if part.name.is_empty() {
            return Err(BindError::Unreadable("a call without a name".to_owned()));
        }
        let is_whole = part.pieces.is_none() && !part.continues;
        let input = part.args.filter(|_| is_whole).unwrap_or("{}").to_owned();
        let draft = self.drafts.len();
        if !is_whole {
            self.open.push(draft);
        }
        self.drafts.push(Draft {
            candidate,
            name: part.name.to_string(),
            glance: self.calls.binding().glance(&part.name),
            call: Some(Call { id: part.id.to_string(), name: part.name.to_string(), input: arguments(input) }),
            args: (!is_whole).then(PartialArgs::default),
            ruled: None,
        });
        Ok(draft)
    }

    /// A part of a call, which may be its last.
    fn go_on(&mut self, index: usize, part: &CallPart<'_>) -> Result<(), BindError> {
        let Some(draft) = self.drafts.get_mut(index) else { return Ok(()) };
        if !part.name.is_empty() && part.name != draft.name {
            return Err(BindError::Renamed);
        }
        let Some(args) = &mut draft.args else { return Ok(()) };
        if draft.glance == Glance::Ask && part.args.is_some_and(|args| args != "{}") {
            return Err(BindError::Unreadable("arguments that come both whole and in pieces".to_owned()));
        }
        part.pieces.iter().flatten().for_each(|piece| args.add(piece));
        if part.continues {
            return Ok(());
        }
        self.open.retain(|open| *open != index);
        let input = draft.args.take().map(PartialArgs::into_json).unwrap_or_default();
        if input.is_empty() && draft.glance == Glance::Ask {
            return Err(BindError::Unreadable("pieces of arguments".to_owned()));
        }
        let ruled = draft.ruled.and_then(|ruled| self.calls.get_mut(ruled)).map(|ruled| &mut ruled.call);
        if let Some(call) = draft.call.as_mut().or(ruled) {
            call.input = arguments(input);
        }
        Ok(())
    }

    /// Nothing more comes: a call that was cut off is none.
    pub(super) fn finish(&mut self) {
        self.finished = true;
        self.settle();
    }

    /// Decides on the calls that need no question, up to the first that does.
    pub(super) fn settle(&mut self) {
        while self.waiting.is_none()
            && let Some(draft) = self.drafts.get_mut(self.next)
        {
            let is_open = draft.args.is_some();
            let ruling = match draft.glance {
                Glance::Pass => Ruling::Allow,
                _ if is_open && self.finished => {
                    self.next += 1;
                    continue;
                }
                _ if is_open => return,
                Glance::Refuse => Ruling::Refuse(binding::not_there(&draft.name)),
                Glance::Ask => {
                    self.waiting = draft.call.take();
                    return;
                }
            };
            if let Some(call) = draft.call.take() {
                self.record(call, ruling);
            }
        }
    }

    /// The complete call that is to be decided on next.
    pub(super) fn waiting(&self) -> Option<&Call> {
        self.waiting.as_ref()
    }

    /// Decides on it.
    pub(super) fn rule(&mut self, ruling: Ruling) {
        if let Some(call) = self.waiting.take() {
            self.record(call, ruling);
        }
        self.settle();
    }

    fn record(&mut self, call: Call, ruling: Ruling) {
        if let Some(draft) = self.drafts.get_mut(self.next) {
            draft.ruled = Some(self.calls.all().len());
        }
        self.calls.push(call, ruling);
        self.next += 1;
    }

    /// The calls that are decided, in the model's order.
    pub(super) fn decided(&self) -> &[Ruled] {
        self.calls.all()
    }

    /// What becomes of the parts of a call; `None` as long as it is not decided.
    pub(super) fn fate(&self, draft: usize) -> Option<Fate<'_>> {
        let draft = self.drafts.get(draft)?;
        let ruling = draft.ruled.and_then(|ruled| self.calls.all().get(ruled)).map(|ruled| &ruled.ruling);
        match (draft.glance, ruling) {
            (Glance::Pass, _) | (_, Some(Ruling::Allow)) => Some(Fate::Pass),
            (Glance::Refuse, _) | (_, Some(Ruling::Refuse(_))) => Some(Fate::Gone),
            (Glance::Ask, Some(Ruling::Replace(input))) => Some(Fate::Replace(input)),
            (Glance::Ask, None) => (self.finished && draft.args.is_some()).then_some(Fate::Gone),
        }
    }
}
