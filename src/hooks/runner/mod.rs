//! What a hook does when its turn comes. One file per runner; a new one is its file and a line in [`of`].
use super::contract::{Event, VERSION};
use super::{HookFailure, HooksError, Parsed};
use crate::config::{EventKind, Hook, Run};
use crate::context::Edit;
use crate::knowledge::Knowledge;
use crate::session::record::SessionKey;
use futures_util::future::{BoxFuture, ready};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

mod capture;
mod claude_code;
mod command;
mod edits;
mod file;
mod group;
mod http;
mod knowledge;
mod model_context;
mod program;
mod text;
mod worker;

/// Command processes of one pipeline at once. A burst of sessions would otherwise fork as many processes as there are
/// requests; who waits for a place, waits on its own timeout.
pub const MAX_PROCESSES: usize = 64;

/// What runners share.
#[derive(Debug, Clone)]
pub(super) struct House {
    /// Places for the processes of commands.
    pub(super) processes: Arc<Semaphore>,
    /// What was learned.
    pub(super) knowledge: Arc<Knowledge>,
}

/// Does what `run` says.
///
/// The pipeline bounds every run in time by dropping its future, so that must end everything that the run began.
pub trait Runner: Send + Sync + fmt::Debug {
    /// Runs once.
    ///
    /// # Errors
    /// Whatever makes this run a failed one.
    fn run<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Output, HookFailure>>;

    /// Whether a run takes time and does something outside of the gateway. Such a run is not begun when no time is left;
    /// others still count then: a constant must not be lost because another hook was slow.
    fn acts(&self) -> bool {
        true
    }

    /// Whether a run needs [`Event::roster`].
    fn wants_roster(&self) -> bool {
        false
    }

    /// Whether it also takes the results of a step together, as [`Event::batch`].
    fn wants_batch(&self) -> bool {
        false
    }

    /// Ends what stays running between events, and waits for that; dropping it ends it too.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// Deletes what it keeps of a session.
    fn forget<'a>(&'a self, _: &'a SessionKey) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }

    /// How long a run on this event may take when its hook does not say; `None`: what is usual for the event.
    fn timeout(&self, _: EventKind) -> Option<Duration> {
        None
    }

    /// Whether it takes [`Event::request`], though the hook does not include it.
    fn wants_request(&self, _: EventKind) -> bool {
        false
    }
}

/// What a run gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A text that is context as it stands.
    Text(String),
    /// What a rule changes.
    Edits(Arc<[Edit]>),
    /// What a program wrote: to be read by the rules of the contract.
    Written(Vec<u8>),
    /// What a program said by rules of its own, already read.
    Outcome(Box<Parsed>),
    /// Nothing ran: nothing of it is there for this event.
    Nothing,
}

/// One event for one hook.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    /// Which event.
    pub kind: EventKind,
    /// The event, without the hook's name.
    pub event: &'a Event,
    /// The hook's name.
    pub hook: &'a str,
    /// Whether the hook asked for the request.
    pub include_request: bool,
    /// `limits.hook_output`, in bytes.
    pub output_limit: usize,
    /// How long the run may take; then it is ended.
    pub time: Duration,
}

impl Invocation<'_> {
    /// The event as this hook reads it: compact JSON without a line end. Made only by the runners that send it.
    ///
    /// # Errors
    /// [`HookFailure::Event`].
    pub fn payload(&self) -> Result<Vec<u8>, HookFailure> {
        let request = self.event.request.as_ref().filter(|_| self.include_request).map(Arc::clone);
        let event =
            Event { v: VERSION, event: self.kind.name(), hook: self.hook.to_owned(), request, ..self.event.clone() };
        serde_json::to_vec(&event).map_err(|e| HookFailure::Event(e.to_string()))
    }
}

/// The runner of a configured hook.
///
/// # Errors
/// [`HooksError`] when `run` can't work at all.
pub(super) fn of(hook: &Hook, house: &House) -> Result<Box<dyn Runner>, HooksError> {
    let House { processes, knowledge } = house;
    Ok(match &hook.run {
        Run::Text(text) => Box::new(text::Text(text.clone())),
        Run::Edits(edits) => Box::new(edits::Edits(edits.clone())),
        Run::File(path) => Box::new(file::File(path.clone())),
        Run::Command { argv, cwd, env, env_pass } => {
            Box::new(command::Command::new(&hook.name, argv, cwd, env, env_pass, Arc::clone(processes))?)
        }
        Run::Worker { argv, cwd, env, env_pass, workers } => {
            Box::new(worker::Worker::new(&hook.name, argv, cwd, env, env_pass, *workers)?)
        }
        Run::ModelContext(context) => Box::new(model_context::ModelContext(Arc::clone(context))),
        Run::ClaudeCode(settings) => Box::new(claude_code::Scripts::new(hook, settings, processes)?),
        Run::Knowledge { max_entries } => Box::new(knowledge::Pick::new(Arc::clone(knowledge), *max_entries)),
        Run::Http { url, headers } => Box::new(http::Http::new(&hook.name, url, headers)?),
    })
}

#[cfg(test)]
pub(super) mod testing;
