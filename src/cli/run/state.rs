//! What outlives a run: a folder for each project in the user's state folder.
//!
//! ```text
//! STATE/hookgate/run/NAME-DIGEST/1/lock           held while a run uses it
//!                                 /store/         the sessions
//!                                 /hookgate.log   of the last run; hookgate.log.old of the one before
//!                                 2/              of a run beside the first
//! ```
//! One process has a sled store open at a time, so a run beside another one of the same project has a folder of its own.
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Runs of one project at once.
const MAX: usize = 64;
/// The folder of runs.
const RUNS: &str = "run";
/// Digits of the digest of a project's path: enough that no two projects of a user share them.
const DIGEST: usize = 12;
/// Only the user enters.
const FOLDER_MODE: u32 = 0o700;
/// Only the user reads.
const FILE_MODE: u32 = 0o600;
const LOG: &str = "hookgate.log";
const LOG_BEFORE: &str = "hookgate.log.old";

/// Why a run has no folder.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum StateError {
    /// The disk.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// More runs than anybody has terminals.
    #[error("{}: {MAX} runs of this project are under way", .0.display())]
    Full(PathBuf),
}

/// The folder of one run, its own until it is dropped.
#[derive(Debug)]
pub(super) struct RunFolder {
    path: PathBuf,
    number: usize,
    _lock: File,
}

impl RunFolder {
    /// The first free folder of this project.
    ///
    /// # Errors
    /// [`StateError`]
    pub(super) fn take(state: &Path, project: &Path) -> Result<Self, StateError> {
        let folder = state.join(RUNS).join(name(project));
        for number in 1..=MAX {
            let path = folder.join(number.to_string());
            let io = |source| StateError::Io { path: path.clone(), source };
            fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&path).map_err(io)?;
            let mut open = OpenOptions::new();
            open.write(true).create(true).truncate(false).mode(FILE_MODE);
            let lock = open.open(path.join("lock")).map_err(io)?;
            match lock.try_lock() {
                Ok(()) => return Ok(Self { path, number, _lock: lock }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(io(source)),
            }
        }
        Err(StateError::Full(folder))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether another run of the project has the sessions that the next one will see.
    pub(super) fn is_beside(&self) -> bool {
        self.number > 1
    }

    /// The folder of the store.
    pub(super) fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// A new log; that of the run before is kept.
    ///
    /// # Errors
    /// [`StateError`]
    pub(super) fn log(&self) -> Result<File, StateError> {
        let path = self.path.join(LOG);
        let io = |source| StateError::Io { path: path.clone(), source };
        match fs::rename(&path, self.path.join(LOG_BEFORE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        OpenOptions::new().append(true).create(true).mode(FILE_MODE).open(&path).map_err(io)
    }
}

/// A name that people recognise, and that no other project has.
fn name(project: &Path) -> String {
    let digest = blake3::hash(project.as_os_str().as_encoded_bytes()).to_hex();
    let name = project.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    format!("{name}-{}", digest.get(..DIGEST).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_its_folder_and_a_run_beside_another_one_of_its_own() {
        let state = tempfile::tempdir().unwrap();
        let take = |project: &str| RunFolder::take(state.path(), Path::new(project)).unwrap();
        let first = take("/p/a b");
        let (beside, other) = (take("/p/a b"), take("/q/a b"));
        assert!(!first.is_beside() && beside.is_beside() && !other.is_beside());
        let paths = [first.path(), beside.path(), other.path()].map(Path::to_owned);
        assert_eq!(paths.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
        drop(first);
        assert_eq!(take("/p/a b").path(), paths[0]);
    }

    #[test]
    fn the_log_of_the_run_before_is_kept() {
        let state = tempfile::tempdir().unwrap();
        let folder = RunFolder::take(state.path(), Path::new("/p")).unwrap();
        for text in ["one", "two"] {
            io::Write::write_all(&mut folder.log().unwrap(), text.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(folder.path().join(LOG)).unwrap(), "two");
        assert_eq!(fs::read_to_string(folder.path().join(LOG_BEFORE)).unwrap(), "one");
    }
}
