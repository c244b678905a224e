//! When to look, and where.
use super::{AGAIN, LOCK, POLL, QUARANTINE, RESCAN, SOON};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Places with news that are remembered one by one; beyond it everything is looked at.
const PLACES: usize = 4096;

/// Tells of news in the spool.
pub(super) struct Events {
    shared: Arc<Shared>,
    /// New folders, and how often each is still to be looked at.
    again: BTreeMap<PathBuf, u8>,
    watcher: Option<RecommendedWatcher>,
    rescan: Instant,
}

#[derive(Default)]
struct Shared {
    happened: Notify,
    /// Paths from the spool's folder on; the empty one is everything.
    places: Mutex<BTreeSet<PathBuf>>,
}

impl Shared {
    fn note(&self, path: PathBuf) {
        let mut places = self.places.lock();
        if places.len() >= PLACES {
            places.clear();
            places.insert(PathBuf::new());
        } else {
            places.insert(path);
        }
        drop(places);
        self.happened.notify_one();
    }
}

impl Events {
    /// Watches the spool, or, where that is not possible, says to look often.
    pub(super) fn watch(root: &Path) -> Self {
        let shared = Arc::new(Shared::default());
        let (to, from) = (shared.clone(), root.to_owned());
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            // To look into a folder is no news.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
            Ok(event) if !event.need_rescan() => {
                let below = event.paths.iter().filter_map(|path| path.strip_prefix(&from).ok());
                below.for_each(|path| to.note(path.to_owned()));
            }
            _ => to.note(PathBuf::new()),
        });
        let watching = watcher.and_then(|mut watcher| {
            watcher.watch(root, RecursiveMode::Recursive)?;
            Ok(watcher)
        });
        let watcher = watching
            .inspect_err(|error| tracing::warn!(%error, every = ?POLL, "the spool is not watched, only looked at"))
            .ok();
        let rescan = Instant::now() + if watcher.is_some() { RESCAN } else { POLL };
        Self { shared, again: BTreeMap::new(), watcher, rescan }
    }

    /// Everything is to be looked at again soon.
    pub(super) fn look_again(&mut self) {
        self.rescan = self.rescan.min(Instant::now() + POLL);
    }

    /// Waits for news. The folders to look at; agents' folders are at this depth.
    pub(super) async fn next(&mut self, depth: usize) -> Vec<PathBuf> {
        loop {
            let wake = if self.again.is_empty() { self.rescan } else { self.rescan.min(Instant::now() + SOON) };
            let is_quiet = timeout_at(wake, self.shared.happened.notified()).await.is_err();
            if Instant::now() >= self.rescan {
                self.rescan = Instant::now() + if self.watcher.is_some() { RESCAN } else { POLL };
                return vec![PathBuf::new()];
            }
            let mut folders = BTreeSet::new();
            if is_quiet {
                folders.extend(self.again.keys().cloned());
                self.again.retain(|_, times| {
                    *times -= 1;
                    *times > 0
                });
            }
            for path in std::mem::take(&mut *self.shared.places.lock()) {
                let Some(folder) = concerned(&path, depth) else { continue };
                // What may be a new folder is watched a moment later than it is made.
                if path.iter().count() <= depth + 1 {
                    self.again.insert(folder.clone(), AGAIN);
                }
                folders.insert(folder);
            }
            if !folders.is_empty() {
                return folders.into_iter().collect();
            }
        }
    }
}

/// The folder to look at when something happened at `path`; `None` where nothing is ever taken in.
fn concerned(path: &Path, depth: usize) -> Option<PathBuf> {
    let names: Vec<&OsStr> = path.iter().collect();
    if names.first().is_some_and(|name| *name == QUARANTINE || *name == LOCK) {
        return None;
    }
    if names.get(depth).is_some_and(|name| *name != "new") {
        return None;
    }
    Some(names.iter().take(depth).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_a_new_message_or_a_new_folder_is_looked_at() {
        for (path, depth, folder) in [
            ("", 2, Some("")),
            ("s", 2, Some("s")),
            ("s/a", 2, Some("s/a")),
            ("s/a/new", 2, Some("s/a")),
            ("s/a/new/m", 2, Some("s/a")),
            ("s/a/tmp/m", 2, None),
            ("s/a/cur/m", 2, None),
            ("t/s/a/new/m", 3, Some("t/s/a")),
            ("t/s/a/cur/m", 3, None),
            ("quarantine/x", 2, None),
            (".lock", 2, None),
        ] {
            assert_eq!(concerned(Path::new(path), depth), folder.map(PathBuf::from), "{path}");
        }
    }
}
