//! The edge: where agents connect.
//!
//! [`request`] is the life of a request, one file per phase; [`body`] and [`tap`] are the way of the answer. [`errors`] is
//! the one place where an error gets a status.

pub mod admission;
pub mod allowance;
mod answer_head;
pub mod body;
mod client_body;
pub mod clock;
mod decode;
mod earlier_answer;
pub mod errors;
mod failure;
pub mod guard;
mod held;
pub mod inspect;
pub mod keys;
pub mod leg_request;
pub mod legs;
mod pace;
pub mod path;
pub mod read;
mod relay;
pub mod request;
pub mod request_id;
pub mod router;
pub mod server;
pub mod spending;
pub mod tap;
pub mod turn;
mod websocket;

pub use client_body::{ClientBody, TooLarge};

use crate::config::{self, Config, Limits};
use crate::telemetry::traces::Traces;
use crate::upstream::connect::Tls;
use crate::upstream::{Upstream, UpstreamError};
use admission::{Admission, Budget};
use arc_swap::ArcSwap;
use axum::extract::Request;
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keys::Keys;
use request_id::RequestIds;
use router::Router;
use server::Visitor;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::Service;
use turn::{Turns, TurnsError};

/// Everything that requests share under one configuration. A request keeps the one that it began with to its end.
pub struct Gateway {
    ids: Arc<RequestIds>,
    tls: Tls,
    router: Router,
    upstreams: Vec<Arc<Upstream>>,
    /// Who may come in; `None`: everybody.
    keys: Option<Keys>,
    admission: Admission,
    budget: Budget,
    bounds: Bounds,
    turns: Arc<Turns>,
    traces: Traces,
}

/// What one request may be; sizes in bytes.
struct Bounds {
    head: usize,
    body: usize,
    body_timeout: Duration,
}

impl Bounds {
    fn of(limits: &Limits) -> Self {
        let Limits { request_head, request_body, body_timeout, .. } = *limits;
        Self { head: request_head, body: request_body, body_timeout }
    }
}

/// Why a gateway can't be made of a configuration.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// One of the upstreams.
    #[error("upstream {name}: {source}")]
    Upstream {
        /// Its name.
        name: String,
        /// What is wrong.
        source: UpstreamError,
    },
    /// A credential of a client's key.
    #[error("keys: {0}")]
    Keys(UpstreamError),
    /// The TLS library.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The system's randomness.
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    /// What belongs to turns.
    #[error(transparent)]
    Turns(#[from] TurnsError),
}

impl Gateway {
    /// A gateway for this configuration.
    ///
    /// # Errors
    /// [`SetupError`]
    pub fn new(config: &Config, turns: Arc<Turns>) -> Result<Self, SetupError> {
        let tls = Tls::new()?;
        Ok(Self {
            ids: Arc::new(RequestIds::new()?),
            router: Router::new(&config.upstreams),
            upstreams: config.upstreams.iter().map(|upstream| connect(upstream, &tls)).collect::<Result<_, _>>()?,
            keys: Keys::new(config, None).map_err(SetupError::Keys)?,
            tls,
            admission: Admission::new(&config.limits),
            budget: Budget::new(&config.limits),
            bounds: Bounds::of(&config.limits),
            turns,
            traces: Traces::default(),
        })
    }

    /// Its requests are traced.
    #[must_use]
    pub fn traced(self, traces: Traces) -> Self {
        Self { traces, ..self }
    }

    /// The same gateway under another configuration: what is in flight counts on, and an upstream that is in both keeps
    /// its connections.
    ///
    /// # Errors
    /// [`SetupError`]
    pub fn under(&self, config: Arc<Config>) -> Result<Self, SetupError> {
        let old = &self.turns.config().upstreams;
        let upstream = |new: &config::Upstream| match old.iter().zip(&self.upstreams).find(|(old, _)| *old == new) {
            Some((_, upstream)) => Ok(Arc::clone(upstream)),
            None => connect(new, &self.tls),
        };
        Ok(Self {
            ids: Arc::clone(&self.ids),
            tls: self.tls.clone(),
            router: Router::new(&config.upstreams),
            upstreams: config.upstreams.iter().map(upstream).collect::<Result<_, _>>()?,
            keys: Keys::new(&config, self.keys.as_ref()).map_err(SetupError::Keys)?,
            admission: self.admission.under(&config.limits),
            budget: self.budget.under(&config.limits),
            bounds: Bounds::of(&config.limits),
            turns: self.turns.under(config)?,
            traces: self.traces.clone(),
        })
    }

    /// The turns of its sessions.
    pub fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }

    /// The gateway as a service.
    pub fn into_service(self) -> Edge {
        Edge { live: Arc::new(ArcSwap::from_pointee(self)), visitor: Visitor::default() }
    }
}

fn connect(config: &config::Upstream, tls: &Tls) -> Result<Arc<Upstream>, SetupError> {
    let upstream = Upstream::new(config, tls);
    upstream.map(Arc::new).map_err(|source| SetupError::Upstream { name: config.name.clone(), source })
}

/// The gateway as a service: every method and path goes to [`request::handle`], whose own rules apply, not a web
/// framework's.
#[derive(Clone)]
pub struct Edge {
    live: Arc<ArcSwap<Gateway>>,
    visitor: Visitor,
}

impl Edge {
    /// What new requests go to.
    pub fn gateway(&self) -> Arc<Gateway> {
        self.live.load_full()
    }

    /// The same gateway for one visitor.
    #[must_use]
    pub fn of(&self, visitor: Visitor) -> Self {
        Self { live: Arc::clone(&self.live), visitor }
    }

    /// From now on new requests go to `gateway`.
    pub fn replace(&self, gateway: Gateway) {
        self.live.store(Arc::new(gateway));
    }
}

impl Service<Request> for Edge {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        request::handle(self.gateway(), request, self.visitor).map(Ok).boxed()
    }
}
