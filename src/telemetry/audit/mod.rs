//! The audit log: one line of JSON for each decision that changed, blocked or denied something.
//!
//! A line says who, which hook, what, and digests of what was there before and afterwards; bodies only where the configuration
//! asks for them. Lines are written off the request path by a thread of their own; the queue to it is bounded in lines and in
//! bytes, and what does not fit is dropped, counted and named in the log.
mod file;

use super::names;
use file::Rotating;
use jiff::Timestamp;
use metrics::{Counter, counter};
use serde::Serialize;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Lines that wait to be written: at a thousand decisions a second, four seconds of a disk that hangs.
const MAX_LINES: usize = 4096;
/// Their bytes.
const MAX_BYTES: usize = 16 << 20;
/// Longest body that stands in a line, in bytes; of a longer one the beginning does.
const MAX_BODY: usize = 1 << 20;
/// How long [`Audit::flush`] waits for the disk.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// Seconds between two lines in the log about dropped ones.
const SAY_EVERY: u64 = 1;

/// Where it is written, and how much is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The file.
    pub file: PathBuf,
    /// When the next one is begun, in bytes.
    pub max_size: u64,
    /// Files that are kept beside it.
    pub keep: usize,
    /// Whether lines hold bodies.
    pub bodies: bool,
}

/// Who takes lines; clones share one file. The default takes none.
#[derive(Debug, Clone, Default)]
pub struct Audit(Option<Arc<Log>>);

#[derive(Debug)]
struct Log {
    queue: SyncSender<Message>,
    /// Bytes in the queue.
    waiting: Arc<AtomicUsize>,
    bodies: bool,
    written: Counter,
    full: Counter,
    /// When the log last said that lines are dropped, in seconds since 1970.
    said: AtomicU64,
}

enum Message {
    Line(Vec<u8>),
    Flush(tokio::sync::oneshot::Sender<()>),
}

/// Whose request it is.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Who<'a> {
    /// The owner, opaque.
    pub tenant: &'a str,
    /// The session.
    pub session: &'a str,
    /// The agent.
    pub agent: &'a str,
}

/// One decision.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Line<'a> {
    /// Whose.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// On which event.
    pub event: &'a str,
    /// Which hook; none: the gateway itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<&'a str>,
    /// `changed`, `placed`, `blocked`, `denied`, `refused`, `halted` or `said`.
    pub action: &'a str,
    /// The names of what was done, never what was said.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    pub what: &'a [&'a str],
    /// The name of the tool that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'a str>,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
    /// What was there before and afterwards.
    #[serde(flatten)]
    pub change: Option<Change>,
}

/// What was there before and afterwards.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    before: String,
    after: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_after: Option<String>,
}

#[derive(Serialize)]
struct Dated<'a> {
    at: Timestamp,
    #[serde(flatten)]
    line: &'a Line<'a>,
}

impl Audit {
    /// Opens the file, or begins it, and starts the thread that writes to it.
    ///
    /// # Errors
    /// When the file can't be opened or the thread not started.
    pub fn open(settings: &Settings) -> io::Result<Self> {
        let file = Rotating::open(&settings.file, settings.max_size, settings.keep)?;
        let (queue, lines) = sync_channel(MAX_LINES);
        let waiting = Arc::new(AtomicUsize::new(0));
        let taken = waiting.clone();
        std::thread::Builder::new().name("audit".into()).spawn(move || write(file, &lines, &taken))?;
        Ok(Self(Some(Arc::new(Log {
            queue,
            waiting,
            bodies: settings.bodies,
            written: counter!(names::AUDIT_LINES),
            full: counter!(names::AUDIT_DROPPED, "reason" => "full"),
            said: AtomicU64::new(0),
        }))))
    }

    /// Whether anything is written: nothing is computed for a line otherwise.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// What was there before and afterwards, each in parts.
    #[must_use]
    pub fn change<'a, 'b>(
        &self,
        before: impl IntoIterator<Item = &'a [u8], IntoIter: Clone>,
        after: impl IntoIterator<Item = &'b [u8], IntoIter: Clone>,
    ) -> Change {
        let (before, after) = (before.into_iter(), after.into_iter());
        let bodies = self.0.as_ref().is_some_and(|log| log.bodies);
        Change {
            body_before: bodies.then(|| body(before.clone())),
            body_after: bodies.then(|| body(after.clone())),
            before: digest(before),
            after: digest(after),
        }
    }

    /// Has a line written. Never waits: a line that has no room is dropped.
    pub fn write(&self, line: &Line<'_>) {
        let Some(log) = &self.0 else { return };
        let Ok(mut bytes) = serde_json::to_vec(&Dated { at: Timestamp::now(), line }) else { return };
        bytes.push(b'\n');
        let size = bytes.len();
        let room = |waiting: usize| waiting.checked_add(size).filter(|sum| *sum <= MAX_BYTES);
        let taken = log.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok();
        if taken && log.queue.try_send(Message::Line(bytes)).is_ok() {
            log.written.increment(1);
            return;
        }
        if taken {
            log.waiting.fetch_sub(size, Ordering::Relaxed);
        }
        log.full.increment(1);
        log.say(line);
    }

    /// Waits until what was written before is in the file, or the disk takes too long.
    pub async fn flush(&self) {
        let Some(log) = self.0.clone() else { return };
        let (done, flushed) = tokio::sync::oneshot::channel();
        let sent = tokio::task::spawn_blocking(move || log.queue.send(Message::Flush(done)));
        let written = async {
            let _ = sent.await;
            let _ = flushed.await;
        };
        if tokio::time::timeout(FLUSH_TIMEOUT, written).await.is_err() {
            tracing::warn!("the audit log's last lines may not be written: the disk takes too long");
        }
    }
}

impl Log {
    /// Names a dropped line, now and then: a log that fills with them helps nobody.
    fn say(&self, line: &Line<'_>) {
        let now = u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
        let said = self.said.swap(now, Ordering::Relaxed);
        if now.saturating_sub(said) >= SAY_EVERY {
            let (session, hook) = (line.who.session, line.hook.unwrap_or_default());
            tracing::warn!(
                session,
                hook,
                event = line.event,
                action = line.action,
                "audit lines are dropped: the queue is full"
            );
        }
    }
}

fn digest<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hasher = blake3::Hasher::new();
    parts.for_each(|part| {
        hasher.update(part);
    });
    format!("blake3:{}", hasher.finalize().to_hex())
}

fn body<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let bytes: Vec<u8> = parts.flatten().copied().take(MAX_BODY).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes what comes until nobody can send any more.
fn write(mut file: Rotating, lines: &Receiver<Message>, waiting: &AtomicUsize) {
    let lost = counter!(names::AUDIT_DROPPED, "reason" => "io");
    let mut works = true;
    while let Ok(message) = lines.recv() {
        let written = match message {
            Message::Line(line) => {
                waiting.fetch_sub(line.len(), Ordering::Relaxed);
                file.write(&line)
            }
            Message::Flush(done) => {
                let _ = done.send(());
                continue;
            }
        };
        match written {
            Ok(()) => works = true,
            Err(error) => {
                lost.increment(1);
                // Once until it works again.
                if std::mem::replace(&mut works, false) {
                    tracing::error!(%error, "an audit line is lost: the file can't be written");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
