//! Transcripts: one file per session and sub-agent, a JSON line per message or block in the shape that Claude Code's own
//! files have, written before the hook runs that may read it.
//!
//! A file holds what the gateway saw of a session on the events that its hooks listen to: prompts, calls, results, answers.
//! Each line has an id of its own making, so that an event that comes again adds nothing. Nobody else than the gateway's
//! user may read it; it is kept below [`MAX_FILE`] by dropping its oldest lines, and deleted after `sessions.retain`.
mod lines;
mod sweep;

use super::moment::{Moment, ids};
use crate::context::Digest;
use crate::session::record::{MAIN, SessionKey};
use lines::Line;
use parking_lot::Mutex;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Most that one file has, in bytes: scripts read it as a whole.
const MAX_FILE: usize = 4 * 1024 * 1024;

/// Writers at once; two of one file wait for each other.
const LOCKS: usize = 64;

/// Longest id that is a file's name as it is, in bytes: file systems take 255, with an ending.
const MAX_NAME: usize = 128;

/// Where transcripts are.
#[derive(Debug)]
pub(super) struct Transcripts {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: Option<PathBuf>,
    /// Made when it is needed.
    temporary: OnceLock<io::Result<TempDir>>,
    retain: Duration,
    locks: [Mutex<()>; LOCKS],
    swept: Mutex<Option<Instant>>,
}

/// The files of one event.
#[derive(Debug, Clone)]
pub(super) struct Files {
    /// Of the session's main agent.
    pub(super) main: PathBuf,
    /// Of the agent that the event is of: the same, or the sub-agent's.
    pub(super) own: PathBuf,
}

impl Transcripts {
    /// In `root`, or in a temporary folder.
    pub(super) fn new(root: Option<PathBuf>, retain: Duration) -> Self {
        let shared = Shared {
            root,
            temporary: OnceLock::new(),
            retain,
            locks: std::array::from_fn(|_| Mutex::new(())),
            swept: Mutex::new(None),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Writes down what `moment` tells. The files are named even when they can't be written, which is logged: scripts bear a
    /// missing file better than no name.
    pub(super) async fn write(&self, moment: &Moment<'_>, cwd: &Path) -> Files {
        let shared = self.shared.clone();
        let lines = lines::of(moment, cwd);
        let (session, agent) = ids(moment.of);
        let names = names(&moment.of.session.tenant, session, agent);
        let seed = lines::history(moment, cwd);
        let failed = |error: &dyn std::fmt::Display| tracing::warn!(%error, "a transcript can't be written");
        let written = tokio::task::spawn_blocking(move || {
            let root = shared.root();
            let files = Files { main: root.join(&names.main), own: root.join(&names.own) };
            let result = shared.append(&files.own, &seed, &lines);
            (files, result)
        });
        match written.await {
            Ok((files, result)) => {
                if let Err(error) = result {
                    failed(&error);
                }
                files
            }
            Err(error) => {
                failed(&error);
                Files { main: PathBuf::new(), own: PathBuf::new() }
            }
        }
    }
}

impl Transcripts {
    /// Deletes the file of a session's agent. One that was written under another session's, as its parent, goes with age.
    pub(super) async fn delete(&self, session: &SessionKey) {
        let agent = Some(session.agent.as_str()).filter(|agent| *agent != MAIN);
        let path = names(&session.tenant.0, &session.id, agent).own;
        let shared = self.shared.clone();
        let deleted = tokio::task::spawn_blocking(move || match fs::remove_file(shared.root().join(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        });
        if let Err(error) = deleted.await.map_err(io::Error::from).flatten() {
            tracing::warn!(%session, %error, "a transcript can't be deleted");
        }
    }
}

impl Shared {
    fn root(&self) -> &Path {
        let temporary = || self.temporary.get_or_init(|| tempfile::Builder::new().prefix("hookgate-").tempdir());
        match &self.root {
            Some(root) => root,
            None => temporary().as_ref().map_or(Path::new("/nonexistent"), TempDir::path),
        }
    }

    /// Adds the lines that the file does not have; `seed` is the beginning of one that is not there yet.
    fn append(&self, path: &Path, seed: &[Line], lines: &[Line]) -> io::Result<()> {
        let place = Digest::of(&[path.as_os_str().as_encoded_bytes()]).0[0];
        let _alone = self.locks.get(usize::from(place) % LOCKS).map(Mutex::lock);
        let before = match fs::read(path) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if before.is_none() {
            self.sweep();
            DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap_or(path))?;
        }
        let seed = if before.is_none() { seed } else { &[] };
        let before = before.unwrap_or_default();
        let mut text = Vec::new();
        let mut parent = lines::last_id(&before);
        for line in seed.iter().chain(lines).filter(|line| !line.is_in(&before)) {
            line.write(parent.as_deref(), &mut text);
            parent = Some(line.id.clone());
        }
        if before.len() + text.len() > MAX_FILE {
            return replace(path, &lines::newest([before, text].concat(), MAX_FILE / 2));
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        file.write_all(&text)
    }

    fn sweep(&self) {
        let mut swept = self.swept.lock();
        if swept.is_none_or(|at| at.elapsed() >= sweep::EVERY) {
            *swept = Some(Instant::now());
            sweep::sweep(self.root(), self.retain);
        }
    }
}

/// Puts another file in the place of one: a script that reads sees either.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    file.write_all(text)?;
    file.persist(path)?;
    Ok(())
}

/// Paths below the root: a folder per tenant, in it Claude Code's own layout.
fn names(tenant: &str, session: &str, agent: Option<&str>) -> Files {
    let folder = Path::new(&name(tenant)).join(name(session));
    let main = folder.with_added_extension("jsonl");
    let own = match agent {
        Some(agent) => folder.join("subagents").join(format!("agent-{}.jsonl", name(agent))),
        None => main.clone(),
    };
    Files { main, own }
}

/// An id as a file's name: itself where that is one, else its digest.
fn name(id: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let is_name = (1..=MAX_NAME).contains(&id.len()) && id.bytes().all(plain) && !id.starts_with('.');
    if is_name { id.to_owned() } else { Digest::of(&[id.as_bytes()]).to_string() }
}

#[cfg(test)]
mod tests;
