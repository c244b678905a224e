//! `run: { command: [...] }`: a process that gets the event on stdin and answers on stdout.
//!
//! The run ends when the process exits. What it had written until then is its output, whatever background children keep
//! the pipe open; such a child is left alone. A run that ends early (its future is dropped at the timeout, its output is
//! over the limit) ends the whole process group with SIGKILL, which no trap survives. A child that leaves the group by
//! `setsid` is out of reach.
use super::capture::{Capture, Excess};
use super::program::{Ended, Program};
use super::{Invocation, Output, Runner};
use crate::hooks::{HookFailure, HooksError};
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use tokio::process::ChildStderr;
use tokio::sync::Semaphore;

/// How much of stderr is kept for the log, in bytes (docs/hooks.md).
const STDERR_LIMIT: usize = 4096;

/// A process for each event.
#[derive(Debug)]
pub(super) struct Command {
    program: Program,
    /// Places for processes, shared by the pipeline's hooks.
    processes: Arc<Semaphore>,
}

impl Runner for Command {
    fn run<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Output, HookFailure>> {
        Box::pin(self.execute(call))
    }
}

impl Command {
    pub(super) fn new(
        hook: &str,
        argv: &[String],
        cwd: &Path,
        env: &BTreeMap<String, String>,
        env_pass: &[String],
        processes: Arc<Semaphore>,
    ) -> Result<Self, HooksError> {
        let program = Program::of_hook(hook, argv, cwd, env, env_pass)?;
        Ok(Self { program, processes })
    }

    async fn execute(&self, call: &Invocation<'_>) -> Result<Output, HookFailure> {
        let _place = self.processes.acquire().await.map_err(|e| HookFailure::Lost(e.to_string()))?;
        let mut line = call.payload()?;
        line.push(b'\n');
        let mut stderr = Stderr { hook: call.hook, capture: Capture::new(None, STDERR_LIMIT, Excess::Drop) };
        let Ended { status, stdout } = self.program.run(call, &line, &mut stderr.capture).await?;
        succeeded(status)?;
        Ok(Output::Written(stdout))
    }
}

fn succeeded(status: ExitStatus) -> Result<(), HookFailure> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(HookFailure::Exit(code)),
        (None, Some(signal)) => Err(HookFailure::Signal(signal)),
        (None, None) => Err(HookFailure::Lost(status.to_string())),
    }
}

/// The hook's stderr, logged when the run is over. On drop, because a run that times out is dropped, and there the
/// words are needed most.
struct Stderr<'a> {
    hook: &'a str,
    capture: Capture<ChildStderr>,
}

impl Drop for Stderr<'_> {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(self.capture.bytes());
        if !text.trim().is_empty() {
            tracing::info!(hook = self.hook, stderr = %text.trim_end(), "hook {:?} wrote to stderr", self.hook);
        }
    }
}

#[cfg(test)]
mod tests;
