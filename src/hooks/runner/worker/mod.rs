//! `run: { worker: [...] }`: a program that stays running. Each event is one line of JSON on its stdin, each answer one line
//! on its stdout, so that an event costs a few microseconds instead of the start of a process.
//!
//! Answers count in the order of the events; one with the `event_id` of its event may come out of order. The child is started
//! when the hook is made ready and again, with a growing delay, when it ends. A line that nobody asked for, or that is over
//! the limit, says that the two sides are out of step: the child is ended and started anew, rather than one event be
//! answered with another's answer.
use super::program::Program;
use super::{Invocation, Output, Runner};
use crate::hooks::{HookFailure, HooksError};
use futures_util::future::BoxFuture;
use lane::Lane;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

mod backoff;
mod child;
mod lane;
mod log;
mod pending;

/// The processes of one hook.
#[derive(Debug)]
pub(super) struct Worker {
    spec: Arc<Spec>,
    processes: usize,
    lanes: OnceLock<Vec<Lane>>,
    /// Counts events: they go to one process after the other.
    turn: AtomicUsize,
    tasks: TaskTracker,
    /// Cancelled with the hook: its processes get end of file.
    end: CancellationToken,
}

/// What every process of a hook is.
#[derive(Debug)]
struct Spec {
    hook: String,
    program: Program,
}

impl Worker {
    /// `workers` processes of one program, started at once where a runtime is there to watch them, else with the first event.
    pub(super) fn new(
        hook: &str,
        argv: &[String],
        cwd: &Path,
        env: &BTreeMap<String, String>,
        env_pass: &[String],
        workers: usize,
    ) -> Result<Self, HooksError> {
        let program = Program::of_hook(hook, argv, cwd, env, env_pass)?;
        let worker = Self {
            spec: Arc::new(Spec { hook: hook.to_owned(), program }),
            processes: workers.max(1),
            lanes: OnceLock::new(),
            turn: AtomicUsize::new(0),
            tasks: TaskTracker::new(),
            end: CancellationToken::new(),
        };
        if Handle::try_current().is_ok() {
            worker.lanes();
        }
        Ok(worker)
    }

    fn lanes(&self) -> &[Lane] {
        let start = |_| Lane::start(Arc::clone(&self.spec), self.end.clone(), &self.tasks);
        self.lanes.get_or_init(|| (0..self.processes).map(start).collect())
    }

    /// The next process in turn that runs; the next in turn when none does.
    fn lane(&self) -> Option<&Lane> {
        let lanes = self.lanes();
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let in_turn = (0..lanes.len()).filter_map(|more| lanes.get(first.wrapping_add(more) % lanes.len()));
        in_turn.clone().find(|lane| lane.is_up()).or_else(|| in_turn.clone().next())
    }

    async fn ask(&self, call: &Invocation<'_>) -> Result<Output, HookFailure> {
        let mut line = call.payload()?;
        line.push(b'\n');
        let lane = self.lane().ok_or(HookFailure::WorkerDown)?;
        lane.ask(line, call.event.event_id.clone(), call.output_limit).await.map(Output::Written)
    }
}

impl Runner for Worker {
    fn run<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Output, HookFailure>> {
        Box::pin(self.ask(call))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.end.cancel();
            self.tasks.close();
            self.tasks.wait().await;
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

#[cfg(test)]
mod tests;
