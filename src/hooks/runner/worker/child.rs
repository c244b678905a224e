//! One process of a worker, from its start to its end.
use super::super::group::Group;
use super::Spec;
use super::lane::{Health, Job};
use super::log::Log;
use super::pending::Pending;
use crate::hooks::HookFailure;
use bytes::{Buf, BytesMut};
use nix::errno::Errno;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;

/// How long a process may take to end by itself once its stdin is closed.
const GRACE: Duration = Duration::from_secs(2);

/// What a Linux pipe holds, in bytes.
const PIPE: usize = 64 * 1024;

/// Read size, in bytes.
const CHUNK: usize = 16 * 1024;

/// It says something that nobody asked for.
const OUT_OF_STEP: &str = "wrote a line that answers no event and was ended";

/// Why a process is no longer served.
#[derive(Debug)]
pub(super) enum End {
    /// The hook is gone.
    Closed,
    /// It ended, or had to be ended. What it did, for the log.
    Died(String),
}

/// A process that runs.
#[derive(Debug)]
pub(super) struct Child {
    /// Dropped before `process`: the group is ended while its leader is not yet reaped and the id can't be another's.
    group: Group,
    process: tokio::process::Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    log: Log,
    /// What of an event is still to be written.
    unwritten: bytes::Bytes,
    pending: Pending,
    /// Read and not yet a whole line.
    begun: BytesMut,
    answered: bool,
}

impl Child {
    pub(super) fn start(spec: &Spec) -> Result<Self, HookFailure> {
        let mut process = spec.program.spawn(&[])?;
        let lost = || HookFailure::Lost("no pipe".to_owned());
        Ok(Self {
            group: Group::of(&process),
            stdin: process.stdin.take().ok_or_else(lost)?,
            stdout: process.stdout.take().ok_or_else(lost)?,
            stderr: process.stderr.take().ok_or_else(lost)?,
            process,
            log: Log::new(&spec.hook),
            unwritten: bytes::Bytes::new(),
            pending: Pending::default(),
            begun: BytesMut::new(),
            answered: false,
        })
    }

    /// Whether it works.
    pub(super) fn has_answered(&self) -> bool {
        self.answered
    }

    /// Gives it events and takes its answers, until it ends. It is written to and read from at the same time: one that
    /// answers before it has read the whole event must not wait for itself.
    pub(super) async fn serve(&mut self, queue: &mut mpsc::Receiver<Job>, health: &Health) -> End {
        let mut words = Box::new([0; CHUNK]);
        let mut complains = true;
        loop {
            let takes = self.unwritten.is_empty() && !self.pending.is_full();
            let writes = !self.unwritten.is_empty();
            self.begun.reserve(CHUNK);
            tokio::select! {
                job = queue.recv(), if takes => match job {
                    Some(job) => self.take(job),
                    None => return End::Closed,
                },
                written = self.stdin.write(&self.unwritten), if writes => match written {
                    Ok(count) => self.unwritten.advance(count),
                    Err(_) => return self.ended("closed its stdin", health).await,
                },
                read = self.stdout.read_buf(&mut self.begun) => match read {
                    Ok(0) | Err(_) => return self.ended("closed its stdout", health).await,
                    Ok(_) => if let Err(why) = self.answers(health) {
                        return End::Died(why);
                    },
                },
                read = self.stderr.read(&mut *words), if complains => match read {
                    Ok(count @ 1..) => self.log.take(&words[..count]),
                    // It may close its stderr and work on.
                    Ok(_) | Err(_) => complains = false,
                },
                _ = self.process.wait() => return self.ended("ended", health).await,
                () = health.hangs() => return End::Died("hangs and was ended".to_owned()),
            }
        }
    }

    fn take(&mut self, job: Job) {
        if job.waiting.answer.is_closed() {
            return;
        }
        // Before it is written: the answer may be there before the writing has come back.
        self.pending.push(job.waiting);
        self.unwritten = job.line.into();
    }

    /// Gives whole lines to whom they answer.
    fn answers(&mut self, health: &Health) -> Result<(), String> {
        while let Some(end) = memchr::memchr(b'\n', &self.begun) {
            let line = self.begun.split_to(end + 1);
            self.check(end)?;
            if !self.pending.answer(&line[..end]) {
                return Err(OUT_OF_STEP.to_owned());
            }
            self.answered = true;
            health.spoke();
        }
        self.check(self.begun.len())
    }

    fn check(&mut self, length: usize) -> Result<(), String> {
        let limit = self.pending.limit();
        if length <= limit {
            return Ok(());
        }
        if self.pending.is_empty() {
            return Err(OUT_OF_STEP.to_owned());
        }
        self.pending.fail(&HookFailure::OutputOverLimit { limit });
        Err(format!("wrote a line over the limit of {limit} bytes and was ended"))
    }

    /// It has ended, or has closed a pipe (`what`), which mostly means that it soon will. What it had written still counts.
    async fn ended(&mut self, what: &str, health: &Health) -> End {
        let why = match tokio::time::timeout(GRACE, self.process.wait()).await {
            Ok(Ok(status)) => described(status),
            Ok(Err(error)) => error.to_string(),
            Err(_) => what.to_owned(),
        };
        self.last_answers(health);
        End::Died(why)
    }

    fn last_answers(&mut self, health: &Health) {
        let mut chunk = [0; CHUNK];
        while let Some(count) = at_once(&self.stdout, &mut chunk) {
            self.begun.extend_from_slice(&chunk[..count]);
            if self.answers(health).is_err() {
                break;
            }
        }
    }

    /// No more than a pipe holds: what it has started may write for ever.
    fn last_words(&mut self) {
        let mut chunk = [0; CHUNK];
        for _ in 0..PIPE / CHUNK {
            let Some(count) = at_once(&self.stderr, &mut chunk) else { break };
            self.log.take(&chunk[..count]);
        }
    }

    /// Ends it with all that it started, if it has not ended itself; whoever waits for it is told.
    pub(super) async fn bury(mut self, why: &str) {
        self.pending.fail(&HookFailure::WorkerEnded(why.to_owned()));
        self.last_words();
        let Self { group, mut process, .. } = self;
        // The id can't be another group's yet: the process was only just waited for, if at all.
        drop(group);
        let _ = process.wait().await;
    }

    /// Lets it end by itself, then ends it.
    pub(super) async fn leave(mut self) {
        self.pending.fail(&HookFailure::WorkerDown);
        let Self { group, mut process, stdin, mut stdout, mut stderr, mut log, .. } = self;
        drop(stdin);
        // Read on, so that it does not wait for a reader.
        let reads = async {
            let (mut unheard, mut words) = (Box::new([0; CHUNK]), Box::new([0; CHUNK]));
            let (mut speaks, mut complains) = (true, true);
            while speaks || complains {
                tokio::select! {
                    read = stdout.read(&mut *unheard), if speaks => speaks = matches!(read, Ok(1..)),
                    read = stderr.read(&mut *words), if complains => match read {
                        Ok(count @ 1..) => log.take(&words[..count]),
                        _ => complains = false,
                    },
                }
            }
            std::future::pending::<()>().await;
        };
        let ends = async {
            tokio::select! { _ = process.wait() => {}, () = reads => {} }
        };
        let _ = tokio::time::timeout(GRACE, ends).await;
        drop(group);
        let _ = process.wait().await;
    }
}

/// What is in the pipe now. With read(2) on the pipe, which is non-blocking: the runtime's own view of it may lag behind what
/// a process wrote right before it ended.
fn at_once(pipe: impl AsFd, chunk: &mut [u8]) -> Option<usize> {
    loop {
        match nix::unistd::read(&pipe, chunk) {
            Err(Errno::EINTR) => {}
            Ok(count @ 1..) => return Some(count),
            Ok(_) | Err(_) => return None,
        }
    }
}

fn described(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => format!("ended: {status}"),
    }
}
