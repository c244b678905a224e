//! Reloads when the configuration's files have changed.
//!
//! What counts is what stands in the files, once it was quiet for a while; events only say when to look. So writing in
//! place, renaming over, swapping a link and restoring an old file all count for what they are.
use super::Live;
use crate::config::Files;
use crate::config::links::links;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// So long nothing may have happened: editors and deployments write in several steps (config/hookgate.yaml).
const QUIET: Duration = Duration::from_millis(200);
/// How often to look without an event: network file systems send none, and a folder that was itself replaced is only found
/// by looking.
const RECHECK: Duration = Duration::from_secs(30);

/// Reloads `live` whenever what it was read from changes, until dropped.
pub async fn follow_files(live: Arc<Live>) {
    let mut tries = live.subscribe();
    loop {
        let files = tries.borrow_and_update().files.clone();
        if files.paths().next().is_none() {
            // Made by the program: there is nothing to look at.
            return;
        }
        let happened = Arc::new(Notify::new());
        // Watched first, read then: nothing slips through between.
        let _watcher = watch(&files, happened.clone());
        if files.has_news(&settled(&files, &happened).await) {
            // Refused or not, it is logged, and its files are now those to look at.
            let _ = live.reload().await;
            continue;
        }
        tokio::select! {
            () = happened.notified() => {}
            _ = tries.changed() => {}
            () = tokio::time::sleep(RECHECK) => {}
        }
    }
}

/// The files as they are, once nothing has happened for [`QUIET`].
async fn settled(files: &Files, happened: &Notify) -> Files {
    let mut before = files.now();
    loop {
        let is_quiet = tokio::time::timeout(QUIET, happened.notified()).await.is_err();
        let now = files.now();
        if is_quiet && now == before {
            return now;
        }
        before = now;
    }
}

/// Wakes `happened` when something happens to one of the files; until dropped.
fn watch(files: &Files, happened: Arc<Notify>) -> Option<RecommendedWatcher> {
    let names: BTreeSet<PathBuf> = files.paths().flat_map(links).collect();
    let folders: BTreeSet<PathBuf> = names.iter().filter_map(|path| path.parent()).map(PathBuf::from).collect();
    let concerns = names.clone();
    let on_event = move |event: notify::Result<notify::Event>| match event {
        // To look into a file is no change, least of all when it was this gateway.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        Ok(event) if !event.need_rescan() && !event.paths.iter().any(|path| concerns.contains(path)) => {}
        _ => happened.notify_one(),
    };
    let mut watcher = notify::recommended_watcher(on_event)
        .inspect_err(|error| tracing::warn!(%error, every = ?RECHECK, "files are not watched, only looked at"))
        .ok()?;
    for folder in folders {
        if let Err(error) = watcher.watch(&folder, RecursiveMode::NonRecursive) {
            tracing::debug!(folder = %folder.display(), %error, "not watched, only looked at");
        }
    }
    // A single file that is mounted into a container is not in its folder, as the system sees it.
    for file in names.iter().filter(|path| path.is_file() && !path.is_symlink()) {
        let _ = watcher.watch(file, RecursiveMode::NonRecursive);
    }
    Some(watcher)
}
