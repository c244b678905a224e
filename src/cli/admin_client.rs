//! A client of the admin API of a running gateway (docs/admin.md).
use super::ConfigFile;
use crate::config::{self, Problems};
use crate::live::token;
use clap::Args;
use reqwest::{Client, Method, Response, Url};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// The variable that may hold the token, as in the configuration's example.
const TOKEN_VARIABLE: &str = "HOOKGATE_ADMIN_TOKEN";

/// The admin API answers from memory; what takes longer hangs. Ending a session waits for its hooks, whose own deadline
/// is below this.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A probe that takes longer than this has failed: orchestrators wait no longer for theirs.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// An answer that goes on for as long as somebody watches: 136 years.
const ENDLESS: Duration = Duration::from_secs(u32::MAX as u64);

/// Lists come in pages of the largest size, so that many sessions take few requests.
const PAGE: (&str, &str) = ("limit", "500");

/// Which gateway.
#[derive(Debug, Args)]
pub(super) struct Target {
    #[command(flatten)]
    file: ConfigFile,
    /// The admin listener's URL; without it the configuration's admin.listen
    #[arg(long, value_name = "URL", global = true)]
    admin: Option<Url>,
    /// The admin token; without it HOOKGATE_ADMIN_TOKEN, the configuration's admin.token, or STORE_PATH/admin.token
    #[arg(long, global = true)]
    token: Option<String>,
}

/// Why the gateway gave no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdminError {
    /// The configuration that would say where it is.
    #[error(transparent)]
    Config(#[from] Problems),
    /// No token anywhere.
    #[error("no admin token: write --token, set {TOKEN_VARIABLE}, or run where the gateway's store is")]
    NoToken,
    /// No answer.
    #[error("{url}: {}{}", chain(.source), if .source.is_connect() { "; is the gateway running? `hookgate serve` starts it" } else { "" })]
    Unreachable {
        /// What was asked.
        url: Url,
        /// Why.
        source: reqwest::Error,
    },
    /// An answer that says no.
    #[error("{url}: {}", refusal(*.status, .message))]
    Refused {
        /// What was asked.
        url: Url,
        /// The status.
        status: reqwest::StatusCode,
        /// The gateway's words.
        message: String,
    },
    /// An answer that can't be read.
    #[error("{url}: the answer is not JSON, is this the admin listener?")]
    NotJson {
        /// What was asked.
        url: Url,
    },
    /// An id that no URL can name: URL libraries resolve such segments, in any spelling, before they ask.
    #[error("{0:?} can't be part of a URL")]
    Unnameable(String),
    /// A URL that can't be extended.
    #[error("{0}: not the URL of an admin listener, write one such as http://127.0.0.1:8788")]
    BadUrl(String),
}

impl AdminError {
    /// An answer that broke off.
    pub(super) fn lost(answer: &Response, source: reqwest::Error) -> Self {
        Self::Unreachable { url: answer.url().clone(), source }
    }
}

/// The client has sent a token: what the API says to one that sent none would mislead.
fn refusal(status: reqwest::StatusCode, message: &str) -> String {
    match status {
        reqwest::StatusCode::UNAUTHORIZED => {
            "401 Unauthorized: the token that was sent is not this gateway's".to_owned()
        }
        _ if message.is_empty() => status.to_string(),
        _ => format!("{status}: {message}"),
    }
}

/// A gateway's admin API.
pub(super) struct AdminClient {
    http: Client,
    base: Url,
    token: String,
}

impl Target {
    /// Finds URL and token.
    pub(super) fn client(&self) -> Result<AdminClient, AdminError> {
        self.client_with(self.token.clone())
    }

    /// Finds the URL, and the token unless one is given.
    pub(super) fn client_with(&self, token: Option<String>) -> Result<AdminClient, AdminError> {
        let given = token.or_else(|| config::process_env(TOKEN_VARIABLE)).filter(|token| !token.is_empty());
        if let (Some(url), Some(token)) = (&self.admin, &given) {
            return AdminClient::new(url.clone(), token.clone());
        }
        let config = config::load(self.file.config.as_deref(), &config::process_env)?.config;
        let base = self.admin.clone().map_or_else(|| listener_url(config.admin.listen), Ok)?;
        let token = given.or_else(|| token::stored(&config)).ok_or(AdminError::NoToken)?;
        AdminClient::new(base, token)
    }
}

/// What a gateway answers to a probe, which needs no token. With a URL the configuration is not read: a file that was broken
/// under a running gateway says nothing about that gateway.
pub(super) async fn probe(config: &ConfigFile, admin: Option<&Url>, path: &str) -> Result<String, AdminError> {
    let base = match admin {
        Some(url) => url.clone(),
        None => listener_url(config::load(config.config.as_deref(), &config::process_env)?.config.admin.listen)?,
    };
    let url = base.join(path).map_err(|_| AdminError::BadUrl(base.to_string()))?;
    let unreachable = |source| AdminError::Unreachable { url: url.clone(), source };
    let request = http().map_err(unreachable)?.get(url.clone()).timeout(PROBE_TIMEOUT);
    let response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    let text = response.text().await.map_err(unreachable)?.trim().to_owned();
    if status.is_success() { Ok(text) } else { Err(AdminError::Refused { url, status, message: text }) }
}

/// The listener is near: a proxy from the environment would only see the token.
fn http() -> Result<Client, reqwest::Error> {
    // reqwest has no TLS provider of its own here; a second installation is refused and harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).timeout(TIMEOUT).build()
}

/// A listener on every address is reached on the loopback one.
fn listener_url(listen: SocketAddr) -> Result<Url, AdminError> {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let text = format!("http://{}", SocketAddr::new(ip, listen.port()));
    text.parse().map_err(|_| AdminError::BadUrl(text))
}

impl AdminClient {
    fn new(base: Url, token: String) -> Result<Self, AdminError> {
        let http = http().map_err(|source| AdminError::Unreachable { url: base.clone(), source })?;
        Ok(Self { http, base, token })
    }

    /// Asks for `path`, whose segments are encoded here. An empty answer is `null`.
    pub(super) async fn ask(&self, method: Method, path: &[&str], query: &[(&str, &str)]) -> Result<Value, AdminError> {
        self.tell(method, path, query, None).await
    }

    /// Asks for `path` and gives the answer as it comes, for as long as it comes.
    pub(super) async fn follow(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Response, AdminError> {
        let url = self.url(path, query)?;
        let unreachable = |source| AdminError::Unreachable { url: url.clone(), source };
        let asked = self.http.get(url.clone()).bearer_auth(&self.token).timeout(ENDLESS).send().await;
        let response = asked.map_err(unreachable)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.map_err(unreachable)?;
        let message = serde_json::from_slice(&body).ok().as_ref().and_then(message).unwrap_or_default();
        Err(AdminError::Refused { url, status, message })
    }

    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Url, AdminError> {
        if let Some(segment) = path.iter().find(|segment| matches!(**segment, "" | "." | "..")) {
            return Err(AdminError::Unnameable((*segment).to_owned()));
        }
        let mut url = self.base.clone();
        url.path_segments_mut().map_err(|()| AdminError::BadUrl(self.base.to_string()))?.pop_if_empty().extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    /// All items of a list. Follows the pages; a cursor that comes again ends it.
    pub(super) async fn list(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Vec<Value>, AdminError> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let at = cursor.as_deref().map(|cursor| ("cursor", cursor));
            let query: Vec<_> = query.iter().copied().chain([PAGE]).chain(at).collect();
            let mut page = self.ask(Method::GET, path, &query).await?;
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                all.extend(items);
            }
            let next = page.get("next").and_then(Value::as_str).map(str::to_owned);
            if next.is_none() || next == cursor {
                return Ok(all);
            }
            cursor = next;
        }
    }

    /// The same as [`Self::ask`] with a body.
    pub(super) async fn tell(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, AdminError> {
        let url = self.url(path, query)?;
        let unreachable = |source| AdminError::Unreachable { url: url.clone(), source };
        let request = self.http.request(method, url.clone()).bearer_auth(&self.token);
        let request = request.header("content-type", "application/json");
        let request = match body {
            Some(body) => request.body(body.to_string()),
            None => request,
        };
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let body = response.bytes().await.map_err(unreachable)?;
        let json = serde_json::from_slice::<Value>(&body);
        if !status.is_success() {
            let message = json.ok().as_ref().and_then(message).unwrap_or_default();
            return Err(AdminError::Refused { url, status, message });
        }
        if body.is_empty() { Ok(Value::Null) } else { json.map_err(|_| AdminError::NotJson { url }) }
    }
}

/// The words of an error body: `{"error": {"message": ".."}}` or `{"error": ".."}`.
fn message(body: &Value) -> Option<String> {
    let error = body.get("error")?;
    error.get("message").unwrap_or(error).as_str().map(str::to_owned)
}

/// reqwest's own words leave out the cause.
fn chain(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
