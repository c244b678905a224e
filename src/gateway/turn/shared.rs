//! What is different where several gateways share a store (see [`crate::session::store::shared`]).
use super::ending::Ending;
use super::{TurnError, Turns};
use crate::config::{self, EventKind, Hook, Mode, OnError, OnStoreError};
use crate::context::Digest;
use crate::inspect::Recording;
use crate::session::conversation::{Change, Live};
use crate::session::record::SessionKey;
use crate::session::records::{Found, Pending};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;

/// Events that are told of a session's turn alone, where a failure (`on_error: block`) stops the turn.
const GUARDED: [EventKind; 4] =
    [EventKind::SessionStart, EventKind::PromptSubmit, EventKind::ToolResult, EventKind::ToolCall];

/// How often to look whether a stop that runs elsewhere has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

impl Turns {
    /// Whether other processes serve the same sessions.
    pub(super) fn is_shared(&self) -> bool {
        self.sessions.records.store().shared().is_some()
    }

    /// That the store can be reached, where a request must not go up without.
    ///
    /// # Errors
    /// [`TurnError::NoStore`].
    pub(super) fn needs_store(&self) -> Result<(), TurnError> {
        let refuses = matches!(self.config.store, config::Store::Redis { on_error: OnStoreError::Refuse, .. });
        match self.sessions.records.store().shared() {
            Some(shared) if refuses && !shared.is_up() => Err(TurnError::NoStore),
            _ => Ok(()),
        }
    }

    /// Whether a hook may not be left out of a turn: one that can't be asked for want of a session has failed.
    pub(super) fn has_guards(&self) -> bool {
        let guards = |hook: &Hook| hook.mode == Mode::Enforce && hook.on_error == OnError::Block;
        self.config.hooks.iter().any(|hook| guards(hook) && hook.on.iter().any(|event| GUARDED.contains(event)))
    }

    /// Stores the nodes of an answer before its client sees the end: its next request may come to another gateway.
    pub(super) fn store_answer(self: &Arc<Self>, live: &Arc<Live>, nodes: Vec<Digest>) -> BoxFuture<'static, ()> {
        let (turns, live) = (self.clone(), live.clone());
        async move { turns.commit(&live, Change { nodes, ..Change::default() }).await }.boxed()
    }

    /// Returns when no stop of `key` runs, here or elsewhere. Those of a process that died are run here.
    pub(super) async fn stops_passed(self: &Arc<Self>, key: &SessionKey) {
        loop {
            self.sessions.barrier.passed(key).await;
            if !self.is_shared() || !self.pipeline.has(EventKind::SessionStop) {
                return;
            }
            let pending = self.sessions.records.pending(Some(key)).await;
            let Ok(Found { orphans, elsewhere, .. }) = pending.inspect_err(|error| {
                tracing::warn!(session = %key, %error, "whether a stop runs elsewhere is not known");
            }) else {
                return;
            };
            match (orphans.is_empty(), elsewhere) {
                (true, false) => return,
                (true, true) => tokio::time::sleep(LOOK_AGAIN).await,
                (false, _) => self.take_up(orphans).await,
            }
        }
    }

    /// Stops of this process that have run, but could not be taken out of the store then: others would wait for them.
    pub(super) async fn clear(&self, here: Vec<Pending>) {
        for Pending { at, payload } in here {
            let ending = serde_json::from_slice::<Ending>(&payload);
            if ending.is_ok_and(|ending| !self.sessions.barrier.is_up(&ending.occasion.session)) {
                self.forget(&at).await;
            }
        }
    }

    /// Begins stops whose process went down before they had ended.
    pub(super) async fn take_up(self: &Arc<Self>, orphans: Vec<Pending>) {
        for Pending { at, payload } in orphans {
            match serde_json::from_slice::<Ending>(&payload) {
                Ok(ending) => {
                    tracing::info!(session = ending.occasion.session.id, "running a stop that a restart interrupted");
                    // Earlier versions had another place for it.
                    if at != ending.place() {
                        self.clone().remember(ending.clone()).await;
                        self.forget(&at).await;
                    }
                    let running = self.sessions.barrier.raise(&ending.occasion.session);
                    self.end(ending, Arc::new(HeaderMap::new()), running, Recording::NONE);
                }
                Err(error) => {
                    let at = String::from_utf8_lossy(&at);
                    tracing::error!(%error, %at, "a pending stop can't be read; it is dropped");
                    self.forget(at.as_bytes()).await;
                }
            }
        }
    }
}
