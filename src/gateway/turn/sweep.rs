//! What happens to sessions that nobody speaks in: `session.end` after idle time, deletion after retention, and the stops
//! that a restart interrupted.
use super::Turns;
use super::occasion::{Occasion, Particulars};
use super::owner::scope_of;
use crate::config::EventKind;
use crate::hooks::FireContext;
use crate::inspect::{News, Recording};
use crate::session::leases::Lease;
use crate::session::record::SessionKey;
use crate::session::records::Found;
use crate::telemetry::names;
use futures_util::{StreamExt, stream};
use http::HeaderMap;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Longest time between two sweeps: an end that is this late disturbs nobody.
const MAX_INTERVAL: Duration = Duration::from_secs(10);
/// Shortest: a sweep reads all records.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// Sweeps per idle time, so that an end is late by a small part of it.
const SWEEPS_PER_IDLE_TIME: u32 = 4;

/// Sessions that are ended or deleted at the same time: one whose hooks hang does not hold up the others.
const WIDTH: usize = 16;

/// `reason` of an end that nobody asked for.
const IDLE: &str = "idle";

impl Turns {
    /// Begins the stops that were pending when the gateway went down. To be called before there are requests: a prompt
    /// waits for the stop of the turn before it, also over a restart.
    pub async fn recover(self: &Arc<Self>) {
        match self.sessions.records.pending(None).await {
            Ok(Found { orphans, here, .. }) => {
                self.clear(here).await;
                self.take_up(orphans).await;
            }
            Err(error) => tracing::error!(%error, "pending stops can't be read"),
        }
    }

    /// How long after a sweep the next one is due.
    pub fn sweep_pause(&self) -> Duration {
        (self.config.sessions.idle_end / SWEEPS_PER_IDLE_TIME).clamp(MIN_INTERVAL, MAX_INTERVAL)
    }

    /// Ends idle sessions and deletes old ones. In a shared store every process does, and also runs the stops of those that
    /// died; a lease makes that each happens once.
    pub async fn sweep(self: &Arc<Self>) {
        if self.is_shared() {
            self.recover().await;
            let now = Timestamp::now();
            self.sessions.answering.all().iter().for_each(|key| self.sessions.records.touch(key, now));
        }
        let (idle_end, retain) = (self.config.sessions.idle_end, self.config.sessions.retain);
        match self.sessions.records.due(Timestamp::now(), idle_end, retain).await {
            Ok(due) => {
                let ending = stream::iter(due.idle).for_each_concurrent(WIDTH, |key| async move {
                    self.end_session(&key, IDLE).await;
                });
                ending.await;
                let deleting = stream::iter(due.expired).for_each_concurrent(WIDTH, |key| async move {
                    self.delete_session(&key).await;
                });
                deleting.await;
            }
            Err(error) => tracing::error!(%error, "sessions can't be swept"),
        }
    }

    /// Ends the activation of a session; false when there is none. What was stored stays until its retention is over, and
    /// a session that speaks again is resumed.
    pub async fn end_session(self: &Arc<Self>, key: &SessionKey, reason: &str) -> bool {
        let _lease = self.lease(key).await;
        let _opening = self.sessions.opening.lock(scope_of(key)).await;
        // Its last turn's stop comes first, so that the end sees what it stored.
        self.stops_passed(key).await;
        let Ok(Some(record)) = self.sessions.records.get(key).await else { return false };
        if record.is_ended() || (reason == IDLE && !self.is_idle_session(key).await) {
            return false;
        }
        let kind = EventKind::SessionEnd;
        let activation = record.activation.to_string();
        let event = Occasion::of_record(&record).event(
            kind,
            Some(&record),
            Particulars { identity: &activation, reason: Some(reason), ..Particulars::default() },
        );
        let context = FireContext { headers: &HeaderMap::new(), deadline: None, recording: &Recording::NONE };
        let reports = self.pipeline.fire(kind, &event, context).await;
        self.apply(record, kind, &reports, |record| record.ended_at = Some(Timestamp::now())).await;
        let by = if reason == IDLE { IDLE } else { "admin" };
        metrics::counter!(names::SESSIONS_ENDED, "reason" => by).increment(1);
        tracing::info!(session = key.id, agent = key.agent, reason, "session ended");
        self.recorder.tell(Some(key), || News::Session { state: "ended" });
        true
    }

    /// Waits for a session that a request of another process has in hand, as long as that may take.
    async fn lease(&self, key: &SessionKey) -> Option<Lease> {
        let patience = Instant::now() + self.config.lifecycle.request_deadline;
        self.sessions.leases.take(scope_of(key), patience).await
    }

    async fn is_idle_session(&self, key: &SessionKey) -> bool {
        !self.sessions.answering.any(key)
            && self.sessions.records.idle_for(key, Timestamp::now()).await >= self.config.sessions.idle_end
    }

    /// Deletes a session with all that belongs to it; false when the store failed, which is logged.
    pub async fn delete_session(&self, key: &SessionKey) -> bool {
        let _lease = self.lease(key).await;
        // What is being opened right now would be deleted in part.
        let _opening = self.sessions.opening.lock(scope_of(key)).await;
        if let Err(error) = self.sessions.conversations.forget(key).await {
            self.sessions.records.report(&error);
        }
        self.pipeline.forget(key).await;
        self.recorder.forget(key);
        if let Err(error) = self.bus.forget(key).await {
            self.sessions.records.report(&error);
        }
        let deleted = self.sessions.records.delete(key).await;
        if let Err(error) = &deleted {
            tracing::error!(session = %key, %error, "a session can't be deleted");
        }
        deleted.is_ok()
    }
}
