//! The bus of a gateway, and how messages get into it.
use super::known::{Known, Sighting};
use super::letters::{Accepted, Letters};
use super::mailbox::Mailbox;
use super::message::{Message, Origin, State, Written};
use super::table::Mailboxes;
use super::{BusError, Refusal, fault, throttle};
use crate::config::Inspect;
use crate::inspect::{News, Recorder};
use crate::session::record::{SessionKey, Tenant};
use crate::session::records::Records;
use crate::session::store::{Store, StoreError, keys};
use crate::telemetry::names;
use jiff::Timestamp;
use std::sync::Arc;

/// Mailboxes read from the store at once.
pub(super) const PAGE: usize = 1024;

/// The bus of a gateway.
pub struct Bus {
    pub(super) store: Arc<dyn Store>,
    pub(super) records: Arc<Records>,
    pub(super) mailboxes: Mailboxes,
    pub(super) known: Known,
    /// Tells who watches of messages.
    pub(super) recorder: Recorder,
}

/// What became of a message that was taken in, for one of those who were meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The message; `None`: it was here before, and its receipt is gone.
    pub message: Option<Message>,
    /// It was taken in just now.
    pub is_new: bool,
}

impl std::fmt::Debug for Bus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bus").field("mailboxes", &self.mailboxes.len()).finish_non_exhaustive()
    }
}

impl Bus {
    /// With the mailboxes that the store holds.
    ///
    /// # Errors
    /// When the store can't be read. A mailbox that can't be read is left alone and named in the log.
    pub async fn open(records: Arc<Records>) -> Result<Self, StoreError> {
        let bus = Self {
            store: records.store().clone(),
            records,
            mailboxes: Mailboxes::default(),
            known: Known::new(),
            recorder: Recorder::new(Inspect::NONE),
        };
        let mut after = None;
        loop {
            let page = bus.store.scan(keys::MAILBOXES, after.take(), PAGE).await?;
            for (key, value) in &page {
                let Some(key) = keys::mailbox_of(key) else { continue };
                match Letters::decode(value) {
                    Ok(letters) => drop(bus.mailboxes.keep(Arc::new(Mailbox::new(key, &letters)))),
                    Err(error) => tracing::error!(session = %key, error, "a mailbox can't be read; it is left alone"),
                }
            }
            match page.len() {
                PAGE => after = page.last().map(|(key, _)| key.clone()),
                _ => return Ok(bus),
            }
        }
    }

    /// Messages are shown by this.
    #[must_use]
    pub fn telling(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }

    /// Notes the agent of a request.
    pub fn note(
        &self,
        sighting: Sighting<'_>,
        tenant: impl FnOnce() -> Tenant,
        label: impl FnOnce() -> Option<String>,
    ) {
        self.known.note(sighting, tenant, label);
    }

    /// Whether anybody ever got a message.
    pub fn is_used(&self) -> bool {
        self.mailboxes.is_used()
    }

    /// Whether an agent of this name, of any tenant, ever got a message.
    pub fn has_addressed(&self, session: &str, agent: &str) -> bool {
        self.mailboxes.has_addressed(session, agent)
    }

    /// Whether a session whose client sends no id ever got a message.
    pub fn has_addressed_nameless(&self) -> bool {
        self.mailboxes.has_addressed_nameless()
    }

    /// The mailbox of a session, if it ever got a message.
    pub fn mailbox(&self, key: &SessionKey) -> Option<Arc<Mailbox>> {
        if !self.is_used() {
            return None;
        }
        self.mailboxes.find(key).filter(|mailbox| mailbox.is_addressed())
    }

    /// Sends a message to agents of a session; `agents` as in [`super::address::Agents::parse`]. One receipt for each, or why it was not
    /// taken in; none where nobody is meant.
    ///
    /// # Errors
    /// When the message is not one, or records can't be looked up.
    pub async fn send(
        &self,
        tenant: &Tenant,
        session: &str,
        agents: &str,
        written: Written,
        origin: &Origin,
    ) -> Result<Vec<(SessionKey, Result<Receipt, BusError>)>, BusError> {
        let message = written.checked(origin, Timestamp::now())?;
        let mut receipts = Vec::new();
        for to in self.meant(tenant, session, agents).await? {
            let receipt = self.enqueue(&to, message.clone(), origin).await;
            receipts.push((to, receipt));
        }
        Ok(receipts)
    }

    /// [`Bus::send`] to a session that there is: one that nobody has seen is no way to leave messages for later.
    ///
    /// # Errors
    /// As there, and when there is no such session of this tenant.
    pub async fn send_within(
        &self,
        tenant: &Tenant,
        session: &str,
        agents: &str,
        written: Written,
        origin: &Origin,
    ) -> Result<Vec<(SessionKey, Result<Receipt, BusError>)>, BusError> {
        if self.candidates(session, Some(tenant)).await?.is_empty() {
            return Err(Refusal::NoSession(session.to_owned()).into());
        }
        self.send(tenant, session, agents, written, origin).await
    }

    /// Puts a message into a mailbox. Durable when it returns.
    async fn enqueue(&self, to: &SessionKey, message: Message, origin: &Origin) -> Result<Receipt, BusError> {
        let mailbox = self.mailboxes.made(to)?;
        let hops = self.sender(to, &message, origin).map_or(Ok(0), |from| {
            let got = self.mailboxes.find(&from).map_or(0, |mailbox| mailbox.hops());
            throttle::next(&from, to, got)
        });
        fault::at("enqueue");
        let now = Timestamp::now();
        let id = message.id.clone();
        let accepted = self
            .change(&mailbox, |letters| match &hops {
                Ok(hops) => letters.accept(to, Message { hops: *hops, ..message.clone() }, now),
                Err(refusal) => {
                    letters.refuse(message.clone(), refusal);
                    Err(refusal.clone())
                }
            })
            .await?;
        self.keep_changed(mailbox).await;
        fault::at("queued");
        let accepted = accepted.inspect_err(|_| count("refused"))?;
        let (is_new, message) = match accepted {
            Accepted::New => {
                count("queued");
                self.recorder.tell(Some(to), || News::Message { id: &id, state: "queued" });
                tracing::debug!(session = %to, message = id, from = message.from, kind = message.kind.name(), "a message was taken in");
                (true, Some(message))
            }
            Accepted::Known(known) => (false, known),
        };
        Ok(Receipt { message, is_new })
    }

    /// A mailbox that was forgotten while something waited to be put into it is there again.
    async fn keep_changed(&self, mailbox: Arc<Mailbox>) {
        let kept = self.mailboxes.keep(mailbox.clone());
        if !Arc::ptr_eq(&kept, &mailbox)
            && let Err(error) = self.refresh(&kept.key).await
        {
            self.records.report(&error);
        }
    }
}

impl Receipt {
    /// The state's name.
    pub fn state(&self) -> &'static str {
        self.message.as_ref().map_or(State::Expired.name(), |message| message.state.name())
    }
}

/// Counts what became of a message.
pub(super) fn count(state: &'static str) {
    metrics::counter!(names::MESSAGES, "state" => state).increment(1);
}

#[cfg(test)]
mod tests;
