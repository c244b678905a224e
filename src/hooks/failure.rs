//! Why a hook failed, and why a pipeline can't be built.
use crate::config::condition::ConditionError;
use std::path::PathBuf;
use std::time::Duration;

/// Why one run of a hook counts as failed (docs/hooks.md). The text is for the operator's log; nothing of it reaches
/// the model, and none of it quotes what the hook was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookFailure {
    /// Its condition can't be evaluated.
    #[error("invalid `when`: {0}")]
    When(String),
    /// It took longer than its own timeout.
    #[error("timed out after {0:?}")]
    TimedOut(Duration),
    /// The time that all hooks before a request share was used up.
    #[error("timed out after {0:?}: the deadline of the request was reached")]
    Deadline(Duration),
    /// The program can't be started: missing, not executable, no such working directory.
    #[error("could not start {program:?}: {reason}")]
    Start {
        /// The program as configured.
        program: String,
        /// The system's words.
        reason: String,
    },
    /// The process can't be waited for.
    #[error("lost the process: {0}")]
    Lost(String),
    /// The process ended with a status other than 0.
    #[error("exit status {0}")]
    Exit(i32),
    /// The process was ended by a signal.
    #[error("ended by signal {0}")]
    Signal(i32),
    /// The worker ended with this event in its hands.
    #[error("the worker {0}")]
    WorkerEnded(String),
    /// The worker has ended before and is not started again yet.
    #[error("the worker does not run at the moment")]
    WorkerDown,
    /// It wrote more than `limits.hook_output`.
    #[error("output over the limit of {limit} bytes")]
    OutputOverLimit {
        /// The limit, in bytes.
        limit: usize,
    },
    /// Its file can't be read.
    #[error("could not read {}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The http hook answered with a status other than 2xx.
    #[error("http status {0}")]
    Status(u16),
    /// The http hook was not reached, or its answer broke off.
    #[error("http request failed: {0}")]
    Http(String),
    /// The http hook answered with something that is not a JSON object.
    #[error("invalid answer: an http hook answers with a JSON object")]
    NotAnObject,
    /// Its output begins like a JSON object and is none.
    #[error("invalid JSON: {0}")]
    InvalidJson(String),
    /// A field of its answer has the wrong type.
    #[error("invalid answer: `{field}` must be {expected}")]
    WrongType {
        /// Path of the field, dotted.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// One of its edits is none.
    #[error("invalid answer: edits[{index}]: {reason}")]
    Edit {
        /// Counted from 0.
        index: usize,
        /// Why.
        reason: String,
    },
    /// One of its edits can't be made in this request.
    #[error("edits[{index}] can't be made: {reason}")]
    NotMade {
        /// Counted from 0.
        index: usize,
        /// Why.
        reason: String,
    },
    /// A tool's name can't be named in an edit.
    #[error("invalid tool name: {0}")]
    Tool(String),
    /// What it gives for a tool's result can't stand in this result.
    #[error("the result can't be changed: {0}")]
    NoPlace(String),
    /// The event can't be written as JSON.
    #[error("the event is invalid: {0}")]
    Event(String),
    /// Scripts written for Claude Code failed, each with its command.
    #[error("{0}")]
    Scripts(String),
    /// What it runs is not what its user agreed with.
    #[error("not run: {0}")]
    Refused(String),
    /// A defect of the gateway, kept inside this hook.
    #[error("panicked: {0}")]
    Panicked(String),
}

/// Why the configured hooks can't be made into a pipeline.
#[derive(Debug, thiserror::Error)]
pub enum HooksError {
    /// `when` does not compile.
    #[error("hook {hook:?}: when: {source}")]
    When {
        /// The hook's name.
        hook: String,
        /// Where and why.
        source: ConditionError,
    },
    /// The command or worker names no program.
    #[error("hook {hook:?}: its command is empty")]
    EmptyCommand {
        /// The hook's name.
        hook: String,
    },
    /// A script written for Claude Code can't work.
    #[error("hook {hook:?}: {action:?}: {reason}")]
    Script {
        /// The hook's name.
        hook: String,
        /// The script.
        action: String,
        /// Why.
        reason: String,
    },
    /// The client of an http hook can't be made.
    #[error("hook {hook:?}: run.http: {reason}")]
    Http {
        /// The hook's name.
        hook: String,
        /// Why.
        reason: String,
    },
}
