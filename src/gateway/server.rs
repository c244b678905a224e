//! Listens, accepts, serves HTTP/1.1, drains.
use crate::config::Limits;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::{Service, ServiceExt as _};

/// How long a request's head may take. It also ends kept connections that are idle, so it is longer than the 90 s after
/// which the pools of Go and reqwest close theirs: a client should never send into a connection that is closing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

/// Pause after an accept that failed for want of file descriptors; accepting again at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What answers requests.
pub trait App:
    Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

impl<S> App for S where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

/// Connections per place of `limits.concurrent_requests`: clients keep several open that are idle.
const CONNECTIONS_PER_REQUEST: usize = 4;

/// Places for connections on one listener.
#[derive(Debug)]
pub struct Places {
    free: Arc<Semaphore>,
    /// How many there are, taken ones included.
    size: Mutex<usize>,
}

impl Places {
    /// For so many connections.
    pub fn new(size: usize) -> Self {
        let size = size.min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(size)), size: Mutex::new(size) }
    }

    /// For the requests that these limits allow.
    pub fn of(limits: &Limits) -> Self {
        Self::new(wanted(limits))
    }

    /// As many as other limits allow. Places that are taken stay: connections are not broken off.
    pub fn fit(&self, limits: &Limits) {
        let mut size = self.size.lock();
        let wanted = wanted(limits).min(Semaphore::MAX_PERMITS);
        self.free.add_permits(wanted.saturating_sub(*size));
        *size = wanted.max(*size) - self.free.forget_permits(size.saturating_sub(wanted));
    }
}

fn wanted(limits: &Limits) -> usize {
    limits.concurrent_requests.saturating_mul(CONNECTIONS_PER_REQUEST)
}

/// When to stop, and when to stop waiting.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// No new connections, no new requests on the old ones; what is in flight goes on.
    pub drain: CancellationToken,
    /// What is still in flight is broken off.
    pub abort: CancellationToken,
}

/// Serves `app` until `shutdown` says drain and the last connection is gone. As many connections at once as there are
/// `places`; further ones wait in the system's queue.
pub async fn serve(listener: TcpListener, app: impl App, places: Arc<Places>, shutdown: Shutdown) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &places.free) => accepted,
            () = shutdown.drain.cancelled() => break,
        };
        match accepted {
            Ok((stream, place)) => {
                connections.spawn(connection(stream, app.clone(), shutdown.clone(), place));
            }
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "can't accept connections");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _peer) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, place))
}

/// The client left between its connect and our accept.
fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, InvalidInput, NotConnected};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | InvalidInput | NotConnected)
}

async fn connection(stream: TcpStream, app: impl App, shutdown: Shutdown, _place: OwnedSemaphorePermit) {
    let app = app.map_request(|request: http::Request<Incoming>| request.map(Body::new));
    let mut serving = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            // A relayed answer has the upstream's date, or none.
            .auto_date_header(false)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app))
    );
    let ended = tokio::select! {
        biased;
        ended = serving.as_mut() => ended,
        () = shutdown.drain.cancelled() => {
            serving.as_mut().graceful_shutdown();
            tokio::select! {
                ended = serving => ended,
                () = shutdown.abort.cancelled() => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        // Clients that leave and answers that are broken off end here; both are told where they happen.
        tracing::debug!(%error, "connection ended");
    }
}
