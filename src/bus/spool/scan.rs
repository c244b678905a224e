//! What lies in the spool.
use super::folder::{Folder, Unreadable};
use super::{QUARANTINE, SEEN};
use crate::session::key;
use crate::session::record::Tenant;
use percent_encoding::percent_decode;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of one look: at most some 4 MiB in memory.
const MAX_FOUND: usize = 256;
/// Longest name that a file keeps where something is put behind it; file systems take 255 bytes.
const MAX_NAME: usize = 200;

/// A file that was found.
pub(super) struct Found {
    name: OsString,
    /// Its content.
    pub(super) content: Result<Vec<u8>, Unreadable>,
}

/// The folder of one agent, with what lies in its `new`.
pub(super) struct PostBox {
    /// From the spool's own folder on.
    pub(super) path: PathBuf,
    folder: Folder,
    pub(super) new: Folder,
    pub(super) found: Vec<Found>,
}

impl Found {
    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Its name, cut where it is too long, with something behind it.
    pub(super) fn name_behind(&self, behind: &str) -> OsString {
        let bytes = self.name.as_bytes();
        let mut name = OsStr::from_bytes(&bytes[..bytes.len().min(MAX_NAME)]).to_owned();
        name.push(behind);
        name
    }
}

impl PostBox {
    /// Tenant, session and agents that its path names; `None` where one of them can be none.
    pub(super) fn address(&self, only: Option<&Tenant>) -> Option<(Tenant, String, String)> {
        let mut ids = self.path.iter().map(|name| key::checked(&percent_decode(name.as_bytes()).collect::<Vec<u8>>()));
        let tenant = match only {
            Some(tenant) => tenant.clone(),
            None => Tenant(ids.next()??),
        };
        Some((tenant, ids.next()??, ids.next()??))
    }

    /// Moves a file that was taken in to `cur`.
    pub(super) fn keep(&self, found: &Found) -> io::Result<()> {
        let cur = self.folder.made("cur")?;
        let name =
            if found.name.as_bytes().ends_with(SEEN.as_bytes()) { found.name.clone() } else { found.name_behind(SEEN) };
        self.new.hand_over(&found.name, &cur, &name)
    }
}

/// What lies below these folders of the spool, whose agents' folders are at this depth; and whether there is more. Files in
/// `passed_over` are none.
pub(super) fn scan(
    root: &Arc<Folder>,
    depth: usize,
    below: &[PathBuf],
    passed_over: &BTreeSet<PathBuf>,
) -> (Vec<PostBox>, bool) {
    let mut scan = Scan { depth, passed_over, boxes: Vec::new(), room: MAX_FOUND };
    for path in below {
        if let Err(error) = scan.descend(root, path) {
            tracing::warn!(folder = %path.display(), %error, "a folder of the spool can't be read");
        }
    }
    (scan.boxes, scan.room == 0)
}

struct Scan<'a> {
    depth: usize,
    passed_over: &'a BTreeSet<PathBuf>,
    boxes: Vec<PostBox>,
    room: usize,
}

impl Scan<'_> {
    /// Goes down to the folder that is to be looked at.
    fn descend(&mut self, root: &Folder, path: &Path) -> io::Result<()> {
        let mut folder: Option<Folder> = None;
        let mut at = PathBuf::new();
        for name in path {
            let Some(next) = folder.as_ref().unwrap_or(root).sub(name)? else { return Ok(()) };
            at.push(name);
            folder = Some(next);
        }
        match folder {
            Some(folder) => self.visit(folder, &at),
            None => self.visit_all(root, &at),
        }
    }

    fn visit(&mut self, folder: Folder, at: &Path) -> io::Result<()> {
        if at.iter().count() < self.depth { self.visit_all(&folder, at) } else { self.post_box(folder, at) }
    }

    fn visit_all(&mut self, folder: &Folder, at: &Path) -> io::Result<()> {
        for name in folder.names()? {
            let is_own = at.as_os_str().is_empty() && (name == QUARANTINE || name.as_bytes().starts_with(b"."));
            if is_own || self.room == 0 {
                continue;
            }
            // One that is gone or can't be entered does not keep others from being read.
            match folder.sub(&name) {
                Ok(Some(sub)) => self.visit(sub, &at.join(&name))?,
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(folder = %at.join(&name).display(), %error, "a folder of the spool can't be read");
                }
            }
        }
        Ok(())
    }

    fn post_box(&mut self, folder: Folder, at: &Path) -> io::Result<()> {
        let Some(new) = folder.sub(OsStr::new("new"))? else { return Ok(()) };
        let mut names = new.names()?;
        if !self.passed_over.is_empty() {
            names.retain(|name| !self.passed_over.contains(&at.join("new").join(name)));
        }
        names.truncate(self.room);
        self.room -= names.len();
        if names.is_empty() {
            return Ok(());
        }
        let found = names.into_iter().map(|name| Found { content: new.read(&name), name }).collect();
        self.boxes.push(PostBox { path: at.to_owned(), folder, new, found });
        Ok(())
    }
}
