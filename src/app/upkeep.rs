//! What goes on beside requests, until the admin listener drains.
use super::listening::Listening;
use super::shared_store;
use crate::live::{Live, follow_files};
use crate::session::records::FLUSH_EVERY;
use crate::telemetry::metrics::Exporter;
use crate::telemetry::names;
use std::sync::Arc;
use std::time::Duration;

/// How often histogram buffers are emptied while nobody scrapes.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// How often old mailboxes are looked for: they are kept for days, and disturb nobody.
const TIDY: Duration = Duration::from_secs(60 * 60);

/// Starts all of it beside the listener.
pub(super) fn start(beside: &Listening, exporter: Exporter, live: &Arc<Live>) {
    beside.beside(upkeep(exporter, live.clone()));
    beside.beside(sweep(live.clone()));
    beside.beside(flush(live.clone()));
    beside.beside(follow_files(live.clone()));
    beside.beside(live.turns().knowledge().clone().follow());
    beside.beside(tidy(live.clone()));
    let turns = live.turns();
    let store = turns.sessions().records.store().clone();
    beside.beside(shared_store::follow(store, turns.bus().clone(), turns.knowledge().clone()));
}

async fn sweep(live: Arc<Live>) {
    let mut reloads = live.subscribe();
    loop {
        let pause = {
            let turns = live.turns();
            turns.sweep().await;
            turns.sweep_pause()
        };
        // A reload may have made the idle time shorter.
        let _ = tokio::time::timeout(pause, reloads.changed()).await;
    }
}

async fn flush(live: Arc<Live>) {
    let mut ticks = tokio::time::interval(FLUSH_EVERY);
    loop {
        ticks.tick().await;
        live.turns().sessions().records.flush().await;
    }
}

/// Mailboxes of sessions that have no record, and so no sweep.
async fn tidy(live: Arc<Live>) {
    let mut ticks = tokio::time::interval(TIDY);
    loop {
        ticks.tick().await;
        let turns = live.turns();
        turns.bus().sweep(turns.config().sessions.retain).await;
    }
}

async fn upkeep(exporter: Exporter, live: Arc<Live>) {
    let mut ticks = tokio::time::interval(METRICS_UPKEEP);
    let sessions = metrics::gauge!(names::SESSIONS_CACHED);
    loop {
        ticks.tick().await;
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^52 sessions")]
        sessions.set(live.turns().sessions().records.cached() as f64);
        exporter.upkeep();
    }
}
