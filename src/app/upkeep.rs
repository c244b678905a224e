//! What goes on beside requests, until the admin listener drains.
use super::listening::Listening;
use crate::knowledge::KnowledgeError;
use crate::live::{Live, follow_files};
use crate::session::records::FLUSH_EVERY;
use crate::session::store::keys;
use crate::session::store::shared::{News, Shared};
use crate::telemetry::metrics::Exporter;
use crate::telemetry::names;
use std::sync::Arc;
use std::time::Duration;

/// How often histogram buffers are emptied while nobody scrapes.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// How often old mailboxes are looked for: they are kept for days, and disturb nobody.
const TIDY: Duration = Duration::from_secs(60 * 60);

/// How soon to try again to read what others have changed in a shared store.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Starts all of it beside the listener.
pub(super) fn start(beside: &Listening, exporter: Exporter, live: &Arc<Live>) {
    beside.beside(upkeep(exporter, live.clone()));
    beside.beside(sweep(live.clone()));
    beside.beside(flush(live.clone()));
    beside.beside(follow_files(live.clone()));
    beside.beside(live.turns().knowledge().clone().follow());
    beside.beside(tidy(live.clone()));
    beside.beside(follow_store(live.clone()));
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

/// What other processes change in a shared store and this one has in memory.
async fn follow_store(live: Arc<Live>) {
    let (bus, knowledge) = (live.turns().bus().clone(), live.turns().knowledge().clone());
    let store = live.turns().sessions().records.store().clone();
    let Some(mut feed) = store.shared().map(Shared::feed) else { return };
    loop {
        match feed.next().await {
            News::Changed(changed) => {
                for key in changed {
                    match keys::mailbox_of(&key) {
                        Some(mailbox) => bus.refresh(&mailbox).await,
                        None => knowledge.refresh(&key).await,
                    }
                }
            }
            News::Missed => {
                let all =
                    async || bus.refresh_all().await.map_err(KnowledgeError::from).and(knowledge.refresh_all().await);
                while let Err(error) = all().await {
                    tracing::error!(%error, "what others have changed can't be read");
                    tokio::time::sleep(READ_AGAIN).await;
                }
            }
        }
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
