//! What is in effect: the configuration, and the gateway and the admin token made of it; and how another takes its place.
//!
//! ```text
//! SIGHUP, POST /v1/config/reload ──┐
//! watch   files changed ───────────┴─► Live::reload ─► config::reload ─► Gateway::under ─► in effect, or refused
//! ```
//!
//! A reload is done as a whole or not at all. A request takes the gateway once, when it begins, and keeps it to its end.
pub mod token;
mod watch;

pub use watch::follow_files;

use crate::config::{self, Config, Files, Loaded, Problems, Source, Unusable};
use crate::gateway::server::{Door, Entrance};
use crate::gateway::turn::Turns;
use crate::gateway::{Edge, Gateway};
use crate::telemetry::names;
use jiff::Timestamp;
use std::sync::Arc;
use token::Token;

/// Versions count the configurations of a process: this is that of the one that it starts with.
const FIRST_VERSION: u64 = 1;

/// The configuration in effect, and what happened to the last one that was to take its place.
#[derive(Clone)]
pub struct Status {
    /// Which it is, counted from 1.
    pub version: u64,
    /// Since when it is in effect.
    pub loaded_at: Timestamp,
    /// The last reload that was refused; `None` if none was.
    pub last_refused: Option<Arc<Refused>>,
    /// What admin requests have to bring.
    pub token: Arc<Token>,
    gateway: Arc<Gateway>,
    source: Source,
    /// What the last try has read.
    files: Files,
}

impl Status {
    /// The configuration.
    pub fn config(&self) -> &Arc<Config> {
        self.turns().config()
    }

    /// The turns under it.
    pub fn turns(&self) -> &Arc<Turns> {
        self.gateway.turns()
    }
}

/// A reload that was not done.
#[derive(Debug)]
pub struct Refused {
    /// When.
    pub at: Timestamp,
    /// Why: one line each, `file:line:col: key: what`.
    pub problems: Vec<String>,
}

/// What is in effect.
pub struct Live {
    edge: Edge,
    entrance: Arc<Entrance>,
    status: tokio::sync::watch::Sender<Arc<Status>>,
    /// Held by the one reload that is under way.
    reloading: tokio::sync::Mutex<()>,
}

impl Live {
    /// The `gateway` and the `token` of a configuration from this source; `entrance`: that of the gateway's listener.
    pub fn new((source, files): (Source, Files), gateway: Gateway, token: Token, entrance: Arc<Entrance>) -> Arc<Self> {
        let edge = gateway.into_service();
        let status = Status {
            version: FIRST_VERSION,
            loaded_at: Timestamp::now(),
            last_refused: None,
            token: Arc::new(token),
            gateway: edge.gateway(),
            source,
            files,
        };
        measure(&status);
        let status = tokio::sync::watch::Sender::new(Arc::new(status));
        Arc::new(Self { edge, entrance, status, reloading: tokio::sync::Mutex::default() })
    }

    /// The gateway as a service.
    pub fn edge(&self) -> Edge {
        self.edge.clone()
    }

    /// What is in effect now.
    pub fn status(&self) -> Arc<Status> {
        self.status.borrow().clone()
    }

    /// The turns that new requests have.
    pub fn turns(&self) -> Arc<Turns> {
        self.status().turns().clone()
    }

    /// Tells of every reload, also of one that is refused.
    pub fn subscribe(&self) -> tokio::sync::watch::Receiver<Arc<Status>> {
        self.status.subscribe()
    }

    /// Reads the configuration again, environment included, and puts it in effect as a whole.
    ///
    /// # Errors
    /// [`Refused`], which is logged: what was in effect stays.
    pub async fn reload(self: &Arc<Self>) -> Result<Arc<Status>, Arc<Refused>> {
        let _one = self.reloading.lock().await;
        let before = self.status();
        // Files are read and conditions compiled.
        let made = tokio::task::spawn_blocking({
            let before = before.clone();
            move || make(&before)
        });
        let made = made.await.unwrap_or_else(|defect| {
            Err(Unusable { problems: Problems::whole(&before.source, defect.to_string()), files: before.files.clone() })
        });
        match made {
            Ok(made) => Ok(self.apply(&before, made)),
            Err(unusable) => Err(self.refuse(&before, unusable)),
        }
    }

    fn apply(&self, before: &Status, made: Made) -> Arc<Status> {
        let Made { gateway, door, token, source, files, warnings } = made;
        self.entrance.replace(door);
        self.entrance.places.fit(&gateway.turns().config().limits);
        self.edge.replace(gateway);
        self.edge.gateway().turns().recorder().fit();
        let status = Arc::new(Status {
            version: before.version + 1,
            loaded_at: Timestamp::now(),
            last_refused: before.last_refused.clone(),
            token,
            gateway: self.edge.gateway(),
            source,
            files,
        });
        self.status.send_replace(status.clone());
        measure(&status);
        metrics::counter!(names::RELOADS, "result" => "ok").increment(1);
        tracing::info!(config = %status.source, version = status.version, "configuration reloaded");
        warn(&warnings);
        status
    }

    fn refuse(&self, before: &Status, Unusable { problems, files }: Unusable) -> Arc<Refused> {
        let refused = Arc::new(Refused { at: Timestamp::now(), problems: problems.lines().collect() });
        self.status.send_replace(Arc::new(Status { last_refused: Some(refused.clone()), files, ..before.clone() }));
        metrics::counter!(names::RELOADS, "result" => "refused").increment(1);
        let version = before.version;
        tracing::warn!(version, "reload refused, the configuration stays as it was: {}", refused.problems.join("; "));
        refused
    }
}

/// Logs what does not stop the gateway.
pub fn warn(warnings: &Problems) {
    for warning in &warnings.list {
        tracing::warn!(config = warnings.file, line = warning.place.line, key = warning.key, "{}", warning.what);
    }
}

/// All that is to take effect.
struct Made {
    gateway: Gateway,
    door: Door,
    token: Arc<Token>,
    source: Source,
    files: Files,
    warnings: Problems,
}

fn make(before: &Status) -> Result<Made, Unusable> {
    let old = before.config();
    let Loaded { config, source, warnings, files } = config::reload(&before.source, &config::process_env, old)?;
    let unusable = |what: String| Unusable { problems: Problems::whole(&source, what), files: files.clone() };
    let token = if config.admin.token == old.admin.token {
        before.token.clone()
    } else {
        Arc::new(Token::obtain(&config).map_err(|error| unusable(format!("no randomness: {error}")))?)
    };
    let door = Door::new(&config).map_err(|error| unusable(format!("TLS: {error}")))?;
    let gateway = before.gateway.under(Arc::new(config)).map_err(|error| unusable(error.to_string()))?;
    Ok(Made { gateway, door, token, source, files, warnings })
}

#[allow(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^52")]
fn measure(status: &Status) {
    metrics::gauge!(names::CONFIG_VERSION).set(status.version as f64);
    metrics::gauge!(names::CONFIG_LOADED).set(status.loaded_at.as_second() as f64);
}
