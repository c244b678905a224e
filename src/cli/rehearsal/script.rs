//! A server on loopback that keeps what it receives and says what it is told to.
use super::{Received, UPSTREAM};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What the server says to a request.
pub(in crate::cli) type Respond = dyn Fn(&Received) -> Canned + Send + Sync;

/// An answer.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Canned {
    /// Its status.
    pub(in crate::cli) status: StatusCode,
    /// Its media type.
    pub(in crate::cli) content_type: HeaderValue,
    /// Further headers.
    pub(in crate::cli) headers: HeaderMap,
    /// Its body.
    pub(in crate::cli) body: Bytes,
}

impl Canned {
    /// A JSON body.
    pub(in crate::cli) fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        let content_type = HeaderValue::from_static("application/json");
        Self { status, content_type, headers: HeaderMap::new(), body: body.into() }
    }
}

/// The server; stops when it is dropped.
pub(in crate::cli) struct Script {
    addr: SocketAddr,
    stage: Arc<Stage>,
    serving: JoinHandle<()>,
}

struct Stage {
    respond: Box<Respond>,
    received: Mutex<Vec<Received>>,
}

impl Drop for Script {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Script {
    pub(in crate::cli) async fn start(respond: Box<Respond>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = listener.local_addr()?;
        let stage = Arc::new(Stage { respond, received: Mutex::default() });
        let app = Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(stage.clone());
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                tracing::error!(%error, "the scripted server stopped");
            }
        });
        Ok(Self { addr, stage, serving })
    }

    pub(in crate::cli) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What it received since the last call.
    pub(super) fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.stage.received.lock())
    }
}

async fn answer(State(stage): State<Arc<Stage>>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return StatusCode::BAD_REQUEST.into_response() };
    let upstream = head.headers.remove(UPSTREAM).and_then(|name| name.to_str().map(str::to_owned).ok());
    let received = Received {
        upstream: upstream.unwrap_or_default(),
        path: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: head.headers,
        body: body.to_bytes(),
    };
    let Canned { status, content_type, headers, body } = (stage.respond)(&received);
    stage.received.lock().push(received);
    let mut response = (status, headers, body).into_response();
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
