//! Connections: TCP without delay, TLS with the Mozilla roots, HTTP/1.1 or HTTP/2 as ALPN decides.
use super::RequestBody;
use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{BoxError, Service};

/// A kept connection that was idle for this long is closed. Shorter than the 60 s after which common servers and load
/// balancers close theirs, so that a request rarely meets a connection that is just going away.
const POOL_IDLE: Duration = Duration::from_secs(50);

/// First TCP keep-alive probe on a silent connection: below the 350 s after which cloud NATs forget a flow.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

/// HTTP/2 ping interval, and how long its answer may take: a shared connection that died silently would otherwise
/// swallow every new request until the idle timeout.
const H2_PING: Duration = Duration::from_secs(30);
const H2_PING_TIMEOUT: Duration = Duration::from_secs(20);

/// The HTTP client of one upstream.
pub(super) type Client = legacy::Client<Connector, RequestBody>;

/// TLS settings, shared by all upstreams.
#[derive(Debug, Clone)]
pub struct Tls(rustls::ClientConfig);

impl Tls {
    /// Mozilla's roots, ring, TLS 1.2 and 1.3.
    ///
    /// # Errors
    /// When the crypto provider does not know these versions.
    pub fn new() -> Result<Self, rustls::Error> {
        use hyper_rustls::ConfigBuilderExt as _;
        Ok(Self(Self::builder()?.with_webpki_roots().with_no_client_auth()))
    }

    #[cfg(test)]
    pub(super) fn trusting(roots: rustls::RootCertStore) -> Self {
        Self(Self::builder().unwrap().with_root_certificates(roots).with_no_client_auth())
    }

    fn builder() -> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
    }
}

/// Opens connections; a clone shares its TLS settings and session tickets.
pub(super) type Connector = Deadline<HttpsConnector<HttpConnector>>;

pub(super) fn connector(tls: &Tls, connect_timeout: Duration) -> Connector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(TCP_KEEPALIVE));
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(tls.0.clone())
        .https_or_http()
        .enable_all_versions()
        .wrap_connector(tcp);
    Deadline { inner: https, limit: connect_timeout }
}

/// A client with a pool of its own.
pub(super) fn client(connector: Connector) -> Client {
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE)
        .http2_keep_alive_interval(H2_PING)
        .http2_keep_alive_timeout(H2_PING_TIMEOUT)
        .build(connector)
}

/// A connector with one time limit over name lookup, TCP and TLS together; the TCP connector's own covers only its part.
#[derive(Debug, Clone)]
pub struct Deadline<C> {
    inner: C,
    limit: Duration,
}

impl<C> Service<Uri> for Deadline<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
    C::Response: 'static,
    C::Error: Into<BoxError>,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let limit = self.limit;
        let connecting = self.inner.call(uri);
        Box::pin(async move {
            match tokio::time::timeout(limit, connecting).await {
                Ok(connected) => connected.map_err(Into::into),
                Err(_elapsed) => Err(format!("not connected within {limit:?}").into()),
            }
        })
    }
}
