//! The only place that sees every room: puts them together, starts and drains.
use crate::admin::Admin;
use crate::config::Config;
use crate::gateway::server::{Shutdown, serve as serve_http};
use crate::gateway::{Gateway, SetupError};
use crate::telemetry::metrics;
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
    /// The signal handlers.
    #[error("can't handle signals: {0}")]
    Signals(io::Error),
}

/// A gateway that is running.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    admin_addr: SocketAddr,
    ready: Arc<AtomicBool>,
    shutdown: Shutdown,
    tasks: TaskTracker,
}

impl Running {
    /// Where agents connect.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The admin listener.
    pub fn admin_addr(&self) -> SocketAddr {
        self.admin_addr
    }

    /// Not ready any more, no new connections; waits at most `grace` for the answers in flight, then breaks them off.
    pub async fn shutdown(self, grace: Duration) {
        self.ready.store(false, Ordering::Relaxed);
        self.shutdown.drain.cancel();
        self.tasks.close();
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            tracing::warn!("breaking off what is still in flight");
            self.shutdown.abort.cancel();
            self.tasks.wait().await;
        }
    }
}

/// Starts the gateway and its admin listener. Port 0 takes a free one.
///
/// # Errors
/// [`AppError`]
pub async fn start(config: Config) -> Result<Running, AppError> {
    let exporter = metrics::install();
    let gateway = Gateway::new(&config)?;
    let (listener, addr) = listen(config.listen).await?;
    let (admin_listener, admin_addr) = listen(config.admin.listen).await?;
    let ready = Arc::new(AtomicBool::new(true));
    let shutdown = Shutdown::default();
    let tasks = TaskTracker::new();

    let admin = Admin { ready: Arc::clone(&ready), metrics: exporter.clone() };
    let connections = config.limits.concurrent_requests.saturating_mul(CONNECTIONS_PER_REQUEST);
    tasks.spawn(serve_http(listener, gateway.into_service(), connections, shutdown.clone()));
    tasks.spawn(serve_http(admin_listener, admin.into_service(), ADMIN_CONNECTIONS, shutdown.clone()));
    tasks.spawn(shutdown.drain.clone().run_until_cancelled_owned(upkeep(exporter)));
    Ok(Running { addr, admin_addr, ready, shutdown, tasks })
}

/// Runs until SIGTERM or SIGINT, then drains.
///
/// # Errors
/// [`AppError`]
pub async fn serve(config: Config) -> Result<(), AppError> {
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

async fn upkeep(exporter: metrics::Exporter) {
    let mut ticks = tokio::time::interval(METRICS_UPKEEP);
    loop {
        ticks.tick().await;
        exporter.upkeep();
    }
}
