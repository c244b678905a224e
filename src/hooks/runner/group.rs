//! The process group of a run.
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;

/// Ends a process group when it is dropped, unless its leader has exited by itself.
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group that `child` leads (it was started with `process_group(0)`).
    pub(super) fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw))
    }

    /// The leader has exited and was waited for: its id may soon be another's, and what it left running may run on.
    pub(super) fn leave(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SIGKILL at once: the time is already used up, and a hook that traps SIGTERM must end too.
        if let Some(leader) = self.0
            && let Err(error) = killpg(leader, Signal::SIGKILL)
        {
            tracing::debug!(%error, %leader, "the process group is already gone");
        }
    }
}
