//! Messages for the session: claimed by a request of a turn, shown in it, delivered once the upstream has accepted it.
use super::Turns;
use super::identify::Identity;
use super::read::Read;
use crate::bus::{BusError, Carrying, Mailbox, Message, Taking, fault, frame};
use crate::context::placement::{Placed, TextKind};
use crate::context::{Place, Step};
use crate::session::anchor::Anchor;
use crate::session::conversation::Change;
use crate::session::conversations::NodeOwner;
use crate::session::ledger::{Entry, What};
use std::sync::Arc;

/// Where the text of a message comes from, in the ledger and in logs.
const SOURCE: &str = "session-bus";

impl Turns {
    /// Claims what waits for the session and records where it stands. Without a mailbox this is one look into a table.
    pub(super) async fn deliver(&self, read: &Read, identity: &mut Identity) {
        let Some(mailbox) = self.bus.mailbox(&identity.key) else { return };
        // What starts a sub-agent's turn is another agent.
        if matches!(read.view.step, Step::Prompt { .. }) && identity.parent.is_none() {
            self.bus.hear_person(&mailbox).await;
        }
        if !mailbox.has_waiting() {
            return;
        }
        match self.claim(read, identity, &mailbox).await {
            Ok(mail) => identity.mail = mail,
            Err(error) => {
                tracing::error!(session = %identity.key, %error, "messages wait: they can't be claimed now");
            }
        }
    }

    async fn claim(
        &self,
        read: &Read,
        identity: &Identity,
        mailbox: &Arc<Mailbox>,
    ) -> Result<Option<Carrying>, BusError> {
        let live = identity.live.clone();
        // A retry that waited here finds what the first one placed.
        let _gate = live.gate.lock().await;
        let (standing, turn_id) = {
            let state = live.state.lock();
            let turn_id = state.record.turn.as_ref().map(|turn| turn.id.clone()).unwrap_or_default();
            (state.ledger.standing(&read.view, &identity.anchors), turn_id)
        };
        let place = place(read, identity);
        let taking = Taking {
            conversation: &live.id,
            turn_id: &turn_id,
            standing: &standing,
            has_room: place.is_some(),
            urgent: false,
            only_new: false,
        };
        let void = self.bus.void(mailbox, taking).await?;
        self.take_out(identity, &void).await?;
        let Some((carrying, fresh)) = self.bus.take(mailbox, taking).await? else { return Ok(None) };
        if let Some(anchor) = place.filter(|_| !fresh.is_empty()) {
            let what = What::Messages {
                ids: fresh.iter().map(|message| message.id.clone()).collect(),
                texts: fresh.iter().map(placed).collect(),
            };
            self.record(identity, vec![Entry { anchor, what }]).await;
            fault::at("recorded");
        }
        Ok(Some(carrying))
    }

    /// Takes messages out of the ledgers that were to show them: their requests came to nothing, and this one does not hold
    /// their place.
    async fn take_out(&self, identity: &Identity, void: &[(String, String)]) -> Result<(), BusError> {
        let mut conversations: Vec<&str> = void.iter().map(|(_, conversation)| conversation.as_str()).collect();
        conversations.sort_unstable();
        conversations.dedup();
        for conversation in conversations {
            let is_own = conversation == identity.live.id;
            let live = match is_own {
                true => Some(identity.live.clone()),
                false => {
                    let owner = NodeOwner { session: identity.key.clone(), conversation: conversation.to_owned() };
                    self.sessions.conversations.get(&owner).await?
                }
            };
            let Some(live) = live else { continue };
            let ids: Vec<&str> = void.iter().filter(|(_, c)| c == conversation).map(|(id, _)| id.as_str()).collect();
            let rewritten = live.state.lock().ledger.void(&ids, is_own);
            if !rewritten.is_empty() {
                self.sessions.conversations.commit(&live, Change { rewritten, ..Change::default() }).await?;
            }
        }
        Ok(())
    }

    /// The upstream has accepted the request that shows them.
    pub(super) async fn delivered(&self, mail: Carrying, turn: u64) {
        if let Err(error) = self.bus.deliver(mail, turn).await {
            tracing::error!(%error, "a delivered message can't be noted as such; its next request notes it");
        }
    }
}

/// Where a message goes: behind the prompt, or inside the last result of a tool step.
fn place(read: &Read, identity: &Identity) -> Option<Anchor> {
    let item = read.answered_item()?;
    let anchor = identity.anchors.at(&read.view, item)?;
    let trial = Place::ItemEnd { item, texts: vec![SOURCE.to_owned()] };
    read.dialect().lower(&read.doc, &read.view, &[trial]).is_ok().then_some(anchor)
}

fn placed(message: &Message) -> Placed {
    Placed { source: SOURCE.to_owned(), kind: TextKind::Ephemeral, text: frame::framed(message), version: None }
}
