//! The only place that sees every room: puts them together, starts and drains.
mod backstage;
mod service_manager;
mod shared_store;

pub use backstage::{Backstage, backstage};

use crate::admin::Admin;
use crate::bus::Bus;
use crate::bus::spool::{Spool, SpoolError};
use crate::config::{self, Config, Listen, Loaded};
use crate::gateway::server::{App, Door, Entrance, Listener, Places, Shutdown, Visitor, serve as serve_http};
use crate::gateway::turn::{Turns, TurnsError};
use crate::gateway::{Gateway, SetupError};
use crate::hooks::{Pipeline, Witness};
use crate::inspect::Recorder;
use crate::knowledge::{Knowledge, KnowledgeError};
use crate::live::token::Token;
use crate::live::{Live, follow_files};
use crate::session::Sessions;
use crate::session::records::FLUSH_EVERY;
use crate::session::store::{self, Measured, MemoryStore, Store, StoreError};
use crate::telemetry::audit::{self, Audit};
use crate::telemetry::traces::{Traces, TracesError};
use crate::telemetry::{metrics, names};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::TaskTracker;

/// How long answers in flight may go on after a signal, and then the hooks of their ends. Who kills must wait for both.
pub const GRACE: Duration = Duration::from_secs(25);

/// Connections of the admin listener: people, a scraper, a load balancer's probes.
const ADMIN_CONNECTIONS: usize = 64;

/// How often histogram buffers are emptied while nobody scrapes.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// How often old mailboxes are looked for: they are kept for days, and disturb nobody.
const TIDY: Duration = Duration::from_secs(60 * 60);

/// Why the gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// An address can't be listened on.
    #[error("can't listen on {at}: {source}")]
    Listen {
        /// Which.
        at: Listen,
        /// Why.
        source: io::Error,
    },
    /// The gateway.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The TLS library.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was learned.
    #[error("knowledge: {0}")]
    Knowledge(#[from] KnowledgeError),
    /// The spool of the session bus.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The audit log: a gateway that should write one does not go on without it.
    #[error("can't open the audit log {}: {source}", path.display())]
    Audit {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Traces.
    #[error(transparent)]
    Traces(#[from] TracesError),
    /// What belongs to turns.
    #[error(transparent)]
    Turns(#[from] TurnsError),
    /// The system's randomness.
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    /// The signal handlers.
    #[error("can't handle signals: {0}")]
    Signals(io::Error),
}

/// A gateway that is running.
pub struct Running {
    gateway: Listening,
    admin: Listening,
    ready: Arc<AtomicBool>,
    live: Arc<Live>,
    traces: Traces,
}

/// One listener with everything that runs for it.
#[derive(Debug)]
struct Listening {
    at: Listen,
    shutdown: Shutdown,
    tasks: TaskTracker,
}

impl Listening {
    fn start<A: App>(
        (listener, at): (Listener, Listen),
        app: impl Fn(Visitor) -> A + Clone + Send + 'static,
        entrance: Arc<Entrance>,
    ) -> Self {
        let shutdown = Shutdown::default();
        let tasks = TaskTracker::new();
        tasks.spawn(serve_http(listener, app, entrance, shutdown.clone()));
        Self { at, shutdown, tasks }
    }

    /// Runs `work` beside the listener, until it drains.
    fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(self.shutdown.drain.clone().run_until_cancelled_owned(work));
    }

    /// Waits at most `grace` for what is in flight, then breaks it off.
    async fn stop(self, grace: Duration) {
        self.shutdown.drain.cancel();
        self.tasks.close();
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            tracing::warn!(addr = %self.at, "breaking off what is still in flight");
            self.shutdown.abort.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Running {
    /// Where agents connect, with the port that the system chose.
    pub fn at(&self) -> &Listen {
        &self.gateway.at
    }

    /// The address where agents connect; on a Unix socket, which has none, nobody's.
    pub fn addr(&self) -> SocketAddr {
        addr(&self.gateway.at)
    }

    /// The admin listener.
    pub fn admin_addr(&self) -> SocketAddr {
        addr(&self.admin.at)
    }

    /// The turns that new requests have, with what is known of sessions.
    pub fn turns(&self) -> Arc<Turns> {
        self.live.turns()
    }

    /// Not ready any more, no new connections; waits at most `grace` for the answers in flight, then breaks them off. The
    /// admin listener answers until the end, so that probes see a gateway that drains and not one that is dead.
    pub async fn shutdown(self, grace: Duration) {
        self.ready.store(false, Ordering::Relaxed);
        self.gateway.stop(grace).await;
        // Stops that the answers above brought about are run, not left for the next start.
        let turns = self.live.turns();
        if tokio::time::timeout(grace, turns.drained()).await.is_err() {
            tracing::warn!("hooks still run; their stops run again after the next start");
        }
        turns.close_hooks().await;
        turns.sessions().records.flush().await;
        self.traces.close().await;
        self.admin.stop(Duration::ZERO).await;
    }
}

/// Starts the gateway and its admin listener, and follows the files that the configuration was read from. Port 0 takes a
/// free one.
///
/// # Errors
/// [`AppError`]
pub async fn start(loaded: impl Into<Loaded>) -> Result<Running, AppError> {
    let exporter = metrics::install();
    let Loaded { config, source, files, .. } = loaded.into();
    let config = Arc::new(config);
    let turns = turns(&config, None).await?;
    turns.recover().await;
    let traces = config.telemetry.otlp.as_ref().map(Traces::open).transpose()?.unwrap_or_default();
    let gateway = Gateway::new(&config, turns)?.traced(traces.clone());
    let entrance = Entrance::new(Places::of(&config.limits), Door::new(&config)?);
    let at = listen(&config.listen).await?;
    let at_admin = listen(&config.admin.listen.into()).await?;
    let admin_addr = addr(&at_admin.1);
    let entrance_admin = Entrance::new(Places::new(ADMIN_CONNECTIONS), Door::plain(&config.limits));
    let spool = spool(&config).await?;
    let live = Live::new((source, files), gateway, Token::obtain(&config)?, entrance.clone());
    let edge = live.edge();
    let gateway = Listening::start(at, move |visitor| edge.of(visitor), entrance);

    let ready = Arc::new(AtomicBool::new(true));
    let admin =
        Admin { addr: admin_addr, ready: Arc::clone(&ready), metrics: exporter.clone(), live: Arc::clone(&live) };
    let admin = admin.into_service();
    let admin = Listening::start(at_admin, move |_| admin.clone(), entrance_admin);
    admin.beside(upkeep(exporter, live.clone()));
    admin.beside(sweep(live.clone()));
    admin.beside(flush(live.clone()));
    admin.beside(follow_files(live.clone()));
    admin.beside(live.turns().knowledge().clone().follow());
    admin.beside(tidy(live.clone()));
    let turns = live.turns();
    let store = turns.sessions().records.store().clone();
    admin.beside(shared_store::follow(store, turns.bus().clone(), turns.knowledge().clone()));
    drop(turns);
    if let Some(spool) = spool {
        let (bus, live) = (live.turns().bus().clone(), live.clone());
        admin.beside(spool.run(bus, move || live.turns().sessions().tenants.only()));
    }
    Ok(Running { gateway, admin, ready, live, traces })
}

async fn turns(config: &Arc<Config>, witness: Option<Arc<Witness>>) -> Result<Arc<Turns>, AppError> {
    let store: Arc<dyn Store> = Arc::new(Measured::new(open_store(&config.store).await?));
    let knowledge = Knowledge::open(config.knowledge.dir.clone(), store.clone()).await?;
    let sessions = Sessions::new(config, store).await.map_err(TurnsError::from)?;
    let recorder = Recorder::new(config.inspect);
    let bus = Arc::new(Bus::open(sessions.records.clone()).await?.telling(recorder.clone()));
    let pipeline = Pipeline::new(&config.hooks, &config.limits, knowledge).map_err(TurnsError::from)?;
    let mut pipeline = pipeline.posting(bus.clone()).recording(recorder);
    match (witness, &config.audit) {
        (Some(witness), _) => pipeline = pipeline.watched(witness),
        // What a dry run decides is no decision.
        (None, Some(settings)) => pipeline = pipeline.recorded(open_audit(settings)?),
        (None, None) => {}
    }
    Ok(Turns::new(config.clone(), pipeline, sessions, bus).map_err(TurnsError::from)?)
}

fn open_audit(settings: &audit::Settings) -> Result<Audit, AppError> {
    Audit::open(settings).map_err(|source| AppError::Audit { path: settings.file.clone(), source })
}

async fn spool(config: &Config) -> Result<Option<Spool>, SpoolError> {
    let Some(path) = config.bus.maildir.clone() else { return Ok(None) };
    tokio::task::spawn_blocking(move || Spool::open(&path).map(Some)).await.unwrap_or(Ok(None))
}

/// A disk that refuses costs durability, not traffic; a store that another process has open is a mistake in the set-up.
async fn open_store(config: &config::Store) -> Result<Arc<dyn Store>, StoreError> {
    match (store::open(config).await, config) {
        (Err(StoreError::Io(error)), config::Store::Sled { path }) => {
            tracing::error!(path = %path.display(), error, "the store can't be opened: sessions live in memory and NOTHING IS KEPT");
            Ok(Arc::new(MemoryStore::new()))
        }
        (opened, _) => opened,
    }
}

/// Runs until SIGTERM or SIGINT, then drains. SIGHUP reads the configuration again.
///
/// # Errors
/// [`AppError`]
pub async fn serve(loaded: Loaded) -> Result<(), AppError> {
    raise_open_files();
    let handler = |kind| signal(kind).map_err(AppError::Signals);
    let mut terminate = handler(SignalKind::terminate())?;
    let mut interrupt = handler(SignalKind::interrupt())?;
    let hangup = handler(SignalKind::hangup())?;
    let running = start(loaded).await?;
    running.admin.beside(reload_on(hangup, running.live.clone()));
    tracing::info!(addr = %running.at(), admin = %running.admin_addr(), "listening");
    service_manager::ready();
    tokio::select! {
        _ = terminate.recv() => tracing::info!("SIGTERM: draining"),
        _ = interrupt.recv() => tracing::info!("SIGINT: draining"),
    }
    service_manager::stopping();
    running.shutdown(GRACE).await;
    Ok(())
}

async fn reload_on(mut hangup: Signal, live: Arc<Live>) {
    while hangup.recv().await.is_some() {
        tracing::info!("SIGHUP: reading the configuration again");
        service_manager::reloading();
        // Refused or not, it is logged.
        let _ = live.reload().await;
        service_manager::ready();
    }
}

async fn listen(at: &Listen) -> Result<(Listener, Listen), AppError> {
    let bound = async {
        let listener = Listener::bind(at).await?;
        let at = listener.addr()?.map_or_else(|| at.clone(), Listen::Tcp);
        Ok((listener, at))
    };
    bound.await.map_err(|source| AppError::Listen { at: at.clone(), source })
}

fn addr(at: &Listen) -> SocketAddr {
    match at {
        Listen::Tcp(addr) => *addr,
        Listen::Unix(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
    }
}

/// A stream takes two file descriptors, and the usual soft limit of 1024 is far below `limits.concurrent_requests`; the
/// hard limit is what the operator allows.
fn raise_open_files() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map(|()| hard));
    match raised {
        Ok(limit) => tracing::debug!(limit, "open files"),
        Err(error) => tracing::warn!(%error, "can't raise the limit of open files"),
    }
}

async fn sweep(live: Arc<Live>) {
    let mut reloads = live.subscribe();
    loop {
        let pause = {
            let turns = live.turns();
            turns.sweep().await;
            turns.sweep_pause()
        };
        // A reload may have made the idle time shorter.
        let _ = tokio::time::timeout(pause, reloads.changed()).await;
    }
}

async fn flush(live: Arc<Live>) {
    let mut ticks = tokio::time::interval(FLUSH_EVERY);
    loop {
        ticks.tick().await;
        live.turns().sessions().records.flush().await;
    }
}

/// Mailboxes of sessions that have no record, and so no sweep.
async fn tidy(live: Arc<Live>) {
    let mut ticks = tokio::time::interval(TIDY);
    loop {
        ticks.tick().await;
        let turns = live.turns();
        turns.bus().sweep(turns.config().sessions.retain).await;
    }
}

async fn upkeep(exporter: metrics::Exporter, live: Arc<Live>) {
    let mut ticks = tokio::time::interval(METRICS_UPKEEP);
    let sessions = ::metrics::gauge!(names::SESSIONS_CACHED);
    loop {
        ticks.tick().await;
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^52 sessions")]
        sessions.set(live.turns().sessions().records.cached() as f64);
        exporter.upkeep();
    }
}
