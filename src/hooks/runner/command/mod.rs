//! `run: { command: [...] }`: a process that gets the event on stdin and answers on stdout.
//!
//! The run ends when the process exits. What it had written until then is its output, whatever background children keep
//! the pipe open; such a child is left alone. A run that ends early (its future is dropped at the timeout, its output is
//! over the limit) ends the whole process group with SIGKILL, which no trap survives. A child that leaves the group by
//! `setsid` is out of reach.
use super::{Invocation, Output, Runner};
use crate::hooks::{HookFailure, HooksError};
use capture::{Capture, Excess};
use futures_util::future::BoxFuture;
use group::Group;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin};
use tokio::sync::Semaphore;

mod capture;
mod group;

/// What every hook gets from the gateway's environment when it is set there: what programs need to find their way, and
/// no secret (CONTRACT section 4).
const PASSED: [&str; 6] = ["PATH", "HOME", "LANG", "TMPDIR", "USER", "SHELL"];

/// How much of stderr is kept for the log, in bytes (CONTRACT section 4).
const STDERR_LIMIT: usize = 4096;

/// A program, its arguments and surroundings.
#[derive(Debug)]
pub(super) struct Command {
    program: String,
    arguments: Vec<String>,
    cwd: PathBuf,
    env: BTreeMap<OsString, OsString>,
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
        let (program, arguments) =
            argv.split_first().ok_or_else(|| HooksError::EmptyCommand { hook: hook.to_owned() })?;
        let passed = PASSED.into_iter().chain(env_pass.iter().map(String::as_str));
        let passed = passed.filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        let own = env.iter().map(|(name, value)| (name.into(), value.into()));
        Ok(Self {
            program: program.clone(),
            arguments: arguments.to_vec(),
            cwd: cwd.to_owned(),
            env: passed.chain(own).collect(),
            processes,
        })
    }

    async fn execute(&self, call: &Invocation<'_>) -> Result<Output, HookFailure> {
        let _place = self.processes.acquire().await.map_err(|e| HookFailure::Lost(e.to_string()))?;
        let mut line = call.payload()?;
        line.push(b'\n');

        let mut child = self.spawn(call)?;
        // Dropped before `child`: the group is ended while its leader is not yet reaped and the id can't belong to another.
        let group = Group::of(&child);
        let mut stdout = Capture::new(child.stdout.take(), call.output_limit, Excess::Fail);
        let mut stderr =
            Stderr { hook: call.hook, capture: Capture::new(child.stderr.take(), STDERR_LIMIT, Excess::Drop) };
        let stdin = child.stdin.take();
        let pipes = async { tokio::try_join!(feed(stdin, line), stdout.read(), stderr.capture.read()) };

        let status = tokio::select! {
            status = child.wait() => status.map_err(|e| HookFailure::Lost(e.to_string()))?,
            Err(failure) = pipes => return Err(failure),
        };
        group.leave();
        stderr.capture.drain()?;
        stdout.drain()?;
        succeeded(status)?;
        Ok(Output::Written(stdout.into_bytes()))
    }

    fn spawn(&self, call: &Invocation<'_>) -> Result<Child, HookFailure> {
        let session = &call.event.session;
        tokio::process::Command::new(&self.program)
            .args(&self.arguments)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(&self.env)
            .env("HOOKGATE_SESSION", &session.id)
            .env("HOOKGATE_AGENT", &session.agent)
            .env("HOOKGATE_EVENT", call.kind.name())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| HookFailure::Start { program: self.program.clone(), reason: e.to_string() })
    }
}

/// Writes the event and closes stdin. A hook need not read it, so a broken pipe is no failure.
async fn feed(stdin: Option<ChildStdin>, line: Vec<u8>) -> Result<(), HookFailure> {
    if let Some(mut stdin) = stdin
        && let Err(error) = stdin.write_all(&line).await
    {
        tracing::debug!(%error, "the hook did not read the whole event");
    }
    Ok(())
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
