//! The admin listener: probes, metrics, and what operators see and change of sessions (docs/admin.md).
//!
//! ```text
//! hosts    addressed as this listener, from no foreign web page
//! guard    token ─► JSON or no body ─► runs to its end
//! select   which session the path and ?tenant= mean
//! routes   probes, sessions, context, messages, proposals and their reviews, configuration, requests, what happens, each with its description for /openapi.json
//! page     the web page, which asks for all this
//! error    the one place where an error gets a status
//! ```
mod configuration;
mod context;
mod error;
mod events;
mod guard;
mod hooks;
mod hosts;
mod messages;
mod page;
mod probes;
mod proposal_view;
mod proposals;
mod requests;
mod reviews;
mod routes;
mod select;
mod sessions;
mod view;

use crate::live::Live;
use crate::telemetry::metrics::Exporter;
use axum::Router;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio_util::sync::CancellationToken;

/// What the admin listener shows and changes.
pub struct Admin {
    /// The address that the listener is bound to.
    pub addr: SocketAddr,
    /// Whether new requests are welcome at the gateway.
    pub ready: Arc<AtomicBool>,
    /// Cancelled when the listener comes to its end, and with it what is told to who watches.
    pub draining: CancellationToken,
    /// The metrics.
    pub metrics: Exporter,
    /// What is in effect: the configuration, its token, the sessions and how they end.
    pub live: Arc<Live>,
}

impl Admin {
    /// The admin listener as a service.
    pub fn into_service(self) -> Router {
        routes::service(Arc::new(self))
    }
}
