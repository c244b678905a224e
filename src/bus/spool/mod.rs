//! The spool: a maildir that any process can write messages to with nothing but a file system (docs/sessions.md).
//!
//! ```text
//! DIR/SESSION/AGENT/{tmp,new,cur}           where sessions are not isolated, else DIR/TENANT/SESSION/AGENT/...
//! DIR/quarantine/                           what is no message, moved there and named in the log
//! DIR/.lock                                 held by the gateway that reads the spool
//! ```
//! Names are ids, percent-encoded. A sender writes a file in `tmp` and renames it into `new`; from there it is taken in and moved
//! to `cur`. Nothing is ever deleted. Whoever can write there can say any name, so that no sender is verified.
mod events;
mod folder;
mod scan;

use self::events::Events;
use self::folder::{Folder, Unreadable};
use self::scan::{Found, PostBox, scan};
use super::message::{Origin, Written};
use super::{Bus, BusError, Refusal};
use crate::context::Digest;
use crate::session::record::Tenant;
use futures_util::{StreamExt, stream};
use nix::fcntl::OFlag;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;

/// Folders whose messages are taken in at the same time; those of one folder go one after the other.
const WIDTH: usize = 16;
/// How often everything is looked at without an event: network file systems send none.
const RESCAN: Duration = Duration::from_secs(30);
/// The same where folders can't be watched, or messages wait for a store that failed.
const POLL: Duration = Duration::from_secs(1);
/// A new folder is looked at again after this, as often as [`AGAIN`] says: what is written between its making and its being watched
/// sends no event.
const SOON: Duration = Duration::from_millis(250);
const AGAIN: u8 = 4;
/// Files that could not be moved, and are passed over until the next start. Beyond it they are tried and logged again.
const STUCK: usize = 1024;
/// A maildir's mark of a message that was seen.
const SEEN: &str = ":2,S";
/// Where broken files go.
const QUARANTINE: &str = "quarantine";
/// Held by the gateway that reads the spool.
const LOCK: &str = ".lock";

/// Why a spool can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// Another gateway reads it.
    #[error("the spool at {0} is in use by another gateway; stop it, or write another bus.maildir")]
    Locked(PathBuf),
    /// The disk refused.
    #[error("the spool at {path}: {source}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Why a file is no message.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("not a message: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("its folder names no agent")]
    Nobody,
    #[error("{0}")]
    Mailbox(BusError),
}

/// What a look came to.
enum Seen {
    /// Everything was taken in.
    All,
    /// There is more than one look takes.
    Part,
    /// The store failed.
    InVain,
}

/// What is left of a folder.
#[derive(Default)]
struct Emptied {
    /// Files that can't be moved.
    stuck: Vec<PathBuf>,
    /// The store failed: what was not taken in waits.
    waits: bool,
}

/// A spool that this process alone reads, until it is dropped.
pub struct Spool {
    root: Arc<Folder>,
    path: PathBuf,
    events: Events,
    stuck: BTreeSet<PathBuf>,
    _lock: File,
}

impl Spool {
    /// Takes the spool in this folder, which is made if need be.
    ///
    /// # Errors
    /// [`SpoolError`]
    pub fn open(path: &Path) -> Result<Self, SpoolError> {
        let io = |source| SpoolError::Io { path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(io)?;
        // Whoever may write messages there must not choose which file is made.
        let mut options = File::options();
        options.create(true).truncate(false).write(true).custom_flags(OFlag::O_NOFOLLOW.bits());
        let lock = options.open(path.join(LOCK)).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(SpoolError::Locked(path.to_owned())),
            Err(std::fs::TryLockError::Error(error)) => return Err(io(error)),
        }
        let path = path.canonicalize().map_err(io)?;
        let root = Arc::new(Folder::open(&path).map_err(io)?);
        // Watched first, read then: nothing slips through between.
        let events = Events::watch(&path);
        Ok(Self { root, path, events, stuck: BTreeSet::new(), _lock: lock })
    }

    /// Takes messages in until it is dropped. `only`: the one tenant that there is, where sessions are not isolated.
    pub async fn run(mut self, bus: Arc<Bus>, only: impl Fn() -> Option<Tenant>) {
        let mut below = vec![PathBuf::new()];
        loop {
            let only = only();
            let depth = if only.is_some() { 2 } else { 3 };
            match self.look(&bus, only.as_ref(), depth, std::mem::take(&mut below)).await {
                Seen::Part => {
                    below.push(PathBuf::new());
                    continue;
                }
                Seen::InVain => self.events.look_again(),
                Seen::All => {}
            }
            below = self.events.next(depth).await;
        }
    }

    /// Takes in what lies below these folders.
    async fn look(&mut self, bus: &Arc<Bus>, only: Option<&Tenant>, depth: usize, below: Vec<PathBuf>) -> Seen {
        let (root, stuck) = (self.root.clone(), self.stuck.clone());
        let scanned = spawn_blocking(move || scan(&root, depth, &below, &stuck)).await;
        let Ok((boxes, more)) = scanned else { return Seen::InVain };
        let taking = stream::iter(boxes).map(|post_box| self.empty(bus, only, post_box));
        let emptied: Vec<Emptied> = taking.buffer_unordered(WIDTH).collect().await;
        let waits = emptied.iter().any(|emptied| emptied.waits);
        self.stuck.extend(emptied.into_iter().flat_map(|emptied| emptied.stuck));
        if self.stuck.len() > STUCK {
            self.stuck.clear();
        }
        match (waits, more) {
            (true, _) => Seen::InVain,
            (false, true) => Seen::Part,
            (false, false) => Seen::All,
        }
    }

    /// Takes in the messages of one folder, in the order of their names.
    async fn empty(&self, bus: &Arc<Bus>, only: Option<&Tenant>, post_box: PostBox) -> Emptied {
        let mut emptied = Emptied::default();
        for found in &post_box.found {
            let file = post_box.path.join("new").join(found.name());
            let moved = match self.take(bus, only, &post_box, found).await {
                Ok(()) => post_box.keep(found),
                Err(Some(fault)) => self.quarantine(&post_box, found, &file, &fault),
                // Those behind it wait, too: they are younger.
                Err(None) => {
                    emptied.waits = true;
                    break;
                }
            };
            if let Err(error) = moved {
                tracing::error!(file = %self.path.join(&file).display(), %error, "a file of the spool can't be moved");
                emptied.stuck.push(file);
            }
        }
        emptied
    }

    /// Takes one message in. Why it is none; `None`: it may be one, but the store failed.
    async fn take(
        &self,
        bus: &Bus,
        only: Option<&Tenant>,
        post_box: &PostBox,
        found: &Found,
    ) -> Result<(), Option<Fault>> {
        let content = match &found.content {
            Ok(content) => content,
            Err(fault) => return Err(Some(Fault::Unreadable(fault.clone()))),
        };
        let mut written: Written = serde_json::from_slice(content).map_err(|error| Some(error.into()))?;
        // The same file once more, after a crash, is the same message.
        let name = || format!("f_{}", Digest::of(&[found.name().as_encoded_bytes(), content]));
        written.id = written.id.or_else(|| Some(name()));
        let (tenant, session, agents) = post_box.address(only).ok_or(Some(Fault::Nobody))?;
        let sent = bus.send(&tenant, &session, &agents, written, &Origin::File).await;
        let receipts = sent.map_err(|error| failed(error, &post_box.path))?;
        let mut refused = Fault::Nobody;
        let mut taken = false;
        for (_, receipt) in receipts {
            match receipt.map_err(|error| failed(error, &post_box.path)) {
                Ok(_) => taken = true,
                Err(Some(fault)) => refused = fault,
                // Who has it already knows it by its id when it comes again.
                Err(None) => return Err(None),
            }
        }
        if taken { Ok(()) } else { Err(Some(refused)) }
    }

    fn quarantine(&self, post_box: &PostBox, found: &Found, file: &Path, fault: &Fault) -> std::io::Result<()> {
        let to = self.root.made(QUARANTINE)?;
        let name = found.name_behind(&format!(".{}", jiff::Timestamp::now().as_nanosecond()));
        post_box.new.hand_over(found.name(), &to, &name)?;
        let (file, to) = (self.path.join(file), self.path.join(QUARANTINE).join(&name));
        tracing::warn!(
            file = %file.display(), moved_to = %to.display(),
            "{} is not taken in, it was moved to {}: {fault}", file.display(), to.display()
        );
        Ok(())
    }
}

/// What is wrong with a message; `None`, which is logged: nothing is, the store failed.
fn failed(error: BusError, folder: &Path) -> Option<Fault> {
    match error {
        BusError::Refused(refusal) => Some(refusal.into()),
        broken @ BusError::Mailbox { .. } => Some(Fault::Mailbox(broken)),
        other @ (BusError::Store(_) | BusError::Session(_) | BusError::Contended(_)) => {
            tracing::error!(folder = %folder.display(), error = %other, "a message of the spool waits");
            None
        }
    }
}

#[cfg(test)]
mod tests;
