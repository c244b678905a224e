//! Takes messages in, and tells what became of them.
use super::address::{Agents, Candidate, meant};
use super::fault;
use super::known::{Known, Sighting};
use super::letters::{Accepted, Letters};
use super::mailbox::Mailbox;
use super::message::{Message, Origin, State, Written};
use super::{BusError, MAX_MAILBOXES, Refusal, throttle};
use crate::config::Inspect;
use crate::inspect::{News, Recorder};
use crate::session::key::NAMELESS;
use crate::session::record::{SessionKey, Tenant};
use crate::session::records::Records;
use crate::session::store::{Store, StoreError, keys};
use crate::telemetry::names;
use bytes::Bytes;
use foldhash::HashMap;
use jiff::Timestamp;
use parking_lot::RwLock;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Mailboxes read from the store at once.
pub(super) const PAGE: usize = 1024;
/// Tries of a compare-and-set against other processes.
const CAS_TRIES: usize = 8;

/// The bus of a gateway.
pub struct Bus {
    pub(super) store: Arc<dyn Store>,
    records: Arc<Records>,
    /// By session id.
    mailboxes: RwLock<HashMap<String, Vec<Arc<Mailbox>>>>,
    count: AtomicUsize,
    /// Some mailbox was addressed: until then no request is looked at for it.
    any: AtomicBool,
    /// So was one of a session whose client sends no id.
    nameless: AtomicBool,
    known: Known,
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
        f.debug_struct("Bus").field("mailboxes", &self.count).finish_non_exhaustive()
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
            mailboxes: RwLock::default(),
            count: AtomicUsize::new(0),
            any: AtomicBool::new(false),
            nameless: AtomicBool::new(false),
            known: Known::new(),
            recorder: Recorder::new(Inspect::NONE),
        };
        let mut after = None;
        loop {
            let page = bus.store.scan(keys::MAILBOXES, after.take(), PAGE).await?;
            for (key, value) in &page {
                let Some(key) = keys::mailbox_of(key) else { continue };
                match Letters::decode(value) {
                    Ok(letters) => drop(bus.keep(Mailbox::new(key, &letters))),
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
        self.any.load(Ordering::Relaxed)
    }

    /// Whether an agent of this name, of any tenant, ever got a message.
    pub fn has_addressed(&self, session: &str, agent: &str) -> bool {
        self.is_used()
            && self
                .mailboxes
                .read()
                .get(session)
                .is_some_and(|all| all.iter().any(|mailbox| mailbox.key.agent == agent && mailbox.is_addressed()))
    }

    /// Whether a session whose client sends no id ever got a message.
    pub fn has_addressed_nameless(&self) -> bool {
        self.nameless.load(Ordering::Relaxed)
    }

    pub(super) fn note_addressed(&self, mailbox: &Mailbox) {
        if mailbox.is_addressed() {
            self.any.store(true, Ordering::Relaxed);
            self.nameless.fetch_or(mailbox.key.id.starts_with(NAMELESS), Ordering::Relaxed);
        }
    }

    /// The mailbox of a session, if it ever got a message.
    pub fn mailbox(&self, key: &SessionKey) -> Option<Arc<Mailbox>> {
        if !self.is_used() {
            return None;
        }
        self.find(key).filter(|mailbox| mailbox.is_addressed())
    }

    pub(super) fn find(&self, key: &SessionKey) -> Option<Arc<Mailbox>> {
        self.mailboxes.read().get(&key.id)?.iter().find(|mailbox| mailbox.key == *key).cloned()
    }

    /// Keeps a mailbox, or gives the one that is there.
    pub(super) fn keep(&self, mailbox: Mailbox) -> Arc<Mailbox> {
        let mut mailboxes = self.mailboxes.write();
        let all = mailboxes.entry(mailbox.key.id.clone()).or_default();
        if let Some(known) = all.iter().find(|known| known.key == mailbox.key) {
            return known.clone();
        }
        self.note_addressed(&mailbox);
        self.count.fetch_add(1, Ordering::Relaxed);
        let mailbox = Arc::new(mailbox);
        all.push(mailbox.clone());
        mailbox
    }

    fn made(&self, key: &SessionKey) -> Result<Arc<Mailbox>, Refusal> {
        if let Some(mailbox) = self.find(key) {
            return Ok(mailbox);
        }
        if self.count.load(Ordering::Relaxed) >= MAX_MAILBOXES {
            return Err(Refusal::TooManyMailboxes);
        }
        Ok(self.keep(Mailbox::new(key.clone(), &Letters::default())))
    }

    /// Forgets a session's mailbox.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget(&self, key: &SessionKey) -> Result<(), StoreError> {
        let Some(mailbox) = self.find(key) else { return Ok(()) };
        let _writing = mailbox.writing.lock().await;
        self.store.write(vec![(keys::mailbox(key), None)]).await?;
        let mut mailboxes = self.mailboxes.write();
        if let Some(all) = mailboxes.get_mut(&key.id) {
            let before = all.len();
            all.retain(|mailbox| mailbox.key != *key);
            self.count.fetch_sub(before - all.len(), Ordering::Relaxed);
            if all.is_empty() {
                mailboxes.remove(&key.id);
            }
        }
        Ok(())
    }

    /// All that may be meant by a session id, of all tenants or of one.
    ///
    /// # Errors
    /// When records can't be looked up.
    pub async fn candidates(&self, session: &str, tenant: Option<&Tenant>) -> Result<Vec<Candidate>, BusError> {
        let mut all = self.present(session);
        for key in self.records.find(session).await? {
            if let Some(known) = all.iter_mut().find(|candidate| candidate.key == key) {
                if known.parent.is_none() {
                    known.parent = self.parent(&key).await;
                }
                continue;
            }
            let parent = self.parent(&key).await;
            all.push(Candidate { key, label: None, parent });
        }
        all.retain(|candidate| tenant.is_none_or(|tenant| candidate.key.tenant == *tenant));
        Ok(all)
    }

    async fn parent(&self, key: &SessionKey) -> Option<String> {
        self.records.get(key).await.ok().flatten().and_then(|record| record.parent.clone())
    }

    /// What is known without asking the store.
    fn present(&self, session: &str) -> Vec<Candidate> {
        let mut all = self.known.of(session);
        for mailbox in self.mailboxes.read().get(session).into_iter().flatten() {
            let label = mailbox.label();
            match all.iter_mut().find(|candidate| candidate.key == mailbox.key) {
                // What a person calls it counts.
                Some(known) => known.label = label.or(known.label.take()),
                None => all.push(Candidate { key: mailbox.key.clone(), label, parent: None }),
            }
        }
        all
    }

    /// What people call an agent.
    pub fn label(&self, key: &SessionKey) -> Option<Arc<str>> {
        self.present(&key.id).into_iter().find(|candidate| candidate.key == *key).and_then(|found| found.label)
    }

    /// The tenants that have a session of this id.
    ///
    /// # Errors
    /// When records can't be looked up.
    pub async fn tenants(&self, session: &str) -> Result<BTreeSet<Tenant>, BusError> {
        Ok(self.candidates(session, None).await?.into_iter().map(|candidate| candidate.key.tenant).collect())
    }

    /// Sends a message to agents of a session; `agents` as in [`Agents::parse`]. One receipt for each, or why it was not
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

    /// The agents that are meant; `agents` as in [`Agents::parse`].
    ///
    /// # Errors
    /// When records can't be looked up.
    pub async fn meant(&self, tenant: &Tenant, session: &str, agents: &str) -> Result<Vec<SessionKey>, BusError> {
        let of = SessionKey { tenant: tenant.clone(), id: session.to_owned(), agent: String::new() };
        let candidates = self.candidates(session, Some(tenant)).await?;
        Ok(meant(Agents::parse(agents), &of, &candidates))
    }

    /// Puts a message into a mailbox. Durable when it returns.
    async fn enqueue(&self, to: &SessionKey, message: Message, origin: &Origin) -> Result<Receipt, BusError> {
        let mailbox = self.made(to)?;
        let hops = self.sender(to, &message, origin).map_or(Ok(0), |from| {
            let got = self.find(&from).map_or(0, |mailbox| mailbox.hops());
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

    /// The agent that sends, if it is one.
    fn sender(&self, to: &SessionKey, message: &Message, origin: &Origin) -> Option<SessionKey> {
        if let Origin::Hook { agent, .. } = origin {
            return Some(agent.clone());
        }
        let (session, name) = message.from.split_once('/').unwrap_or((&to.id, &message.from));
        let candidates = self.present(session).into_iter().filter(|candidate| candidate.key.tenant == to.tenant);
        let named = |c: &Candidate| c.key.agent == name || c.label.as_deref() == Some(name);
        candidates.filter(named).map(|candidate| candidate.key).find(|key| key != to)
    }

    /// The messages of a session, oldest first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn list(&self, key: &SessionKey) -> Result<Vec<Message>, BusError> {
        let Some(bytes) = self.store.get(&keys::mailbox(key)).await? else { return Ok(Vec::new()) };
        let mut letters = decode(key, &bytes)?;
        letters.expire(Timestamp::now());
        Ok(letters.messages)
    }

    /// Names an agent; `None` takes its name.
    ///
    /// # Errors
    /// When there is no room for it, or the store fails.
    pub async fn set_label(&self, key: &SessionKey, label: Option<String>) -> Result<(), BusError> {
        let mailbox = self.made(key)?;
        self.change(&mailbox, |letters| letters.label.clone_from(&label)).await
    }

    /// Changes what a mailbox holds, durably.
    pub(super) async fn change<T>(
        &self,
        mailbox: &Mailbox,
        mut change: impl FnMut(&mut Letters) -> T,
    ) -> Result<T, BusError> {
        let _writing = mailbox.writing.lock().await;
        self.change_held(mailbox, &mut change).await
    }

    /// The same where [`Mailbox::writing`] is held.
    pub(super) async fn change_held<T>(
        &self,
        mailbox: &Mailbox,
        change: &mut impl FnMut(&mut Letters) -> T,
    ) -> Result<T, BusError> {
        let key = keys::mailbox(&mailbox.key);
        for _ in 0..CAS_TRIES {
            let stored = self.store.get(&key).await?;
            let mut letters = stored.as_deref().map_or(Ok(Letters::default()), |bytes| decode(&mailbox.key, bytes))?;
            // A prompt of a person is not written by itself, where nobody else has to know.
            if self.process().is_none() {
                letters.hops = mailbox.hops();
            }
            let done = change(&mut letters);
            let broken = |what| BusError::Mailbox { key: mailbox.key.clone(), what };
            let new = Bytes::from(letters.encode().map_err(broken)?);
            let is_same = stored.as_ref() == Some(&new);
            if is_same || self.store.compare_and_set(&key, stored, Some(new)).await? {
                mailbox.reflect(&letters);
                self.note_addressed(mailbox);
                return Ok(done);
            }
        }
        Err(BusError::Contended(mailbox.key.clone()))
    }

    /// Mailboxes of sessions that have no record and in which nothing happened for so long.
    pub async fn sweep(&self, retain: std::time::Duration) {
        let all: Vec<Arc<Mailbox>> = self.mailboxes.read().values().flatten().cloned().collect();
        let now = Timestamp::now();
        for mailbox in all {
            if mailbox.has_waiting() || !matches!(self.records.get(&mailbox.key).await, Ok(None)) {
                continue;
            }
            let Ok(messages) = self.list(&mailbox.key).await else { continue };
            let is_over = |message: &Message| {
                !message.state.waits() && now.duration_since(message.queued_at).unsigned_abs() > retain
            };
            if !messages.is_empty()
                && messages.iter().all(is_over)
                && let Err(error) = self.forget(&mailbox.key).await
            {
                self.records.report(&error);
            }
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

pub(super) fn decode(key: &SessionKey, bytes: &[u8]) -> Result<Letters, BusError> {
    Letters::decode(bytes).map_err(|what| BusError::Mailbox { key: key.clone(), what })
}

#[cfg(test)]
mod tests;
