//! The command: it has the terminal, gets every signal, and its end is the end of the run.
use futures_util::FutureExt as _;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

/// What a shell says of a command that it can't find.
const NOT_FOUND: u8 = 127;
/// What a shell says of one that it can't run.
const NOT_RUN: u8 = 126;
/// What a shell adds to the number of the signal that ended a command.
const BY_SIGNAL: i32 = 128;

/// Why there is no command.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", program.display(), words(source))]
pub(in crate::cli) struct NotStarted {
    program: OsString,
    source: io::Error,
}

impl NotStarted {
    /// The exit code that a shell has for it.
    pub(super) fn code(&self) -> u8 {
        if self.source.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN }
    }
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "command not found".to_owned(),
        io::ErrorKind::PermissionDenied => "not executable".to_owned(),
        _ => error.to_string(),
    }
}

/// What is done with the signals of a run. They are taken from the moment that this is made, so that the gateway does not die
/// of one that is meant for the command.
pub(super) struct Deputy {
    /// From the terminal, which sends them to the command too: they are the command's to answer.
    interrupt: Signals,
    quit: Signals,
    /// From elsewhere, to this process alone.
    terminate: Signals,
    hangup: Signals,
    child: Signals,
}

impl Deputy {
    /// # Errors
    /// When a signal can't be taken.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            child: signal(SignalKind::child())?,
        })
    }

    /// Runs the command to its end; what it ended with, as a shell would say.
    ///
    /// # Errors
    /// [`NotStarted`]
    pub(super) async fn run(
        &mut self,
        program: &OsStr,
        arguments: &[OsString],
        variables: &BTreeMap<String, String>,
    ) -> Result<u8, NotStarted> {
        let failed = |source| NotStarted { program: program.to_owned(), source };
        // In this process group and on this terminal, so that Ctrl-C and Ctrl-Z reach it as they would without a gateway.
        let mut child = Command::new(program).args(arguments).envs(variables).spawn().map_err(failed)?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw);
        let status = self.attend(&mut child, pid).await.map_err(failed)?;
        self.forget();
        Ok(code(status))
    }

    async fn attend(&mut self, child: &mut Child, pid: Option<Pid>) -> io::Result<ExitStatus> {
        // One that is gone needs no signal.
        let pass_on = |signal| {
            let _ = pid.map(|pid| kill(pid, signal));
        };
        loop {
            tokio::select! {
                status = child.wait() => return status,
                _ = self.interrupt.recv() => {}
                _ = self.quit.recv() => {}
                _ = self.terminate.recv() => pass_on(Signal::SIGTERM),
                _ = self.hangup.recv() => pass_on(Signal::SIGHUP),
                _ = self.child.recv() => if pid.is_some_and(has_stopped) {
                    // It stopped itself: the shell is told by stopping too, and wakes both.
                    let _ = raise(Signal::SIGSTOP);
                    pass_on(Signal::SIGCONT);
                },
            }
        }
    }

    /// The signal that ended the command is not one more.
    fn forget(&mut self) {
        for signals in [&mut self.interrupt, &mut self.quit, &mut self.terminate, &mut self.hangup] {
            while signals.recv().now_or_never().flatten().is_some() {}
        }
    }

    /// Waits until somebody wants an end at once.
    pub(super) async fn impatience(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.quit.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Whether the command has stopped since this was last asked; its end is not taken from whoever waits for it.
fn has_stopped(pid: Pid) -> bool {
    let asked = || waitid(Id::Pid(pid), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG);
    loop {
        match asked() {
            Err(Errno::EINTR) => {}
            asked => return matches!(asked, Ok(WaitStatus::Stopped(..))),
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_commands_end_is_told_as_a_shell_tells_it() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let mut deputy = Deputy::new().unwrap();
        for (command, code) in [
            (&["true"][..], 0),
            (&["sh", "-c", "exit 7"], 7),
            (&["sh", "-c", "kill -TERM $$"], 143),
            (&["no-such-command-anywhere"], 127),
            (&[plain.to_str().unwrap()], 126),
        ] {
            let arguments: Vec<OsString> = command[1..].iter().map(OsString::from).collect();
            let ended = deputy.run(OsStr::new(command[0]), &arguments, &BTreeMap::new()).await;
            assert_eq!(ended.unwrap_or_else(|error| error.code()), code, "{command:?}");
        }
    }
}
