//! The mailboxes in memory, by session: one for each agent that ever got a message or a name.
use super::letters::Letters;
use super::mailbox::Mailbox;
use super::{MAX_MAILBOXES, Refusal};
use crate::session::key::NAMELESS;
use crate::session::record::SessionKey;
use foldhash::HashMap;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// All of them.
#[derive(Default)]
pub(super) struct Mailboxes {
    by_session: RwLock<HashMap<String, Vec<Arc<Mailbox>>>>,
    count: AtomicUsize,
    /// Some mailbox was addressed: until then no request is looked at for it.
    any: AtomicBool,
    /// So was one of a session whose client sends no id.
    nameless: AtomicBool,
}

impl Mailboxes {
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether anybody ever got a message.
    pub(super) fn is_used(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Whether a session whose client sends no id ever got a message.
    pub(super) fn has_addressed_nameless(&self) -> bool {
        self.nameless.load(Ordering::Relaxed)
    }

    /// Whether an agent of this name, of any tenant, ever got a message.
    pub(super) fn has_addressed(&self, session: &str, agent: &str) -> bool {
        let is_meant = |mailbox: &Arc<Mailbox>| mailbox.key.agent == agent && mailbox.is_addressed();
        self.is_used() && self.by_session.read().get(session).is_some_and(|all| all.iter().any(is_meant))
    }

    /// Notes what a mailbox holds now.
    pub(super) fn note(&self, mailbox: &Mailbox) {
        if mailbox.is_addressed() {
            self.any.store(true, Ordering::Relaxed);
            self.nameless.fetch_or(mailbox.key.id.starts_with(NAMELESS), Ordering::Relaxed);
        }
    }

    pub(super) fn find(&self, key: &SessionKey) -> Option<Arc<Mailbox>> {
        self.by_session.read().get(&key.id)?.iter().find(|mailbox| mailbox.key == *key).cloned()
    }

    /// Those of a session id, of all tenants.
    pub(super) fn of(&self, session: &str) -> Vec<Arc<Mailbox>> {
        self.by_session.read().get(session).cloned().unwrap_or_default()
    }

    pub(super) fn all(&self) -> Vec<Arc<Mailbox>> {
        self.by_session.read().values().flatten().cloned().collect()
    }

    /// Keeps a mailbox, or gives the one that is there.
    pub(super) fn keep(&self, mailbox: Arc<Mailbox>) -> Arc<Mailbox> {
        let mut by_session = self.by_session.write();
        let all = by_session.entry(mailbox.key.id.clone()).or_default();
        if let Some(known) = all.iter().find(|known| known.key == mailbox.key) {
            return known.clone();
        }
        self.note(&mailbox);
        self.count.fetch_add(1, Ordering::Relaxed);
        all.push(mailbox.clone());
        mailbox
    }

    /// The mailbox of a session, made if need be.
    ///
    /// # Errors
    /// [`Refusal::TooManyMailboxes`]
    pub(super) fn made(&self, key: &SessionKey) -> Result<Arc<Mailbox>, Refusal> {
        if let Some(mailbox) = self.find(key) {
            return Ok(mailbox);
        }
        if self.len() >= MAX_MAILBOXES {
            return Err(Refusal::TooManyMailboxes);
        }
        Ok(self.keep(Arc::new(Mailbox::new(key.clone(), &Letters::default()))))
    }

    pub(super) fn remove(&self, key: &SessionKey) {
        let mut by_session = self.by_session.write();
        let Some(all) = by_session.get_mut(&key.id) else { return };
        let before = all.len();
        all.retain(|mailbox| mailbox.key != *key);
        self.count.fetch_sub(before - all.len(), Ordering::Relaxed);
        if all.is_empty() {
            by_session.remove(&key.id);
        }
    }
}
