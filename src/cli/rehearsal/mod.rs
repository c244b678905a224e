//! Requests through the real gateway, in this process and before nobody: every upstream is a scripted one on loopback, the
//! store is memory, and a witness tells what the phases did. For dry runs and policy tests.
//!
//! ```text
//! ask ─► the gateway of the configuration ─► server (scripted)
//!              └─► witness
//! ```
pub(super) mod reading;
pub(super) mod runs;
pub(super) mod script;
mod shape;

pub(super) use shape::assume;

use crate::app::{self, AppError, Backstage};
use crate::config::{Config, Run, Secret, Store};
use crate::gateway::errors::ERROR_HEADER;
use crate::gateway::inspect::SESSION_HEADER;
use crate::hooks::{Sight, Witness};
use crate::session::SessionError;
use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt as _;
use script::{Respond, Script};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Names the upstream to the scripted server; not shown.
const UPSTREAM: HeaderName = HeaderName::from_static("x-rehearsed-upstream");

/// Why nothing can be rehearsed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RehearsalError {
    /// The gateway.
    #[error(transparent)]
    App(#[from] AppError),
    /// The scripted server's port.
    #[error("no scripted upstream: {0}")]
    Io(#[from] io::Error),
    /// The scripted server's address is no URL: a defect.
    #[error("the scripted upstream has no URL: {0}")]
    Url(#[from] http::uri::InvalidUri),
    /// What was stored can't be read.
    #[error(transparent)]
    Sessions(#[from] SessionError),
    /// The path is none.
    #[error("not a request: {0}")]
    Request(#[from] http::Error),
}

/// A gateway and its scripted upstream.
pub(super) struct Rehearsal {
    stage: Backstage,
    script: Script,
    witness: Arc<Witness>,
}

/// A request as a client would send it.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// Path and query.
    pub(super) path: String,
    /// Its headers.
    pub(super) headers: HeaderMap,
    /// Its body.
    pub(super) body: Bytes,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Exchange {
    /// What the client sent.
    pub(super) asked: Asked,
    /// The session that the gateway named.
    pub(super) session: Option<String>,
    /// The code of an error of the gateway's own.
    pub(super) error: Option<String>,
    /// The body that the client got; of a stream that broke off, what came.
    pub(super) answer: Bytes,
    /// What went up, in order.
    pub(super) received: Vec<Received>,
    /// What the phases did, in order.
    pub(super) sights: Vec<Sight>,
}

/// A request that went up.
#[derive(Debug, Clone)]
pub(super) struct Received {
    /// The upstream's name.
    pub(super) upstream: String,
    /// Path and query.
    pub(super) path: String,
    /// Its headers.
    pub(super) headers: HeaderMap,
    /// Its body.
    pub(super) body: Bytes,
}

impl Rehearsal {
    /// The gateway of this configuration, but for where its requests go and what it keeps.
    ///
    /// # Errors
    /// [`RehearsalError`]
    pub(super) async fn start(mut config: Config, respond: Box<Respond>) -> Result<Self, RehearsalError> {
        let script = Script::start(respond).await?;
        for upstream in &mut config.upstreams {
            // A path of the base URL goes on standing before every request's.
            let path = upstream.base_url.path().trim_end_matches('/');
            upstream.base_url = format!("http://{}{path}", script.addr()).parse()?;
            upstream.headers.push((UPSTREAM, Secret(upstream.name.clone())));
        }
        config.store = Store::Memory;
        for hook in &mut config.hooks {
            if let Run::ClaudeCode(scripts) = &mut hook.run {
                // They would stand in the store's folder.
                scripts.transcripts = None;
            }
        }
        let witness = Arc::new(Witness::default());
        let stage = app::backstage(config, witness.clone()).await?;
        Ok(Self { stage, script, witness })
    }

    /// Asks, reads the answer to its end, and waits for the hooks that run behind it.
    ///
    /// # Errors
    /// [`RehearsalError`]
    pub(super) async fn ask(&self, asked: Asked) -> Result<Exchange, RehearsalError> {
        let mut request =
            Request::builder().method(Method::POST).uri(&asked.path).body(Body::from(asked.body.clone()))?;
        let headers = request.headers_mut();
        headers.extend(asked.headers.clone());
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, asked.body.len().into());
        let (head, mut body) = self.stage.ask(request).await.into_parts();
        let mut answer = Vec::new();
        // A stream that ends as an error is an answer, too.
        while let Some(Ok(frame)) = body.frame().await {
            answer.extend(frame.into_data().unwrap_or_default());
        }
        drop(body);
        self.stage.settled().await;
        let named = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (session, error) = (named(SESSION_HEADER), named(ERROR_HEADER));
        let (received, sights) = (self.script.take(), self.witness.take());
        Ok(Exchange { asked, session, error, answer: answer.into(), received, sights })
    }

    /// What the slots of a session hold, of all its agents.
    ///
    /// # Errors
    /// When the store can't tell.
    pub(super) async fn slots(&self, session: &str) -> Result<BTreeMap<String, String>, RehearsalError> {
        let records = &self.stage.sessions().records;
        let mut slots = BTreeMap::new();
        for key in records.find(session).await? {
            let record = records.get(&key).await?;
            let held = record.iter().flat_map(|record| &record.slots);
            slots.extend(held.map(|(name, slot)| (name.clone(), slot.text.clone())));
        }
        Ok(slots)
    }
}
