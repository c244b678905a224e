//! The way up: one [`Upstream`] per entry of `upstreams`, each with its own connections.
//!
//! A relay adds nothing of its own: no `accept`, no `user-agent`, no `accept-encoding`; it follows no redirect and
//! retries nothing that an upstream may have seen. What is dropped or replaced is in [`headers`] and [`credential`].

pub mod body;
pub mod connect;
pub mod credential;
mod error;
pub mod headers;
mod lanes;
pub mod target;

pub use body::RequestBody;
pub use error::UpstreamError;
pub use lanes::LanePlace;

use crate::config;
use crate::telemetry::names;
use http::header::{CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use metrics::Histogram;
use std::time::{Duration, Instant};

/// A request as it is to go up: the client's, with whatever hooks changed.
#[derive(Debug)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// Path and query without any prefix of the gateway's own, byte for byte.
    pub line: PathAndQuery,
    /// The client's headers; the ones that are not for the upstream are taken out by [`Upstream::send`].
    pub headers: HeaderMap,
    /// The body.
    pub body: RequestBody,
    /// What takes the place of the client's credential and of `api_key`.
    pub credential: Option<HeaderValue>,
}

/// One place that requests go to.
#[derive(Debug)]
pub struct Upstream {
    name: String,
    provider: config::Provider,
    base: target::Base,
    extra: Vec<(HeaderName, HeaderValue)>,
    api_key: Option<HeaderValue>,
    idle_timeout: Duration,
    cached: bool,
    lanes: lanes::Lanes,
    head_seconds: Histogram,
}

/// The head of an answer, and its body as it comes.
#[derive(Debug)]
pub struct Answer {
    /// What the upstream said.
    pub response: Response<Incoming>,
    /// To be kept until the body is over.
    pub place: LanePlace,
}

impl Upstream {
    /// The upstream that the configuration describes; connects to nothing yet.
    ///
    /// # Errors
    /// [`UpstreamError::Config`] when the base URL has no scheme or authority, or a header's value or the key is none
    /// that HTTP can carry.
    pub fn new(config: &config::Upstream, tls: &connect::Tls) -> Result<Self, UpstreamError> {
        let extra = config
            .headers
            .iter()
            .map(|(name, value)| Ok((name.clone(), secret_value(&value.0)?)))
            .collect::<Result<_, UpstreamError>>()?;
        Ok(Self {
            name: config.name.clone(),
            provider: config.provider,
            base: target::Base::new(&config.base_url)?,
            extra,
            api_key: config.api_key.as_ref().map(|key| credential::value(config.provider, &key.0)).transpose()?,
            idle_timeout: config.idle_timeout,
            cached: config.cached,
            lanes: lanes::Lanes::new(tls, config.connect_timeout),
            head_seconds: metrics::histogram!(names::UPSTREAM_SECONDS, "upstream" => config.name.clone()),
        })
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its host.
    pub fn host(&self) -> &str {
        self.base.host()
    }

    /// Whether it caches prompts.
    pub fn is_cached(&self) -> bool {
        self.cached
    }

    /// What it speaks.
    pub fn provider(&self) -> config::Provider {
        self.provider
    }

    /// How long it may send nothing, before and after the response's head.
    pub fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    /// Sends a request and waits for the response's head. Dropping the future gives the request up and closes its
    /// connection.
    ///
    /// # Errors
    /// [`UpstreamError`] when no head arrives. An error status is not an error here: it is an answer.
    pub async fn send(&self, call: Call) -> Result<Answer, UpstreamError> {
        let request = self.request(call)?;
        let (client, place) = self.lanes.enter().ok_or(UpstreamError::Config("no lanes"))?;
        let sent = Instant::now();
        match tokio::time::timeout(self.idle_timeout, client.request(request)).await {
            Ok(Ok(response)) => {
                self.head_seconds.record(sent.elapsed());
                Ok(Answer { response, place })
            }
            Ok(Err(error)) => Err(UpstreamError::from_client(error)),
            Err(_elapsed) => Err(UpstreamError::Idle { seconds: self.idle_timeout.as_secs() }),
        }
    }

    fn request(&self, call: Call) -> Result<Request<RequestBody>, UpstreamError> {
        let Call { method, mut line, mut headers, body, credential } = call;
        prepare_headers(&mut headers, &body);
        if let Some(key) = credential.as_ref().or(self.api_key.as_ref()) {
            credential::replace(self.provider, key, &mut headers);
            line = target::without_key(line)?;
        }
        for (name, value) in &self.extra {
            headers.insert(name, value.clone());
        }
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.base.join(line)?;
        *request.version_mut() = Version::HTTP_11;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// Takes out what is not for the upstream and states the body's length.
///
/// `host` is the client's name for the gateway; the client library writes the upstream's. `expect` was answered here. A
/// length that the client gave is restated from the body, so that there is exactly one and it is true; a body whose
/// length nobody knows goes up chunked (RFC 9112, section 6.3).
fn prepare_headers(headers: &mut HeaderMap, body: &RequestBody) {
    let stated = headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING);
    headers::strip_hop_by_hop(headers);
    headers::strip_own(headers);
    headers.remove(HOST);
    headers.remove(http::header::EXPECT);
    headers.remove(CONTENT_LENGTH);
    if let Some(length) = body.size_hint().exact()
        && (stated || length > 0)
    {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}

fn secret_value(text: &str) -> Result<HeaderValue, UpstreamError> {
    let mut value =
        HeaderValue::from_str(text).map_err(|_| UpstreamError::Config("a header value has control characters"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
