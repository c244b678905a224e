//! A program, its arguments and surroundings: what is run by hooks that are processes.
use super::Invocation;
use super::capture::{Capture, Excess};
use super::group::Group;
use crate::hooks::{HookFailure, HooksError};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, Command};

/// What every hook gets from the gateway's environment when it is set there: what programs need to find their way, and
/// no secret (docs/hooks.md).
pub(super) const PASSED: [&str; 6] = ["PATH", "HOME", "LANG", "TMPDIR", "USER", "SHELL"];

/// What is started.
#[derive(Debug)]
pub(super) struct Program {
    program: String,
    arguments: Vec<String>,
    cwd: PathBuf,
    env: BTreeMap<OsString, OsString>,
}

/// A process that has exited by itself.
#[derive(Debug)]
pub(super) struct Ended {
    /// How.
    pub(super) status: ExitStatus,
    /// What it wrote until then.
    pub(super) stdout: Vec<u8>,
}

impl Program {
    /// What a hook's configuration names.
    ///
    /// # Errors
    /// [`HooksError::EmptyCommand`].
    pub(super) fn of_hook(
        hook: &str,
        argv: &[String],
        cwd: &Path,
        env: &BTreeMap<String, String>,
        env_pass: &[String],
    ) -> Result<Self, HooksError> {
        Self::new(argv, cwd, env, env_pass).ok_or_else(|| HooksError::EmptyCommand { hook: hook.to_owned() })
    }

    /// `None` when `argv` names no program.
    pub(super) fn new(
        argv: &[String],
        cwd: &Path,
        env: &BTreeMap<String, String>,
        env_pass: &[String],
    ) -> Option<Self> {
        let (program, arguments) = argv.split_first()?;
        let passed = PASSED.into_iter().chain(env_pass.iter().map(String::as_str));
        let passed = passed.filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        let own = env.iter().map(|(name, value)| (name.into(), value.into()));
        Some(Self {
            program: program.clone(),
            arguments: arguments.to_vec(),
            cwd: cwd.to_owned(),
            env: passed.chain(own).collect(),
        })
    }

    /// Starts it as the leader of its own process group, with a clean environment, `more` variables, and three pipes.
    ///
    /// # Errors
    /// [`HookFailure::Start`].
    pub(super) fn spawn(&self, more: &[(&str, &str)]) -> Result<Child, HookFailure> {
        Command::new(&self.program)
            .args(&self.arguments)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(&self.env)
            .envs(more.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| HookFailure::Start { program: self.program.clone(), reason: e.to_string() })
    }

    /// Runs it once, for one event: it reads `input`, and what it writes until it exits is its output. What it says on stderr
    /// is left with the caller, who has it also when the run is dropped.
    ///
    /// # Errors
    /// [`HookFailure`] when it can't be started or waited for, or writes more than it may.
    pub(super) async fn run(
        &self,
        call: &Invocation<'_>,
        input: &[u8],
        stderr: &mut Capture<ChildStderr>,
    ) -> Result<Ended, HookFailure> {
        let session = &call.event.session;
        let mut child = self.spawn(&[
            ("HOOKGATE_SESSION", &session.id),
            ("HOOKGATE_AGENT", &session.agent),
            ("HOOKGATE_EVENT", call.kind.name()),
        ])?;
        // Dropped before `child`: the group is ended while its leader is not yet reaped and the id can't belong to another.
        let group = Group::of(&child);
        let mut stdout = Capture::new(child.stdout.take(), call.output_limit, Excess::Fail);
        stderr.attach(child.stderr.take());
        let stdin = child.stdin.take();
        let pipes = async { tokio::try_join!(feed(stdin, input), stdout.read(), stderr.read()) };

        let status = tokio::select! {
            status = child.wait() => status.map_err(|e| HookFailure::Lost(e.to_string()))?,
            Err(failure) = pipes => return Err(failure),
        };
        group.leave();
        stderr.drain()?;
        stdout.drain()?;
        Ok(Ended { status, stdout: stdout.into_bytes() })
    }
}

/// Writes the event and closes stdin. A hook need not read it, so a broken pipe is no failure.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) -> Result<(), HookFailure> {
    if let Some(mut stdin) = stdin
        && let Err(error) = stdin.write_all(input).await
    {
        tracing::debug!(%error, "the hook did not read the whole event");
    }
    Ok(())
}
