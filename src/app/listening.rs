//! One listener, from its start to its end.
use super::AppError;
use crate::config::Listen;
use crate::gateway::server::{App, Entrance, Listener, Shutdown, Visitor, serve};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// Binds an address; of port 0 the one that the system chose.
pub(super) async fn listen(at: &Listen) -> Result<(Listener, Listen), AppError> {
    let bound = async {
        let listener = Listener::bind(at).await?;
        let at = listener.addr()?.map_or_else(|| at.clone(), Listen::Tcp);
        Ok((listener, at))
    };
    bound.await.map_err(|source| AppError::Listen { at: at.clone(), source })
}

/// The address where it is reached; on a Unix socket, which has none, nobody's.
pub(super) fn addr(at: &Listen) -> SocketAddr {
    match at {
        Listen::Tcp(addr) => *addr,
        Listen::Unix(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
    }
}

/// One listener with everything that runs for it.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) at: Listen,
    shutdown: Shutdown,
    tasks: TaskTracker,
}

impl Listening {
    /// Serves until `shutdown` says otherwise.
    pub(super) fn start<A: App>(
        (listener, at): (Listener, Listen),
        app: impl Fn(Visitor) -> A + Clone + Send + 'static,
        entrance: Arc<Entrance>,
        shutdown: Shutdown,
    ) -> Self {
        let tasks = TaskTracker::new();
        tasks.spawn(serve(listener, app, entrance, shutdown.clone()));
        Self { at, shutdown, tasks }
    }

    /// Runs `work` beside the listener, until it drains.
    pub(super) fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(self.shutdown.drain.clone().run_until_cancelled_owned(work));
    }

    /// Waits at most `grace` for what is in flight, then breaks it off.
    pub(super) async fn stop(self, grace: Duration) {
        self.shutdown.drain.cancel();
        self.tasks.close();
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            tracing::warn!(addr = %self.at, "breaking off what is still in flight");
            self.shutdown.abort.cancel();
            self.tasks.wait().await;
        }
    }
}
