//! The phases of a request that goes to a model, one file per phase.
//!
//! ```text
//! Turns::prepare   read ─► identify ─► opening ─► results ─► prompt ─► deliver ─► compose ─► Prepared
//! Follow           the answer on its way down ─► director (judge, stopping: may go on) ─► ending (session.stop, session.fail)
//! sweep            session.end, stops that a restart interrupted, retention
//! ```

mod again;
mod alias;
mod asking;
mod audited;
mod batch;
mod compose;
mod deliver;
mod director;
mod draft;
mod ending;
mod follow;
mod gate;
mod identify;
mod instructions;
mod joined;
mod judge;
mod knowledge;
mod mail;
mod meet;
mod meters;
mod occasion;
mod opening;
mod outcome;
mod owner;
mod policy;
mod prompt;
mod read;
mod recorded;
mod results;
mod scenery;
mod shared;
mod side;
mod stateless;
mod stopping;
mod successor;
mod sweep;
mod tool_batch;
mod tool_step;
mod turn_tap;
mod unattended;
mod upward;
pub(super) mod watch;
mod witnessed;

pub use director::AnswerDirector;
pub use follow::Follow;
pub use meet::is_label;
use meters::Meters;
pub use outcome::Outcome;
use policy::Policed;
pub use read::Asked;
use read::Looked;
pub use unattended::Unattended;
pub use upward::Upward;
pub use watch::{Legs, Watched};

use crate::bus::Bus;
use crate::config::{Config, EventKind};
use crate::context::Operation;
use crate::dialect::{self, Reply};
use crate::hooks::{ConditionError, HookReport, HooksError, Pipeline, Rules};
use crate::inspect::Recorder;
use crate::json::{Rope, ScanError, Splice};
use crate::knowledge::Knowledge;
use crate::session::key::KeyError;
use crate::session::ledger::HookEdits;
use crate::session::placing::SlotText;
use crate::session::record::{SessionKey, SessionRecord};
use crate::session::{SessionError, Sessions};
use bytes::Bytes;
use std::sync::Arc;
use std::task::Poll;
use tokio_util::task::TaskTracker;

/// Runs the turns of all sessions, under one configuration.
pub struct Turns {
    config: Arc<Config>,
    pipeline: Pipeline,
    sessions: Sessions,
    bus: Arc<Bus>,
    /// Names of persistent slots in the order in which they are placed.
    slot_order: Vec<String>,
    side_rules: Rules,
    meters: Meters,
    recorder: Recorder,
    /// Stop and fail hooks that nobody waits for, of all configurations; a drain does.
    tasks: TaskTracker,
}

/// Why there are no turns under a configuration.
#[derive(Debug, thiserror::Error)]
pub enum TurnsError {
    /// The session room.
    #[error(transparent)]
    Sessions(#[from] SessionError),
    /// A hook.
    #[error(transparent)]
    Hooks(#[from] HooksError),
    /// `sessions.side_requests`.
    #[error("sessions.side_requests: {0}")]
    SideRequests(#[from] ConditionError),
}

/// What becomes of a request.
pub enum Prepared {
    /// It goes up as it came.
    Relay,
    /// It goes up changed, and is no turn: what was placed before stands in it again, or constant texts do, or policies
    /// changed it.
    Changed {
        /// The body; `None`: as it came.
        body: Option<Rope>,
        /// What changes beside the body.
        upward: Upward,
        /// The session's id, if it belongs to one.
        session: Option<String>,
        /// Holds the answer to its tools, where hooks changed them.
        bound: Option<Box<Unattended>>,
    },
    /// It goes up with what hooks placed, and its answer is followed.
    Send {
        /// The body; `None`: as it came, also in its encoding.
        body: Option<Rope>,
        /// What changes beside the body.
        upward: Upward,
        /// What follows the answer.
        follow: Box<Follow>,
    },
    /// The gateway answers.
    Reply {
        /// The body.
        body: Bytes,
        /// Its type.
        content_type: &'static str,
        /// The session's id, if it belongs to one.
        session: Option<String>,
    },
}

/// Why a request can't be prepared.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The body is not what it should be; the client is told.
    #[error(transparent)]
    Body(#[from] ScanError),
    /// The session's id is none.
    #[error(transparent)]
    Session(#[from] KeyError),
    /// The provider holds the history that something would have to be placed in; the client sends all of it instead.
    #[error("this thread can't be continued here; send the full conversation without `thread`")]
    ThreadUnsupported,
    /// The store is away, and the configuration wants no requests then.
    #[error("the store of sessions can't be reached")]
    NoStore,
    /// A hook refused one of the bodies of a batch; the text is its reason.
    #[error("{0}")]
    Blocked(String),
    /// A defect: the phases ended without a result.
    #[error("the request was lost")]
    Lost(tokio::task::JoinError),
}

impl Turns {
    /// For this configuration and pipeline.
    ///
    /// # Errors
    /// When an expression of `sessions.side_requests` does not compile.
    pub fn new(
        config: Arc<Config>,
        pipeline: Pipeline,
        sessions: Sessions,
        bus: Arc<Bus>,
    ) -> Result<Arc<Self>, ConditionError> {
        Self::with(config, pipeline, sessions, bus, (TaskTracker::new(), Meters::new()))
    }

    /// The same sessions under another configuration. Hooks that are in both stay, and a drain of either waits for what
    /// runs under both.
    ///
    /// # Errors
    /// [`TurnsError`]
    pub fn under(&self, config: Arc<Config>) -> Result<Arc<Self>, TurnsError> {
        let sessions = self.sessions.under(&config)?;
        let pipeline = self.pipeline.under(&config.hooks, &config.limits)?;
        Ok(Self::with(config, pipeline, sessions, self.bus.clone(), (self.tasks.clone(), self.meters.clone()))?)
    }

    fn with(
        config: Arc<Config>,
        pipeline: Pipeline,
        sessions: Sessions,
        bus: Arc<Bus>,
        (tasks, meters): (TaskTracker, Meters),
    ) -> Result<Arc<Self>, ConditionError> {
        let mut slot_order: Vec<String> = Vec::new();
        for hook in &config.hooks {
            if !slot_order.contains(&hook.slot) {
                slot_order.push(hook.slot.clone());
            }
        }
        let side_rules = Rules::compile(&config.sessions.side_requests)?;
        let recorder = pipeline.recorder().under(config.inspect);
        Ok(Arc::new(Self { config, pipeline, sessions, bus, slot_order, side_rules, meters, recorder, tasks }))
    }

    /// Whether nothing needs a body to be read.
    pub fn is_idle(&self) -> bool {
        self.config.aliases.is_empty() && !self.adds()
    }

    /// Whether there is anything that may be added to a request or changed in it, beside the model's name.
    fn adds(&self) -> bool {
        !self.config.hooks.is_empty() || self.knowledge().holds_any()
    }

    /// What was learned.
    pub fn knowledge(&self) -> &Arc<Knowledge> {
        self.pipeline.knowledge()
    }

    /// The configuration.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The sessions, for the admin API.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The hooks, for the admin API.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// What is shown of requests.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The session bus.
    pub fn bus(&self) -> &Arc<Bus> {
        &self.bus
    }

    /// Ends what hooks keep running; to be called when no more events come.
    pub async fn close_hooks(&self) {
        self.pipeline.close().await;
    }

    /// Prepares one request: everything between its body and the upstream. Goes on when the client leaves: hooks that have
    /// begun end and are stored, and a retry finds what they gave.
    ///
    /// # Errors
    /// [`TurnError`] when the client has to be told; whatever hooks or the store do wrong is no error of the request.
    pub async fn prepare(self: Arc<Self>, asked: Asked) -> Result<Prepared, TurnError> {
        let mut phases = Box::pin(self.phases(asked));
        // Where nothing is waited for, a task of its own would cost more than the phases.
        if let Poll::Ready(prepared) = futures_util::poll!(&mut phases) {
            return prepared;
        }
        tokio::spawn(phases).await.map_err(TurnError::Lost)?
    }

    async fn phases(self: Arc<Self>, asked: Asked) -> Result<Prepared, TurnError> {
        let mut read = match self.clone().read_aside(asked).await? {
            Looked::Read(read) => *read,
            Looked::Unread(rope) => {
                return Ok(rope.map_or(Prepared::Relay, |body| Prepared::Changed {
                    body: Some(body),
                    upward: Upward::default(),
                    session: None,
                    bound: None,
                }));
            }
        };
        self.show_request(&read);
        read.asked.trace.note(|noted| noted.model = self.model(&read).resolved);
        if read.asked.endpoint.operation == Operation::Batch {
            return self.batch(read).await;
        }
        if read.asked.endpoint.operation != Operation::Generate {
            return self.bare(read).await;
        }
        if !read.is_turn() || self.is_side(&read).await {
            return self.replay(read).await;
        }
        let Some(mut identity) = self.identify(&read).await? else {
            let body = self.stateless(&read);
            return self.policed(read, None, &[], body).await;
        };
        self.record_request(&mut read, &identity.key);
        let mut reply = self.open(&read, &mut identity).await;
        if reply.is_none() {
            reply = self.hear_results(&read, &mut identity).await;
        }
        if reply.is_none() {
            reply = self.submit(&read, &mut identity).await;
        }
        if reply.is_none() {
            self.deliver(&read, &mut identity).await;
        }
        match reply {
            Some(text) => Ok(self.reply(&read, Some(&identity.key), text)),
            None => self.send(read, identity).await,
        }
    }

    /// Runs `work` to its end even when nobody waits for it any more; a drain does.
    ///
    /// # Errors
    /// When it panicked.
    pub async fn to_the_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, tokio::task::JoinError> {
        self.tasks.spawn(work).await
    }

    /// A request that is no turn, after the hooks of `model.context`.
    async fn policed(
        self: &Arc<Self>,
        read: read::Read,
        key: Option<Arc<SessionKey>>,
        edits: &[HookEdits],
        placed: Splice,
    ) -> Result<Prepared, TurnError> {
        let Policed { body, upward, reply, tools } = self.police(&read, None, edits, placed).await?;
        if reply.is_none() {
            read.recording.goes_up(0, &read.asked.body, body.as_ref());
        }
        let bound = Unattended::new(self, &read, key.as_deref(), tools).map(Box::new);
        Ok(match reply {
            Some(text) => self.reply(&read, key.as_deref(), text),
            None if body.is_none() && upward == Upward::default() && bound.is_none() => Prepared::Relay,
            None => Prepared::Changed { body, upward, session: key.map(|key| key.id.clone()), bound },
        })
    }

    fn reply(&self, read: &read::Read, key: Option<&SessionKey>, text: String) -> Prepared {
        read.recording.replied();
        let dialect = dialect::of(read.endpoint().dialect);
        let reply = Reply {
            text,
            model: read.view.model.clone().unwrap_or_default(),
            id: read.asked.request_id.to_string(),
            created: u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default(),
        };
        Prepared::Reply {
            body: dialect.reply(&reply, read.view.form),
            content_type: dialect.content_type(read.view.form),
            session: key.map(|key| key.id.clone()),
        }
    }

    /// The session's slots in the order in which they are placed: that of the hooks that own them, then by name.
    fn slots<'a>(&'a self, record: &'a SessionRecord) -> Vec<SlotText<'a>> {
        let text = |name: &'a String| {
            let slot = record.slots.get(name)?;
            Some(SlotText { slot: name, text: &slot.text, by: &slot.by })
        };
        let owned = self.slot_order.iter().filter_map(text);
        let others = record.slots.keys().filter(|name| !self.slot_order.contains(name)).filter_map(text);
        owned.chain(others).filter(|slot| !slot.text.trim().is_empty()).collect()
    }

    /// Stores what hooks said about their slots, and in the same write what `also` sets. Hooks that share a slot and speak on
    /// the same event are joined. The record as it is afterwards.
    async fn apply(
        &self,
        before: Arc<SessionRecord>,
        kind: EventKind,
        reports: &[HookReport],
        also: impl Fn(&mut SessionRecord),
    ) -> Arc<SessionRecord> {
        let change = |record: &mut SessionRecord| {
            let unchanged = record.clone();
            self.set_slots(record, reports);
            also(record);
            *record != unchanged
        };
        self.sessions.records.update(&before.key, change).await.unwrap_or_else(|error| {
            tracing::error!(session = %before.key, event = kind.name(), %error, "what hooks said can't be stored");
            before
        })
    }

    fn set_slots(&self, record: &mut SessionRecord, reports: &[HookReport]) {
        let now = jiff::Timestamp::now();
        let mut written: Vec<&str> = Vec::new();
        for HookReport { hook, slot, outcome, .. } in reports {
            if outcome.clear_context {
                record.clear_slot(slot);
            }
            if outcome.context.is_empty() {
                continue;
            }
            let text = outcome.context.join("\n\n");
            let text = match record.slots.get(&**slot) {
                Some(earlier) if written.contains(&&**slot) => format!("{}\n\n{text}", earlier.text),
                _ => text,
            };
            written.push(slot);
            if let Err(error) = record.set_slot(slot, &text, hook, now, self.config.limits.outcome_text) {
                tracing::warn!(hook = &**hook, "context of hook {hook:?} was left out: {error}");
            }
        }
    }
}
