//! The only place that sees every room: puts them together, starts and drains.
use crate::admin::Admin;
use crate::admin::token::Token;
use crate::config::{self, Config};
use crate::gateway::server::{App, Shutdown, serve as serve_http};
use crate::gateway::turn::{Sweeper, Turns};
use crate::gateway::{Gateway, SetupError};
use crate::hooks::{ConditionError, HooksError, Pipeline};
use crate::session::records::FLUSH_EVERY;
use crate::session::store::{MemoryStore, SledStore, Store, StoreError};
use crate::session::{SessionError, Sessions};
use crate::telemetry::metrics;
use jiff::Timestamp;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::task::TaskTracker;

/// How long answers in flight may go on after a signal: below the 30 s that Kubernetes waits before it kills.
pub const GRACE: Duration = Duration::from_secs(25);

/// Connections per place of `limits.concurrent_requests`: clients keep several open that are idle.
const CONNECTIONS_PER_REQUEST: usize = 4;

/// Connections of the admin listener: people, a scraper, a load balancer's probes.
const ADMIN_CONNECTIONS: usize = 64;

/// How often histogram buffers are emptied while nobody scrapes.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// Why the gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// An address can't be listened on.
    #[error("can't listen on {addr}: {source}")]
    Listen {
        /// Which.
        addr: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The gateway.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session room.
    #[error(transparent)]
    Sessions(#[from] SessionError),
    /// A hook.
    #[error(transparent)]
    Hooks(#[from] HooksError),
    /// `sessions.side_requests`.
    #[error("sessions.side_requests: {0}")]
    SideRequests(#[from] ConditionError),
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
    turns: Arc<Turns>,
}

/// One listener with everything that runs for it.
#[derive(Debug)]
struct Listening {
    addr: SocketAddr,
    shutdown: Shutdown,
    tasks: TaskTracker,
}

impl Listening {
    fn start((listener, addr): (TcpListener, SocketAddr), app: impl App, connections: usize) -> Self {
        let shutdown = Shutdown::default();
        let tasks = TaskTracker::new();
        tasks.spawn(serve_http(listener, app, connections, shutdown.clone()));
        Self { addr, shutdown, tasks }
    }

    /// Waits at most `grace` for what is in flight, then breaks it off.
    async fn stop(self, grace: Duration) {
        self.shutdown.drain.cancel();
        self.tasks.close();
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            tracing::warn!(addr = %self.addr, "breaking off what is still in flight");
            self.shutdown.abort.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Running {
    /// Where agents connect.
    pub fn addr(&self) -> SocketAddr {
        self.gateway.addr
    }

    /// The admin listener.
    pub fn admin_addr(&self) -> SocketAddr {
        self.admin.addr
    }

    /// What is known of sessions.
    pub fn sessions(&self) -> &Sessions {
        self.turns.sessions()
    }

    /// Not ready any more, no new connections; waits at most `grace` for the answers in flight, then breaks them off. The
    /// admin listener answers until the end, so that probes see a gateway that drains and not one that is dead.
    pub async fn shutdown(self, grace: Duration) {
        self.ready.store(false, Ordering::Relaxed);
        self.gateway.stop(grace).await;
        // Stops that the answers above brought about are run, not left for the next start.
        if tokio::time::timeout(grace, self.turns.drained()).await.is_err() {
            tracing::warn!("hooks still run; their stops run again after the next start");
        }
        self.turns.close_hooks().await;
        self.turns.sessions().records.flush().await;
        self.admin.stop(Duration::ZERO).await;
    }
}

/// Starts the gateway and its admin listener. Port 0 takes a free one.
///
/// # Errors
/// [`AppError`]
pub async fn start(config: Config) -> Result<Running, AppError> {
    let exporter = metrics::install();
    let config = Arc::new(config);
    let turns = turns(&config).await?;
    turns.recover().await;
    let gateway = Gateway::new(&config, turns.clone())?;
    let ready = Arc::new(AtomicBool::new(true));
    let connections = config.limits.concurrent_requests.saturating_mul(CONNECTIONS_PER_REQUEST);
    let gateway = Listening::start(listen(config.listen).await?, gateway.into_service(), connections);

    let listener = listen(config.admin.listen).await?;
    let admin = Admin {
        addr: listener.1,
        token: Token::obtain(&config)?,
        ready: Arc::clone(&ready),
        metrics: exporter.clone(),
        turns: turns.clone(),
        loaded_at: Timestamp::now(),
        config,
    };
    let admin = Listening::start(listener, admin.into_service(), ADMIN_CONNECTIONS);
    admin.tasks.spawn(admin.shutdown.drain.clone().run_until_cancelled_owned(upkeep(exporter)));
    admin.tasks.spawn(admin.shutdown.drain.clone().run_until_cancelled_owned(Sweeper::new(turns.clone()).run()));
    admin.tasks.spawn(admin.shutdown.drain.clone().run_until_cancelled_owned(flush(turns.clone())));
    Ok(Running { gateway, admin, ready, turns })
}

async fn turns(config: &Arc<Config>) -> Result<Arc<Turns>, AppError> {
    let store = open_store(&config.store).await?;
    let sessions = Sessions::new(config, store).await?;
    let pipeline = Pipeline::new(&config.hooks, &config.limits)?;
    Ok(Turns::new(config.clone(), pipeline, sessions)?)
}

/// A disk that refuses costs durability, not traffic; a store that another process has open is a mistake in the set-up.
async fn open_store(store: &config::Store) -> Result<Arc<dyn Store>, StoreError> {
    let path = match store {
        config::Store::Sled { path } => path,
        config::Store::Memory => return Ok(Arc::new(MemoryStore::new())),
    };
    match SledStore::open(path).await {
        Ok(store) => Ok(Arc::new(store)),
        Err(StoreError::Io(error)) => {
            tracing::error!(path = %path.display(), error, "the store can't be opened: sessions live in memory and NOTHING IS KEPT");
            Ok(Arc::new(MemoryStore::new()))
        }
        Err(error) => Err(error),
    }
}

/// Runs until SIGTERM or SIGINT, then drains.
///
/// # Errors
/// [`AppError`]
pub async fn serve(config: Config) -> Result<(), AppError> {
    raise_open_files();
    let mut terminate = signal(SignalKind::terminate()).map_err(AppError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(AppError::Signals)?;
    let running = start(config).await?;
    tracing::info!(addr = %running.addr(), admin = %running.admin_addr(), "listening");
    tokio::select! {
        _ = terminate.recv() => tracing::info!("SIGTERM: draining"),
        _ = interrupt.recv() => tracing::info!("SIGINT: draining"),
    }
    running.shutdown(GRACE).await;
    Ok(())
}

async fn listen(addr: SocketAddr) -> Result<(TcpListener, SocketAddr), AppError> {
    let bound = async {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        Ok((listener, addr))
    };
    bound.await.map_err(|source| AppError::Listen { addr, source })
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

async fn flush(turns: Arc<Turns>) {
    let mut ticks = tokio::time::interval(FLUSH_EVERY);
    loop {
        ticks.tick().await;
        turns.sessions().records.flush().await;
    }
}

async fn upkeep(exporter: metrics::Exporter) {
    let mut ticks = tokio::time::interval(METRICS_UPKEEP);
    loop {
        ticks.tick().await;
        exporter.upkeep();
    }
}
