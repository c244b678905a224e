//! A message's way into a request: claimed, shown, delivered when the upstream has accepted it.
use super::letters::{Claim, MAX_PER_DELIVERY};
use super::mailbox::Mailbox;
use super::message::Message;
use super::post::count;
use super::{Bus, BusError, fault};
use crate::inspect::News;
use jiff::Timestamp;
use std::sync::Arc;

/// What a request takes from a mailbox.
#[derive(Debug, Clone, Copy)]
pub struct Taking<'a> {
    /// Its conversation.
    pub conversation: &'a str,
    /// Its turn's id.
    pub turn_id: &'a str,
    /// Ids of messages that it shows already.
    pub standing: &'a [String],
    /// Whether it has a place for others.
    pub has_room: bool,
    /// Only those for which a turn goes on.
    pub urgent: bool,
    /// Only those that no request has claimed before.
    pub only_new: bool,
}

impl<'a> Taking<'a> {
    fn claim(&self, by: Option<&'a str>) -> Claim<'a> {
        let room = if self.has_room { MAX_PER_DELIVERY } else { 0 };
        Claim {
            conversation: self.conversation,
            turn_id: self.turn_id,
            by,
            standing: self.standing,
            room,
            urgent: self.urgent,
            only_new: self.only_new,
        }
    }
}

/// Messages that a request under way shows. Until it is delivered or dropped no other request takes them.
#[derive(Debug)]
pub struct Carrying {
    bus: Arc<Bus>,
    mailbox: Arc<Mailbox>,
    ids: Vec<String>,
    turn_id: String,
    is_delivered: bool,
}

impl Carrying {
    /// Their ids.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }
}

impl Drop for Carrying {
    fn drop(&mut self) {
        self.mailbox.land(&self.ids);
        if !self.is_delivered {
            self.bus.let_go(&self.mailbox, std::mem::take(&mut self.ids));
        }
    }
}

impl Bus {
    /// Claimed messages whose request is not under way and that do not stand in this one, each with the conversation whose
    /// ledger may hold them. They are to be taken out there before [`Bus::take`], so that no history ever shows them twice.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn void(&self, mailbox: &Mailbox, taking: Taking<'_>) -> Result<Vec<(String, String)>, BusError> {
        let _writing = mailbox.writing.lock().await;
        let elsewhere = self.elsewhere(mailbox).await?;
        let is_flying = |message: &Message| mailbox.is_flying(&message.id) || elsewhere.has(message);
        self.change_held(mailbox, &mut |letters| letters.void(&taking.claim(self.process()), is_flying)).await
    }

    /// Claims messages for a request: what it shows already, and at most three in all. Those that are to be placed, and what
    /// keeps all of them from other requests; `None`: there is nothing.
    ///
    /// # Errors
    /// When the store fails; nothing is claimed then that is not found again.
    pub async fn take(
        self: &Arc<Self>,
        mailbox: &Arc<Mailbox>,
        taking: Taking<'_>,
    ) -> Result<Option<(Carrying, Vec<Message>)>, BusError> {
        let writing = mailbox.writing.lock().await;
        let elsewhere = self.elsewhere(mailbox).await?;
        let is_flying = |message: &Message| mailbox.is_flying(&message.id) || elsewhere.has(message);
        let now = Timestamp::now();
        let claimed = self
            .change_held(mailbox, &mut |letters| letters.claim(&taking.claim(self.process()), now, is_flying))
            .await?;
        let ids: Vec<String> = claimed.standing.iter().chain(&claimed.fresh).map(|m| m.id.clone()).collect();
        if ids.is_empty() {
            return Ok(None);
        }
        mailbox.take_off(taking.conversation, ids.iter());
        drop(writing);
        fault::at("claimed");
        let turn_id = taking.turn_id.to_owned();
        let carrying = Carrying { bus: self.clone(), mailbox: mailbox.clone(), ids, turn_id, is_delivered: false };
        Ok(Some((carrying, claimed.fresh)))
    }

    /// The upstream has accepted the request: these messages are delivered, in the session's turn of this number.
    ///
    /// # Errors
    /// When the store fails. They stay claimed then, and stand in the next request, too.
    pub async fn deliver(&self, mut carrying: Carrying, turn: u64) -> Result<(), BusError> {
        fault::at("accepted");
        let now = Timestamp::now();
        self.change(&carrying.mailbox, |letters| letters.deliver(&carrying.ids, (turn, &carrying.turn_id), now))
            .await?;
        carrying.is_delivered = true;
        fault::at("delivered");
        for id in &carrying.ids {
            count("delivered");
            self.recorder.tell(Some(&carrying.mailbox.key), || News::Message { id, state: "delivered" });
            tracing::info!(session = %carrying.mailbox.key, message = id, turn, "a message was delivered");
        }
        Ok(())
    }
}
