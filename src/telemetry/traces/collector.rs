//! The way to the collector: the exporter's own thread hands a batch over, a task of this runtime sends it.
use crate::telemetry::names;
use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use hyper_rustls::ConfigBuilderExt as _;
use metrics::{Counter, counter};
use opentelemetry_http::{HttpClient, HttpError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

/// Longest answer of a collector that is read, in bytes: it says whether it took the spans.
const MAX_ANSWER: usize = 64 << 10;

/// Sends batches.
#[derive(Debug)]
pub(super) struct Collector {
    client: reqwest::Client,
    runtime: Handle,
    taken: Counter,
    lost: Counter,
    /// Whether the log knows that it does not work.
    logged: AtomicBool,
}

impl Collector {
    /// Sends from this runtime; gives a batch up after `timeout`.
    ///
    /// # Errors
    /// When TLS can't be set up.
    pub(super) fn new(timeout: Duration) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_webpki_roots()
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(timeout)
            .build()?;
        let count = |result: &'static str| counter!(names::TRACE_EXPORTS, "result" => result);
        Ok(Self {
            client,
            runtime: Handle::current(),
            taken: count("ok"),
            lost: count("failed"),
            logged: AtomicBool::new(false),
        })
    }

    fn note(&self, sent: &Result<Response<Bytes>, HttpError>) {
        let trouble = match sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("status {}", response.status().as_u16())),
            Err(error) => Some(error.to_string()),
        };
        let Some(trouble) = trouble else {
            self.taken.increment(1);
            self.logged.store(false, Ordering::Relaxed);
            return;
        };
        self.lost.increment(1);
        if !self.logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(error = trouble, "the collector of traces takes nothing; requests go on");
        }
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sending = self.runtime.spawn(async move {
            let mut response = client.execute(request.try_into()?).await.map_err(reqwest::Error::without_url)?;
            let mut answer = Response::new(Bytes::new());
            *answer.status_mut() = response.status();
            *answer.headers_mut() = std::mem::take(response.headers_mut());
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                body.extend_from_slice(&chunk[..chunk.len().min(MAX_ANSWER - body.len())]);
            }
            *answer.body_mut() = body.into();
            Ok::<_, reqwest::Error>(answer)
        });
        let sent = match sending.await {
            Ok(sent) => sent.map_err(HttpError::from),
            Err(stopped) => Err(stopped.into()),
        };
        self.note(&sent);
        sent
    }
}
