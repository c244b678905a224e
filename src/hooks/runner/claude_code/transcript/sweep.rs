//! Old transcripts go, and the oldest of too many.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Time between two sweeps.
pub(super) const EVERY: Duration = Duration::from_secs(60 * 60);

/// Most that all transcripts have together, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// Most files: a session that said little counts, too.
const MAX_FILES: usize = 20_000;

/// Levels of folders: tenant, session, sub-agents.
const DEPTH: usize = 3;

struct Found {
    path: PathBuf,
    changed: SystemTime,
    bytes: u64,
}

/// Deletes what was not changed for `retain`, then the oldest until the rest is within bounds.
pub(super) fn sweep(root: &Path, retain: Duration) {
    sweep_to(root, retain, MAX_BYTES, MAX_FILES);
}

fn sweep_to(root: &Path, retain: Duration, max_bytes: u64, max_files: usize) {
    let mut found = Vec::new();
    if let Err(error) = walk(root, DEPTH, &mut found)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "transcripts can't be looked through");
    }
    found.sort_by_key(|file| std::cmp::Reverse(file.changed));
    let now = SystemTime::now();
    let mut bytes = 0_u64;
    for (count, Found { path, changed, bytes: own }) in found.into_iter().enumerate() {
        bytes = bytes.saturating_add(own);
        let age = now.duration_since(changed).unwrap_or_default();
        if (age > retain || bytes > max_bytes || count >= max_files)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::warn!(%error, path = %path.display(), "a transcript can't be deleted");
        }
    }
}

/// Only what transcripts are called is looked at: the folder is in the store's.
fn walk(folder: &Path, depth: usize, found: &mut Vec<Found>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, meta) = (entry.path(), entry.metadata()?);
        if meta.is_dir() && depth > 0 {
            walk(&path, depth - 1, found)?;
            // Only an empty one goes.
            let _ = fs::remove_dir(&path);
        } else if meta.is_file() && path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(Found { path, changed: meta.modified()?, bytes: meta.len() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_files_go_and_the_oldest_of_too_many() {
        let root = tempfile::tempdir().expect("a folder");
        let now = SystemTime::now();
        fs::create_dir_all(root.path().join("t/s/subagents")).expect("made");
        fs::create_dir_all(root.path().join("t/empty")).expect("made");
        for (name, age) in [
            ("t/a.jsonl", 0),
            ("t/b.jsonl", 100),
            ("t/s/subagents/c.jsonl", 200),
            ("t/d.jsonl", 5000),
            ("t/e.db", 5000),
        ] {
            let path = root.path().join(name);
            fs::write(&path, "0123456789").expect("written");
            let file = fs::File::options().write(true).open(&path).expect("opened");
            file.set_modified(now - Duration::from_secs(age)).expect("set");
        }
        let there = |name: &str| root.path().join(name).exists();
        sweep_to(root.path(), Duration::from_secs(1000), 100, 100);
        assert!(!there("t/d.jsonl") && there("t/e.db") && there("t/s/subagents/c.jsonl") && !there("t/empty"));
        sweep_to(root.path(), Duration::from_secs(1000), 25, 100);
        assert!(there("t/a.jsonl") && there("t/b.jsonl") && !there("t/s/subagents/c.jsonl"));
        sweep_to(root.path(), Duration::from_secs(1000), 25, 1);
        assert!(there("t/a.jsonl") && !there("t/b.jsonl"));
        sweep(&root.path().join("nowhere"), Duration::ZERO);
    }
}
