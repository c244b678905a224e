//! The only place that sees every room: puts them together, starts and drains.
mod backstage;
mod error;
mod listening;
mod service_manager;
mod shared_store;
mod upkeep;

pub use backstage::{Backstage, backstage};
pub use error::AppError;

use crate::admin::Admin;
use crate::bus::Bus;
use crate::bus::spool::{Spool, SpoolError};
use crate::config::{self, Config, Listen, Loaded};
use crate::gateway::Gateway;
use crate::gateway::server::{Door, Entrance, Places, Shutdown};
use crate::gateway::turn::{Turns, TurnsError};
use crate::hooks::{Pipeline, Witness};
use crate::inspect::Recorder;
use crate::knowledge::Knowledge;
use crate::live::Live;
use crate::live::token::Token;
use crate::session::Sessions;
use crate::session::store::{self, Measured, MemoryStore, Store, StoreError};
use crate::telemetry::audit::{self, Audit};
use crate::telemetry::metrics;
use crate::telemetry::traces::Traces;
use listening::{Listening, addr, listen};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long answers in flight may go on after a signal, and then the hooks of their ends. Who kills must wait for both.
pub const GRACE: Duration = Duration::from_secs(25);

/// How long answers of the admin listener may take to their end: they come from memory.
const ADMIN_GRACE: Duration = Duration::from_secs(1);

/// Connections of the admin listener: people, a scraper, a load balancer's probes.
const ADMIN_CONNECTIONS: usize = 64;

/// A gateway that is running.
pub struct Running {
    gateway: Listening,
    admin: Listening,
    ready: Arc<AtomicBool>,
    live: Arc<Live>,
    traces: Traces,
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
        self.admin.stop(ADMIN_GRACE).await;
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
    let gateway = Listening::start(at, move |visitor| edge.of(visitor), entrance, Shutdown::default());

    let ready = Arc::new(AtomicBool::new(true));
    let shutdown = Shutdown::default();
    let admin = Admin {
        addr: admin_addr,
        ready: Arc::clone(&ready),
        draining: shutdown.drain.clone(),
        metrics: exporter.clone(),
        live: Arc::clone(&live),
    };
    let admin = admin.into_service();
    let admin = Listening::start(at_admin, move |_| admin.clone(), entrance_admin, shutdown);
    upkeep::start(&admin, exporter, &live);
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
    let mut pipeline = pipeline.posting(bus.clone()).recording(recorder).guarded(config.terms.guard.clone());
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
