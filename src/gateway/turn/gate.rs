//! The gate of an answer: what it takes to hold it to its tools and to continue it, and to remember that in the ledger.
use super::Turns;
use super::again::Origin;
use super::identify::Identity;
use super::joined::Joined;
use super::read::Read;
use crate::config::EventKind;
use crate::context::{Answer, Binding, Delta, Roster};
use crate::dialect::DialectId;
use crate::session::anchor::Anchor;
use crate::session::conversation::{Change, GoesOn, Live};
use crate::session::ledger::{Entry, What};
use crate::session::store::StoreError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::sync::Arc;

/// What it takes to hold an answer to its tools and to continue it, and to remember that.
pub(super) struct Gate {
    /// To send the request again.
    pub(super) origin: Origin,
    /// The item that the answer stands behind; `None` where the provider holds the history.
    anchor: Option<Anchor>,
    /// The client names this answer in a later request.
    is_named: bool,
    /// The provider's conversation that the answer goes into, where the client names that.
    conversation: Option<String>,
    pub(super) joined: Arc<Mutex<Joined>>,
    /// What its calls are held to; `None`: whatever the model calls passes.
    pub(super) binding: Option<Arc<Binding>>,
    /// A rule wants it held: it does not go down otherwise.
    pub(super) must_hold: bool,
    /// Whether it may have further legs.
    pub(super) may_go_on: bool,
}

impl Gate {
    /// Of this request; `None` where it passes as it comes.
    /// Never continued: an answer of a shape that the client parses as a whole, since two of them are none; one of several;
    /// one that goes on with the client's own beginning of it.
    pub(super) fn of(turns: &Arc<Turns>, read: &Read, identity: &Identity, binding: Binding) -> Option<Self> {
        let view = &read.view;
        let may_go_on = !view.structured && view.choices <= 1 && identity.chain.is_open(view);
        let asks = may_go_on && (turns.pipeline.has(EventKind::SessionStopping) || turns.may_get_mail(&identity.key));
        let conversation = match &view.delta {
            Some(Delta::Conversation(id)) => Some(id.clone()),
            _ => None,
        };
        let binds = binding.asks || !matches!(binding.tools, Roster::Any);
        if !asks && !binds {
            return None;
        }
        let behind = if view.is_delta() { None } else { read.answered_item() };
        Some(Self {
            origin: Origin::of(turns, read, Some(&identity.key)),
            anchor: behind.and_then(|item| identity.anchors.at(view, item)),
            is_named: read.endpoint().dialect == DialectId::Responses
                || matches!(view.delta, Some(Delta::ThreadCreate | Delta::ThreadContinue(_))),
            conversation: conversation.filter(|_| binds),
            joined: Arc::default(),
            must_hold: turns.pipeline.has(EventKind::ToolCall) || !matches!(binding.tools, Roster::Any),
            binding: binds.then(|| Arc::new(binding)),
            may_go_on,
        })
    }

    /// Remembers of what legs the client's message is made, and what calls it does not show: the ledger puts the model's
    /// own words into later requests. Messages that were told in them are delivered then, in the turn of this number.
    pub(super) fn keep(&self, live: &Arc<Live>, answer: &Answer, number: u64) -> Option<BoxFuture<'static, ()>> {
        let Self { anchor, is_named, conversation, joined, .. } = self;
        let kept = joined.lock().take();
        if kept.legs.is_empty() && kept.restored.is_empty() && conversation.is_none() {
            return None;
        }
        let owed = kept.owed();
        let last = kept.newest.clone().or_else(|| answer.id.clone());
        let goes_on = answer.id.clone().zip(last).filter(|_| *is_named);
        let goes_on = goes_on.filter(|(first, last)| first != last || !owed.is_empty());
        // What a conversation is owed is told once: behind an answer that owes nothing, nothing is.
        let conversation = conversation.clone().map(|id| (id.clone(), GoesOn { id, owed: owed.clone() }));
        let goes_on: Vec<_> =
            goes_on.map(|(first, id)| (first, GoesOn { id, owed })).into_iter().chain(conversation).collect();
        let link = answer.link();
        let mail = kept.mail;
        let messages = mail.iter().flat_map(|mail| mail.ids().iter().cloned()).collect();
        let whats = [
            (!kept.legs.is_empty()).then(|| What::Joined { legs: kept.legs.into(), answer: link, messages }),
            (!kept.restored.is_empty()).then(|| What::Restored { calls: kept.restored.into(), answer: link }),
        ];
        let anchor = anchor.clone();
        let entries = whats.into_iter().flatten().filter_map(move |what| Some(Entry { anchor: anchor.clone()?, what }));
        let (turns, live, entries) = (self.origin.turns.clone(), live.clone(), entries.collect());
        let keeping = async move {
            turns.keep_legs(&live, entries, goes_on).await;
            for mail in mail {
                turns.delivered(mail, number).await;
            }
        };
        Some(keeping.boxed())
    }
}

impl Turns {
    /// Stores what later requests have to hold of an answer, and how the provider goes on behind it.
    async fn keep_legs(&self, live: &Live, entries: Vec<Entry>, goes_on: Vec<(String, GoesOn)>) {
        if !entries.is_empty() {
            let dropped = {
                let mut state = live.state.lock();
                entries.into_iter().flat_map(|entry| state.ledger.push(entry)).collect()
            };
            self.commit(live, Change { dropped, ..Change::default() }).await;
        }
        for (first, goes_on) in goes_on {
            if let Err(error) = self.keep_going_on(live, &first, goes_on).await {
                self.sessions.records.report(&error);
            }
        }
    }

    /// Where nothing is owed, and nothing was, there is nothing to note.
    async fn keep_going_on(&self, live: &Live, first: &str, goes_on: GoesOn) -> Result<(), StoreError> {
        let conversations = &self.sessions.conversations;
        if goes_on == GoesOn::behind(first) && conversations.successor(&live.key, first).await?.is_none() {
            return Ok(());
        }
        conversations.succeed(live, first, goes_on).await
    }
}
