//! One place for a process: asked from many requests, kept filled by one task.
use super::Spec;
use super::backoff::Backoff;
use super::child::{Child, End};
use super::pending::Waiting;
use crate::hooks::HookFailure;
use crate::telemetry::names;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Events between the requests and the process; who does not get in waits on its own timeout.
const QUEUE: usize = 64;

/// Timeouts without any answer in between after which a process hangs and is ended: one slow answer is no hang, and events
/// that were in flight together time out together.
const MAX_SILENT: u32 = 3;

/// Where requests ask.
#[derive(Debug)]
pub(super) struct Lane {
    queue: mpsc::Sender<Job>,
    health: Arc<Health>,
}

/// One event on its way to the process.
#[derive(Debug)]
pub(super) struct Job {
    /// The event with its line end.
    pub(super) line: Vec<u8>,
    pub(super) waiting: Waiting,
}

/// How the process does.
#[derive(Debug, Default)]
pub(super) struct Health {
    up: AtomicBool,
    /// Events given up on since its last answer.
    silent: AtomicU32,
    given_up: Notify,
}

impl Health {
    /// It answered.
    pub(super) fn spoke(&self) {
        self.silent.store(0, Ordering::Relaxed);
    }

    /// Ends when it hangs.
    pub(super) async fn hangs(&self) {
        while self.silent.load(Ordering::Relaxed) < MAX_SILENT {
            self.given_up.notified().await;
        }
    }
}

/// A request that waits: dropped while it still does, the event is given up on.
struct Patience<'a>(Option<&'a Health>);

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        if let Some(health) = self.0 {
            health.silent.fetch_add(1, Ordering::Relaxed);
            health.given_up.notify_one();
        }
    }
}

impl Lane {
    /// Starts the process and the task that watches it, until `end`.
    pub(super) fn start(spec: Arc<Spec>, end: CancellationToken, tasks: &TaskTracker) -> Self {
        let (sender, queue) = mpsc::channel(QUEUE);
        let health = Arc::new(Health::default());
        let keeper = Keeper { spec, queue, health: Arc::clone(&health), end };
        tasks.spawn(keeper.keep());
        Self { queue: sender, health }
    }

    /// Whether a process runs.
    pub(super) fn is_up(&self) -> bool {
        self.health.up.load(Ordering::Relaxed)
    }

    /// Gives the process an event; its line of answer.
    pub(super) async fn ask(&self, line: Vec<u8>, event_id: String, limit: usize) -> Result<Vec<u8>, HookFailure> {
        let (answer, answered) = oneshot::channel();
        let mut patience = Patience(Some(&self.health));
        let job = Job { line, waiting: Waiting { event_id, limit, answer } };
        let result = match self.queue.send(job).await {
            Ok(()) => answered.await.unwrap_or(Err(HookFailure::WorkerDown)),
            Err(_) => Err(HookFailure::WorkerDown),
        };
        patience.0 = None;
        result
    }
}

/// Keeps a process running.
struct Keeper {
    spec: Arc<Spec>,
    queue: mpsc::Receiver<Job>,
    health: Arc<Health>,
    end: CancellationToken,
}

impl Keeper {
    async fn keep(mut self) {
        let mut backoff = Backoff::default();
        loop {
            let End::Died(why) = self.live(&mut backoff).await else { return };
            let (hook, delay) = (&self.spec.hook, backoff.next());
            metrics::counter!(names::WORKER_ENDS, "hook" => hook.clone()).increment(1);
            tracing::warn!(hook, "the worker of hook {hook:?} {why}; it is started again in {delay:?}");
            if self.rest(delay).await.is_break() {
                return;
            }
        }
    }

    /// One process, from its start to its end.
    async fn live(&mut self, backoff: &mut Backoff) -> End {
        let mut child = match Child::start(&self.spec) {
            Ok(child) => child,
            Err(failure) => return End::Died(failure.to_string()),
        };
        self.health.spoke();
        self.health.up.store(true, Ordering::Relaxed);
        let end = tokio::select! {
            end = child.serve(&mut self.queue, &self.health) => end,
            () = self.end.cancelled() => End::Closed,
        };
        self.health.up.store(false, Ordering::Relaxed);
        if child.has_answered() {
            backoff.reset();
        }
        match &end {
            End::Closed => child.leave().await,
            End::Died(why) => child.bury(why).await,
        }
        end
    }

    /// Events fail at once while there is no process.
    async fn rest(&mut self, delay: Duration) -> ControlFlow<()> {
        let over = tokio::time::sleep(delay);
        tokio::pin!(over);
        loop {
            tokio::select! {
                () = &mut over => return ControlFlow::Continue(()),
                () = self.end.cancelled() => return ControlFlow::Break(()),
                job = self.queue.recv() => match job {
                    // An error: nobody waits for it any more.
                    Some(job) => drop(job.waiting.answer.send(Err(HookFailure::WorkerDown))),
                    None => return ControlFlow::Break(()),
                },
            }
        }
    }
}
