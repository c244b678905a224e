//! A process's stderr, in the log and within bounds: it runs for as long as the gateway does.
use std::time::Duration;
use tokio::time::Instant;

/// How much of stderr goes to the log in one [`WINDOW`], in bytes (as much as a command's run).
const LIMIT: usize = 4096;

/// How long the limit counts for.
const WINDOW: Duration = Duration::from_secs(60);

/// What was written and is not logged yet.
#[derive(Debug)]
pub(super) struct Log {
    hook: String,
    /// Words whose line has not ended.
    begun: Vec<u8>,
    since: Instant,
    logged: usize,
    left_out: usize,
}

impl Log {
    pub(super) fn new(hook: &str) -> Self {
        Self { hook: hook.to_owned(), begun: Vec::new(), since: Instant::now(), logged: 0, left_out: 0 }
    }

    /// Takes what was written; whole lines are logged at once, together.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.begun.extend_from_slice(bytes);
        let whole = match memchr::memrchr(b'\n', &self.begun) {
            Some(end) => end + 1,
            None if self.begun.len() > LIMIT => self.begun.len(),
            None => return,
        };
        let begun = self.begun.split_off(whole);
        let lines = std::mem::replace(&mut self.begun, begun);
        self.write(&lines);
    }

    fn write(&mut self, lines: &[u8]) {
        if self.since.elapsed() >= WINDOW {
            self.say_what_is_missing();
            (self.since, self.logged) = (Instant::now(), 0);
        }
        let kept = &lines[..lines.len().min(LIMIT - self.logged)];
        self.logged += kept.len();
        self.left_out += lines.len() - kept.len();
        let text = String::from_utf8_lossy(kept);
        if !text.trim().is_empty() {
            tracing::info!(hook = self.hook, stderr = %text.trim_end(), "hook {:?} wrote to stderr", self.hook);
        }
    }

    fn say_what_is_missing(&mut self) {
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            tracing::info!(hook = self.hook, "{left_out} more bytes of hook {:?} on stderr were left out", self.hook);
        }
    }
}

/// The process has ended: its last words are the ones that are needed most.
impl Drop for Log {
    fn drop(&mut self) {
        let last = std::mem::take(&mut self.begun);
        self.write(&last);
        self.say_what_is_missing();
    }
}
