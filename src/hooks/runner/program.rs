//! A program, its arguments and surroundings: what is run by hooks that are processes.
use crate::hooks::HookFailure;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::{Child, Command};

/// What every hook gets from the gateway's environment when it is set there: what programs need to find their way, and
/// no secret (CONTRACT section 4).
pub(super) const PASSED: [&str; 6] = ["PATH", "HOME", "LANG", "TMPDIR", "USER", "SHELL"];

/// What is started.
#[derive(Debug)]
pub(super) struct Program {
    program: String,
    arguments: Vec<String>,
    cwd: PathBuf,
    env: BTreeMap<OsString, OsString>,
}

impl Program {
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
}
