//! `run: { http: ... }`: a POST of the event, answered with a 2xx JSON object.
use super::{Invocation, Output, Runner};
use crate::config::Secret;
use crate::hooks::{HookFailure, HooksError};
use ::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ::http::{Method, Uri};
use futures_util::future::BoxFuture;
use hyper_rustls::ConfigBuilderExt;
use reqwest::{Client, Request, Response, Url};
use std::sync::Arc;
use std::time::Duration;

/// How long an unused connection is kept: below the 60 s after which common servers close theirs.
const POOL_IDLE: Duration = Duration::from_secs(30);

/// An address, and the client with its connections.
pub(super) struct Http {
    url: Url,
    headers: HeaderMap,
    client: Client,
}

/// Neither the headers nor the address, whose query may hold a key, print.
impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Runner for Http {
    fn run<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Output, HookFailure>> {
        Box::pin(self.post(call))
    }
}

impl Http {
    pub(super) fn new(hook: &str, url: &Uri, headers: &[(HeaderName, Secret)]) -> Result<Self, HooksError> {
        let refuse = |reason: String| HooksError::Http { hook: hook.to_owned(), reason };
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, Secret(value)) in headers {
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| refuse(format!("header {name}: a control character in its value")))?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        let url = Url::parse(&url.to_string()).map_err(|e| refuse(format!("url: {e}")))?;
        Ok(Self { url, headers: map, client: client().map_err(refuse)? })
    }

    async fn post(&self, call: &Invocation<'_>) -> Result<Output, HookFailure> {
        let mut request = Request::new(Method::POST, self.url.clone());
        request.headers_mut().clone_from(&self.headers);
        call.event.trace.hand_on(request.headers_mut());
        *request.body_mut() = Some(call.payload()?.into());
        let response = self.client.execute(request).await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(HookFailure::Status(response.status().as_u16()));
        }
        let body = read(response, call.output_limit).await?;
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(HookFailure::NotAnObject);
        }
        Ok(Output::Written(body))
    }
}

/// The body, refused as soon as it is known to be over the limit.
pub(super) async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, HookFailure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if chunk.len() > limit - body.len() {
            return Err(HookFailure::OutputOverLimit { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The error with its causes and without the address.
pub(super) fn failed(error: reqwest::Error) -> HookFailure {
    let error = error.without_url();
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
    HookFailure::Http(causes.map(ToString::to_string).collect::<Vec<_>>().join(": "))
}

/// A client that goes where the config says and nowhere else: no redirects, no proxy from the environment. TLS trusts
/// Mozilla's roots, like the way up, and needs no process-wide crypto provider.
pub(super) fn client() -> Result<Client, String> {
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_webpki_roots()
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .pool_idle_timeout(POOL_IDLE)
        .user_agent(concat!("hookgate/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests;
