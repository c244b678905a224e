//! The edge: where agents connect.
//!
//! [`request`] is the life of a request, one file per phase; [`body`] and [`tap`] are the way of the answer. [`errors`] is
//! the one place where an error gets a status.

pub mod admission;
mod answer_head;
pub mod body;
mod client_body;
mod decode;
mod earlier_answer;
pub mod errors;
pub mod guard;
pub mod inspect;
pub mod leg_request;
pub mod legs;
pub mod path;
pub mod read;
mod relay;
pub mod request;
pub mod request_id;
pub mod router;
pub mod server;
pub mod tap;
pub mod turn;
mod websocket;

pub use client_body::{ClientBody, TooLarge};

use crate::config::Config;
use crate::upstream::connect::Tls;
use crate::upstream::{Upstream, UpstreamError};
use admission::{Admission, Budget};
use axum::extract::Request;
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use request_id::RequestIds;
use router::Router;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower::Service;
use turn::Turns;

/// Everything that requests share.
pub struct Gateway {
    ids: RequestIds,
    router: Router,
    upstreams: Vec<Upstream>,
    admission: Admission,
    budget: Budget,
    /// `limits.request_body` in bytes.
    body_limit: u64,
    turns: Arc<Turns>,
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
    /// The TLS library.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The system's randomness.
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
}

impl Gateway {
    /// A gateway for this configuration.
    ///
    /// # Errors
    /// [`SetupError`]
    pub fn new(config: &Config, turns: Arc<Turns>) -> Result<Self, SetupError> {
        let tls = Tls::new()?;
        let upstreams = config
            .upstreams
            .iter()
            .map(|upstream| {
                Upstream::new(upstream, &tls)
                    .map_err(|source| SetupError::Upstream { name: upstream.name.clone(), source })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            ids: RequestIds::new()?,
            router: Router::new(&config.upstreams),
            upstreams,
            admission: Admission::new(&config.limits),
            budget: Budget::new(&config.limits),
            body_limit: config.limits.request_body as u64,
            turns,
        })
    }

    /// The gateway as a service.
    pub fn into_service(self) -> Edge {
        Edge(Arc::new(self))
    }
}

/// The gateway as a service: every method and path goes to [`request::handle`], whose own rules apply, not a web
/// framework's.
#[derive(Clone)]
pub struct Edge(Arc<Gateway>);

impl Service<Request> for Edge {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        request::handle(self.0.clone(), request).map(Ok).boxed()
    }
}
