//! `run: { claude_code: ... }`: hook scripts written for Claude Code, run as they are.
//!
//! ```text
//! Event ─► Moment ─► matching handlers ─► transcript ─► all at the same time ─► Said each ─► verdict ─► Outcome
//! ```
//!
//! As in Claude Code, a handler that fails or takes too long says nothing, what the others said counts, and the log names it
//! by its command. The run as a whole fails when all of its handlers did, or when one did and the hook says `on_error:
//! block`.
use super::{Invocation, Output, Runner};
use crate::config::claude_code::{self, ClaudeCode, ClaudeEvent, Handler, Matcher, OnAsk};
use crate::config::{EventKind, Hook, OnError};
use crate::hooks::contract::Event;
use crate::hooks::{HookFailure, HooksError};
use crate::session::record::SessionKey;
use futures_util::future::{BoxFuture, join_all};
use handlers::Ready;
use moment::{Facts, Moment};
use said::Said;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use transcript::Transcripts;

mod failure;
mod handlers;
mod moment;
mod said;
mod transcript;
mod verdict;

/// What a run takes beside its handlers: writing the transcript, reading what they said.
const ASIDE: Duration = Duration::from_secs(5);

/// Handlers end this long before the run's own time is over, so that what the others said still counts.
const MARGIN: Duration = Duration::from_millis(100);

/// `SessionEnd`: all handlers together have the longest time that one of them asks for, and not more than this.
const LONGEST_END: Duration = Duration::from_secs(60);

/// Handlers in the background at once; beyond it one is left out, with a warning.
const MAX_BACKGROUND: usize = 64;

/// Handlers that share an event and a matcher.
#[derive(Debug)]
struct Group {
    event: ClaudeEvent,
    matcher: Matcher,
    handlers: Vec<Arc<Ready>>,
}

/// One hook: its settings, ready to run.
#[derive(Debug)]
pub(super) struct Scripts {
    groups: Vec<Group>,
    cwd: PathBuf,
    agent_type: String,
    on_ask: OnAsk,
    transcripts: Transcripts,
    background: Arc<Semaphore>,
    /// `on_error: block`.
    strict: bool,
}

impl Runner for Scripts {
    fn run<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Output, HookFailure>> {
        Box::pin(self.answer(call))
    }

    fn timeout(&self, kind: EventKind) -> Option<Duration> {
        let groups = self.groups.iter().filter(|group| group.event.kind() == kind);
        let longest = groups.flat_map(|group| group.handlers.iter().map(|one| self.time(group.event, one))).max();
        longest.map(|longest| longest + ASIDE)
    }

    fn forget<'a>(&'a self, session: &'a SessionKey) -> BoxFuture<'a, ()> {
        Box::pin(self.transcripts.delete(session))
    }

    /// The history before the session was first seen begins its transcript.
    fn wants_request(&self, kind: EventKind) -> bool {
        kind == EventKind::SessionStart
    }

    fn wants_batch(&self) -> bool {
        self.groups.iter().any(|group| group.event == ClaudeEvent::PostToolBatch)
    }
}

impl Scripts {
    /// The scripts of `hook`.
    ///
    /// # Errors
    /// The first handler that can't work.
    pub(super) fn new(hook: &Hook, settings: &ClaudeCode, processes: &Arc<Semaphore>) -> Result<Self, HooksError> {
        let ready = |handler: &Handler| {
            Ready::new(handler, settings, processes).map(Arc::new).map_err(|reason| HooksError::Script {
                hook: hook.name.clone(),
                action: handler.action.shown(),
                reason,
            })
        };
        let group = |group: &claude_code::Group| {
            let handlers = group.handlers.iter().map(ready).collect::<Result<_, _>>()?;
            Ok(Group { event: group.event, matcher: group.matcher.clone(), handlers })
        };
        Ok(Self {
            groups: settings.groups.iter().map(group).collect::<Result<_, _>>()?,
            cwd: settings.cwd.clone(),
            agent_type: settings.agent_type.clone(),
            on_ask: settings.on_ask,
            transcripts: Transcripts::new(settings.transcripts.clone(), settings.retain),
            background: Arc::new(Semaphore::new(MAX_BACKGROUND)),
            strict: hook.on_error == OnError::Block,
        })
    }

    async fn answer(&self, call: &Invocation<'_>) -> Result<Output, HookFailure> {
        let begun = tokio::time::Instant::now();
        let Some(moment) = Moment::of(call) else { return Ok(Output::Nothing) };
        let handlers = self.handlers(&moment);
        if handlers.is_empty() {
            return Ok(Output::Nothing);
        }
        let files = self.transcripts.write(&moment, &self.cwd).await;
        let facts = Facts {
            cwd: &self.cwd,
            agent_type: &self.agent_type,
            transcript: &files.main,
            agent_transcript: &files.own,
        };
        let input: Arc<[u8]> = moment.input(facts).map_err(|error| HookFailure::Event(error.to_string()))?.into();
        let (behind, awaited): (Vec<_>, Vec<_>) = handlers.into_iter().partition(|one| one.handler.background);
        for one in behind {
            self.begin(moment.event, one, call, input.clone());
        }
        let left = call.time.saturating_sub(begun.elapsed()).saturating_sub(MARGIN);
        let runs =
            awaited.iter().map(|one| one.run(moment.event, call, &input, self.time(moment.event, one).min(left)));
        let said = join_all(runs).await;
        self.together(&moment, &awaited, said)
    }

    /// The handlers for `moment`, each once.
    fn handlers(&self, moment: &Moment<'_>) -> Vec<&Arc<Ready>> {
        let subject = moment.subject(&self.agent_type);
        let input = moment.tool_input();
        let groups = self.groups.iter().filter(|group| group.event == moment.event);
        let matching = groups.filter(|group| !moment.event.has_matcher() || group.matcher.matches(subject));
        let mut once: Vec<&Arc<Ready>> = Vec::new();
        for one in matching.flat_map(|group| &group.handlers) {
            let Handler { action, rule, .. } = &one.handler;
            let fits = rule.as_ref().is_none_or(|rule| rule.applies(subject, &input));
            if fits && !once.iter().any(|known| known.handler.action == *action && known.handler.rule == *rule) {
                once.push(one);
            }
        }
        once
    }

    /// How long a handler may take.
    fn time(&self, event: ClaudeEvent, one: &Ready) -> Duration {
        let own = one.handler.timeout;
        if event != ClaudeEvent::SessionEnd {
            return own.unwrap_or(event.default_timeout());
        }
        let groups = self.groups.iter().filter(|group| group.event == event);
        let asked = groups.flat_map(|group| &group.handlers).filter_map(|one| one.handler.timeout).max();
        let together = asked.unwrap_or_default().max(event.default_timeout()).min(LONGEST_END);
        own.unwrap_or(together).min(together)
    }

    /// Runs a handler that nobody waits for.
    fn begin(&self, event: ClaudeEvent, one: &Arc<Ready>, call: &Invocation<'_>, input: Arc<[u8]>) {
        let hook = call.hook.to_owned();
        let Ok(place) = self.background.clone().try_acquire_owned() else {
            let action = one.handler.action.shown();
            return tracing::warn!(
                hook,
                event = event.name(),
                action,
                "left out: too many handlers run in the background"
            );
        };
        let (one, time) = (one.clone(), self.time(event, one));
        let (kind, output_limit) = (call.kind, call.output_limit);
        let of: Event = call.event.clone();
        tokio::spawn(async move {
            let _place = place;
            let call = Invocation { kind, event: &of, hook: &hook, include_request: false, output_limit, time };
            if let Err(why) = one.run(event, &call, &input, time).await {
                let why = failed(event, &one.handler.action.shown(), &why);
                tracing::warn!(hook, event = event.name(), "hook {hook:?}: {why}");
            }
        });
    }

    fn together(
        &self,
        moment: &Moment<'_>,
        handlers: &[&Arc<Ready>],
        results: Vec<Result<Said, String>>,
    ) -> Result<Output, HookFailure> {
        let (mut said, mut failures, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for (one, result) in handlers.iter().zip(results) {
            let action = || one.handler.action.shown();
            match result {
                Ok(mut heard) => {
                    let own = std::mem::take(&mut heard.notes);
                    notes.extend(own.into_iter().map(|note| format!("{} {:?}: {note}", moment.event.name(), action())));
                    said.push(heard);
                }
                Err(why) => failures.push(failed(moment.event, &action(), &why)),
            }
        }
        if !failures.is_empty() && (said.is_empty() || self.strict) {
            return Err(HookFailure::Scripts(failures.join("; ")));
        }
        let mut parsed = verdict::of(moment, said, self.on_ask);
        parsed.warnings.extend(failures.into_iter().chain(notes));
        Ok(Output::Outcome(Box::new(parsed)))
    }
}

fn failed(event: ClaudeEvent, action: &str, why: &str) -> String {
    format!("{} {action:?} failed: {why}", event.name())
}

#[cfg(test)]
mod tests;
