//! What comes out of a pipe, up to a limit.
use crate::hooks::HookFailure;
use nix::errno::Errno;
use std::os::fd::AsFd;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Read size: what a Linux pipe holds is 64 KiB, so a full one takes four reads.
const CHUNK: usize = 16 * 1024;

/// What to do with bytes over the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// The run failed.
    Fail,
    /// They are read and dropped, so that the writer does not block.
    Drop,
}

/// A pipe and what was kept of it; never more than the limit.
#[derive(Debug)]
pub(super) struct Capture<P> {
    pipe: Option<P>,
    kept: Vec<u8>,
    limit: usize,
    excess: Excess,
    chunk: Box<[u8]>,
}

impl<P: AsyncRead + AsFd + Unpin> Capture<P> {
    pub(super) fn new(pipe: Option<P>, limit: usize, excess: Excess) -> Self {
        Self { pipe, kept: Vec::new(), limit, excess, chunk: vec![0; CHUNK].into() }
    }

    /// Listens to this pipe.
    pub(super) fn attach(&mut self, pipe: Option<P>) {
        self.pipe = pipe;
    }

    /// Reads until the last writer has closed its end. A read error is an end, too: what was kept is what there is.
    pub(super) async fn read(&mut self) -> Result<(), HookFailure> {
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut self.chunk).await {
                Ok(0) | Err(_) => self.pipe = None,
                Ok(count) => self.keep(count)?,
            }
        }
        Ok(())
    }

    /// Takes what is in the pipe now, without waiting, and closes it.
    ///
    /// With read(2) on the pipe, which is non-blocking: the runtime's own view of it may lag behind what the process
    /// wrote right before it exited.
    pub(super) fn drain(&mut self) -> Result<(), HookFailure> {
        while let Some(pipe) = &self.pipe {
            match nix::unistd::read(pipe, &mut self.chunk) {
                Err(Errno::EINTR) => {}
                Ok(0) | Err(_) => self.pipe = None,
                Ok(count) => self.keep(count)?,
            }
            // A background child may write for ever.
            if self.excess == Excess::Drop && self.kept.len() == self.limit {
                self.pipe = None;
            }
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.kept
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.kept
    }

    fn keep(&mut self, count: usize) -> Result<(), HookFailure> {
        let room = self.limit - self.kept.len();
        if count > room && self.excess == Excess::Fail {
            return Err(HookFailure::OutputOverLimit { limit: self.limit });
        }
        self.kept.extend(self.chunk.iter().take(count.min(room)));
        Ok(())
    }
}
