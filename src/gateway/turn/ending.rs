//! What follows a turn: `session.stop` when it was completed and delivered, `session.fail` when it was not.
use super::Turns;
use super::occasion::{Occasion, Particulars, TurnEnd};
use crate::config::EventKind;
use crate::hooks::FireContext;
use crate::inspect::Recording;
use crate::session::barrier::Running;
use crate::session::store::keys;
use bytes::Bytes;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The events at the end of a turn.
const ENDS: [EventKind; 3] = [EventKind::SessionStopping, EventKind::SessionStop, EventKind::SessionFail];

/// A stop or fail that has to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ending {
    /// Whose.
    pub occasion: Occasion,
    /// How.
    pub turn: TurnEnd,
    /// Why it failed; `None` for a stop.
    pub reason: Option<String>,
}

impl Ending {
    /// The event that it fires.
    pub(super) fn kind(&self) -> EventKind {
        if self.reason.is_some() { EventKind::SessionFail } else { EventKind::SessionStop }
    }

    /// What makes it this ending: a regenerated answer to one prompt ends the turn once more.
    fn identity(&self) -> String {
        format!("{}/{}", self.turn.id, self.turn.message_id.as_deref().unwrap_or_default())
    }

    /// Where it stands in the store.
    pub(super) fn place(&self) -> Vec<u8> {
        keys::pending(&self.occasion.session, &self.id())
    }

    /// Its name in the store.
    fn id(&self) -> String {
        let key = &self.occasion.session;
        crate::hooks::event_id(&[&key.tenant.0, &key.id, &key.agent, self.kind().name(), &self.identity()])
    }
}

impl Turns {
    /// Whether a hook listens to the end of turns.
    pub(super) fn ends(&self) -> bool {
        ENDS.into_iter().any(|kind| self.pipeline.has(kind))
    }

    /// The client's headers, as far as hooks that run with the answer or behind it read them. They are slices of the
    /// connection's read buffer, and would keep all of it for as long as the stream lasts.
    pub(super) fn kept_headers(&self, headers: &Arc<HeaderMap>) -> Arc<HeaderMap> {
        let reads = self.pipeline.reads_headers(&ENDS) || self.pipeline.reads_headers(&[EventKind::ToolCall]);
        if reads { headers.clone() } else { Arc::default() }
    }

    /// Stores a stop before its turn's end is written to the client: a crash from here on runs it after the restart.
    pub(super) async fn remember(self: Arc<Self>, ending: Ending) {
        match serde_json::to_vec(&ending) {
            Ok(payload) => {
                if let Err(error) = self
                    .sessions
                    .records
                    .put_pending(&ending.occasion.session, &ending.id(), Bytes::from(payload))
                    .await
                {
                    tracing::error!(%error, "a pending stop can't be stored; it runs unless the gateway dies before");
                }
            }
            Err(error) => {
                tracing::error!(%error, "a pending stop can't be written; it runs unless the gateway dies before")
            }
        }
    }

    /// Runs the hooks and stores what they say; then the session's next prompt may go on.
    pub(super) fn end(
        self: &Arc<Self>,
        ending: Ending,
        headers: Arc<HeaderMap>,
        mut running: Running,
        recording: Recording,
    ) {
        let turns = self.clone();
        self.tasks.spawn(async move {
            // Bounded as a prompt's wait is: an end that is never taken by its client must not hold up those behind it.
            let patience = turns.config.lifecycle.request_deadline;
            if tokio::time::timeout(patience, running.in_order()).await.is_err() {
                tracing::warn!(session = %ending.occasion.session, "an earlier stop still runs; the next one does not wait longer");
            }
            turns.run(&ending, &headers, &recording).await;
            drop(running);
        });
    }

    /// The hooks of one ending, without waiting or being waited for.
    pub(super) async fn run(&self, ending: &Ending, headers: &HeaderMap, recording: &Recording) {
        let kind = ending.kind();
        let key = &ending.occasion.session;
        if let Ok(Some(record)) = self.sessions.records.get(key).await {
            let identity = ending.identity();
            let reason = ending.reason.as_deref();
            let particulars =
                Particulars { identity: &identity, turn: Some(&ending.turn), reason, ..Particulars::default() };
            let event = ending.occasion.event(kind, Some(&record), particulars);
            let reports = self.pipeline.fire(kind, &event, FireContext { headers, deadline: None, recording }).await;
            self.apply(record, kind, &reports, |_| {}).await;
        }
        if kind == EventKind::SessionStop {
            self.forget(&ending.place()).await;
        }
    }

    /// The pending stop that stands there was run, or is void.
    pub(super) async fn forget(&self, at: &[u8]) {
        if let Err(error) = self.sessions.records.take_pending(at).await {
            tracing::error!(%error, "a pending stop can't be removed; it may run once more after a restart");
        }
    }

    /// Waits until every hook that nobody waits for has ended.
    pub async fn drained(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
