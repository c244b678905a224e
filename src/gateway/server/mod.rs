//! Listens, accepts, serves HTTP/1.1 and HTTP/2, drains.
mod door;
mod places;
mod proxy;
mod socket;
mod wire;

pub use door::Door;
pub use places::Places;
pub use socket::Listener;

use arc_swap::ArcSwap;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use door::{Opened, Protocol};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use places::Place;
use socket::Accepted;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::{Service, ServiceExt as _};

/// How long a connection may be idle. Longer than the 90 s after which the pools of Go and reqwest close theirs: a client
/// should never send into a connection that is closing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// Pause after an accept that failed for want of file descriptors; accepting again at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a connection may take, for which there was no place, until its request comes, and until it has its 503.
const CROWDED_TIMEOUT: Duration = Duration::from_secs(5);

/// HTTP/2 ping interval, and how long its answer may take: a client that is gone without a word holds no place.
const H2_PING: Duration = Duration::from_secs(30);
const H2_PING_TIMEOUT: Duration = Duration::from_secs(20);

/// What HTTP/2 counts beside the bytes of a header (RFC 9113, section 6.5.2), for a hundred of them, as many as HTTP/1.1
/// takes here.
const H2_HEADERS: usize = 100 * 32;

/// What answers requests.
pub trait App:
    Service<Request, Response = Response, Error = Infallible, Future: Send + 'static> + Clone + Send + 'static
{
}

impl<S> App for S where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send + 'static> + Clone + Send + 'static
{
}

/// Who has connected.
#[derive(Debug, Clone, Copy, Default)]
pub struct Visitor {
    /// The client's address, by the word of a trusted proxy where there is one; `None` on a Unix socket.
    pub client: Option<IpAddr>,
    /// There was no place for the connection: it is told so, and closed.
    pub crowded: bool,
}

/// What a listener takes connections by. Can change while it listens.
#[derive(Debug)]
pub struct Entrance {
    /// How many at once.
    pub places: Places,
    door: ArcSwap<Door>,
}

impl Entrance {
    /// With these places, through this door.
    pub fn new(places: Places, door: Door) -> Arc<Self> {
        Arc::new(Self { places, door: ArcSwap::from_pointee(door) })
    }

    /// From now on new connections go through `door`.
    pub fn replace(&self, door: Door) {
        self.door.store(Arc::new(door));
    }
}

/// When to stop, and when to stop waiting.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// No new connections, no new requests on the old ones; what is in flight goes on.
    pub drain: CancellationToken,
    /// What is still in flight is broken off.
    pub abort: CancellationToken,
}

/// Serves to each visitor what `app` makes for it, until `shutdown` says drain and the last connection is gone. As many
/// connections at once as there are places; some further ones are told so, the rest waits in the system's queue.
pub async fn serve<A: App>(
    listener: Listener,
    app: impl Fn(Visitor) -> A + Clone + Send + 'static,
    entrance: Arc<Entrance>,
    shutdown: Shutdown,
) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &entrance.places) => accepted,
            () = shutdown.drain.cancelled() => break,
        };
        match accepted {
            Ok((accepted, place)) => {
                connections.spawn(connection(
                    accepted,
                    app.clone(),
                    entrance.door.load_full(),
                    shutdown.clone(),
                    place,
                ));
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

async fn accept(listener: &Listener, places: &Places) -> io::Result<(Accepted, Place)> {
    let accepted = listener.accept().await?;
    let place = places.take().await.map_err(io::Error::other)?;
    Ok((accepted, place))
}

/// The client left between its connect and our accept.
fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, InvalidInput, NotConnected};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | InvalidInput | NotConnected)
}

async fn connection<A: App>(
    accepted: Accepted,
    app: impl Fn(Visitor) -> A,
    door: Arc<Door>,
    shutdown: Shutdown,
    place: Place,
) {
    let patience = if place.is_crowded() { CROWDED_TIMEOUT } else { IDLE_TIMEOUT };
    let opened = tokio::select! {
        opened = door.open(accepted, patience) => opened,
        // Nothing was asked yet.
        () = shutdown.drain.cancelled() => return,
    };
    match opened {
        Ok(opened) => talk(opened, app, &door, shutdown, place.is_crowded()).await,
        Err(error) => tracing::debug!(%error, "a connection brought no request"),
    }
}

async fn talk<A: App>(
    Opened { wire, protocol, client }: Opened,
    app: impl Fn(Visitor) -> A,
    door: &Door,
    shutdown: Shutdown,
    crowded: bool,
) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let app = app(Visitor { client, crowded }).map_request(move |request: http::Request<Incoming>| {
        count.fetch_add(1, Ordering::Relaxed);
        request.map(Body::new)
    });
    let builder = builder(protocol, door, crowded);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(wire), TowerToHyperService::new(app)));
    let mut draining = false;
    let mut seen = 0;
    let mut look = pin!(tokio::time::sleep(if crowded { CROWDED_TIMEOUT } else { door.head_timeout() }));
    let mut looking = true;
    let ended = loop {
        tokio::select! {
            biased;
            ended = serving.as_mut() => break ended,
            () = shutdown.drain.cancelled(), if !draining => {
                serving.as_mut().graceful_shutdown();
                draining = true;
            }
            () = shutdown.abort.cancelled(), if draining => break Ok(()),
            () = look.as_mut(), if looking => {
                let now = asked.load(Ordering::Relaxed);
                match protocol {
                    _ if crowded || now == 0 => break Err("no request in time".into()),
                    // From here on the server library itself sees to it.
                    Protocol::Http1 => looking = false,
                    // Streams that are open go on.
                    Protocol::Http2 if now == seen && !draining => serving.as_mut().graceful_shutdown(),
                    Protocol::Http2 => {}
                }
                seen = now;
                look.as_mut().reset(Instant::now() + IDLE_TIMEOUT);
            }
        }
    };
    if let Err(error) = ended {
        // Clients that leave and answers that are broken off end here; both are told where they happen.
        tracing::debug!(%error, "connection ended");
    }
}

fn builder(protocol: Protocol, door: &Door, crowded: bool) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // Also ends kept connections that are idle.
        .header_read_timeout(IDLE_TIMEOUT)
        .keep_alive(!crowded)
        // A relayed answer has the upstream's date, or none.
        .auto_date_header(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(H2_PING)
        .keep_alive_timeout(H2_PING_TIMEOUT)
        .max_header_list_size(u32::try_from(door.head_limit() + H2_HEADERS).unwrap_or(u32::MAX))
        .auto_date_header(false);
    match protocol {
        Protocol::Http1 => builder.http1_only(),
        Protocol::Http2 => builder.http2_only(),
    }
}

#[cfg(test)]
mod tests;
