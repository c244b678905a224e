//! The pipeline: what the configuration says of each hook, and what became of it.
use super::Admin;
use super::error::ErrorBody;
use crate::config;
use crate::hooks::pipeline::{Tallied, Tally};
use crate::inspect::Break;
use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// All hooks, in the order of the pipeline.
#[derive(Serialize, ToSchema)]
pub(super) struct Hooks {
    items: Vec<Hook>,
    /// Always null.
    next: Option<String>,
}

/// One hook.
#[derive(Serialize, ToSchema)]
struct Hook {
    #[schema(value_type = String)]
    name: Arc<str>,
    /// With the keys of the file; secrets are masked.
    #[schema(value_type = Object)]
    config: Value,
    /// What became of it on each event, since the start or since its configuration changed.
    events: Vec<OnEvent>,
    /// What it cost of providers' caches since the start.
    cache: Break,
}

/// What became of a hook on one event.
#[derive(Serialize, ToSchema)]
struct OnEvent {
    event: &'static str,
    /// Runs that ended well.
    ran: u64,
    /// Events that it was not for.
    skipped: u64,
    /// Runs that failed.
    failed: u64,
    /// What a run took on average, in microseconds; null while there was none.
    mean_us: Option<u64>,
    /// What it would have done in mode audit, by effect.
    would: BTreeMap<&'static str, u64>,
    /// Its last failure.
    last_failure: Option<Failure>,
}

/// A failure.
#[derive(Serialize, ToSchema)]
struct Failure {
    at: Timestamp,
    what: String,
}

/// The hooks, with what the configuration says of them and what became of them
#[utoipa::path(get, path = "/v1/hooks", tag = "gateway", responses(
    (status = 200, body = Hooks),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn list_hooks(State(admin): State<Arc<Admin>>) -> Json<Hooks> {
    let status = admin.live.status();
    let mut config = config::masked(status.config());
    let written = config.get_mut("hooks").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
    let recorder = status.turns().recorder();
    // Both are in the order of the file.
    let hooks = status.turns().pipeline().tallies().into_iter().zip(written);
    let items = hooks.map(|(Tallied { hook, events }, config)| Hook {
        cache: recorder.breaks(&hook),
        name: hook,
        config,
        events: events.into_iter().map(|(kind, tally)| OnEvent::of(kind.name(), tally)).collect(),
    });
    Json(Hooks { items: items.collect(), next: None })
}

impl OnEvent {
    fn of(event: &'static str, tally: Tally) -> Self {
        let Tally { ran, skipped, failed, took_us, would, last_failure } = tally;
        let mean_us = took_us.checked_div(ran + failed);
        let last_failure = last_failure.map(|(at, what)| Failure { at, what });
        Self { event, ran, skipped, failed, mean_us, would, last_failure }
    }
}
