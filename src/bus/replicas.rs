//! The bus of several gateways that share a store. A mailbox in memory follows the store's feed; what a request of another
//! process has in its hands is left to it for as long as that process lives.
use super::BusError;
use super::letters::Letters;
use super::mailbox::Mailbox;
use super::message::{Message, State};
use super::post::{Bus, PAGE};
use super::stored::decode;
use crate::session::record::SessionKey;
use crate::session::store::{StoreError, keys};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which claims of others count.
pub(super) struct Elsewhere<'a> {
    here: Option<&'a str>,
    dead: BTreeSet<String>,
}

impl Elsewhere<'_> {
    /// Whether a request of another process, which lives as far as is known, brings this message.
    pub(super) fn has(&self, message: &Message) -> bool {
        match &message.state {
            State::Claimed { by: Some(by), .. } => Some(&**by) != self.here && !self.dead.contains(by),
            _ => false,
        }
    }
}

impl Bus {
    /// This process, where several share the store.
    pub(super) fn process(&self) -> Option<&str> {
        self.store.shared().map(|shared| shared.process())
    }

    /// What is known of other processes that have claimed messages of a mailbox.
    pub(super) async fn elsewhere(&self, mailbox: &Mailbox) -> Result<Elsewhere<'_>, BusError> {
        let mut elsewhere = Elsewhere { here: self.process(), dead: BTreeSet::new() };
        let Some(shared) = self.store.shared() else { return Ok(elsewhere) };
        let stored = self.store.get(&keys::mailbox(&mailbox.key)).await?;
        let letters = stored.as_deref().map_or(Ok(Letters::default()), |bytes| decode(&mailbox.key, bytes))?;
        let others: BTreeSet<&String> = letters.messages.iter().filter(|m| elsewhere.has(m)).filter_map(by).collect();
        let mut dead = BTreeSet::new();
        for process in others {
            if !shared.lives(process).await? {
                dead.insert(process.clone());
            }
        }
        elsewhere.dead = dead;
        Ok(elsewhere)
    }

    /// A request came to nothing: others may bring its messages. Nobody waits for this; what is not noted ends with this
    /// process.
    pub(super) fn let_go(self: &Arc<Self>, mailbox: &Arc<Mailbox>, ids: Vec<String>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.process().is_none() {
            return;
        }
        let (bus, mailbox) = (self.clone(), mailbox.clone());
        runtime.spawn(async move {
            let process = bus.process().unwrap_or_default();
            if let Err(error) = bus.change(&mailbox, |letters| letters.let_go(&ids, process)).await {
                tracing::warn!(session = %mailbox.key, %error, "messages wait for longer than they have to");
            }
        });
    }

    /// A person prompts the agent: messages of agents are counted anew, in all processes.
    pub async fn hear_person(&self, mailbox: &Mailbox) {
        if mailbox.hear_person()
            && self.process().is_some()
            && let Err(error) = self.change(mailbox, |letters| letters.hops = 0).await
        {
            tracing::warn!(session = %mailbox.key, %error, "a prompt can't be noted in a mailbox");
        }
    }

    /// Another process may have changed this mailbox. One that can't be read stays as it is known, and is named in the log.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn refresh(&self, key: &SessionKey) -> Result<(), StoreError> {
        let Some(mailbox) = self.mailboxes.find(key) else {
            let stored = self.store.get(&keys::mailbox(key)).await?;
            if let Some(letters) = stored.and_then(|bytes| readable(key, &bytes)) {
                self.mailboxes.keep(Arc::new(Mailbox::new(key.clone(), &letters)));
            }
            return Ok(());
        };
        // What is written here meanwhile must not be taken for older than what is read.
        let _writing = mailbox.writing.lock().await;
        let stored = self.store.get(&keys::mailbox(key)).await?;
        let letters = stored.map_or_else(|| Some(Letters::default()), |bytes| readable(key, &bytes));
        if let Some(letters) = letters {
            mailbox.reflect(&letters);
            self.mailboxes.note(&mailbox);
        }
        Ok(())
    }

    /// Changes may have been missed: looks into every mailbox.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn refresh_all(&self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.store.scan(keys::MAILBOXES, after.take(), PAGE).await?;
            for key in page.iter().filter_map(|(key, _)| keys::mailbox_of(key)) {
                self.refresh(&key).await?;
            }
            match page.len() {
                PAGE => after = page.last().map(|(key, _)| key.clone()),
                _ => return Ok(()),
            }
        }
    }
}

fn readable(key: &SessionKey, bytes: &[u8]) -> Option<Letters> {
    let read = decode(key, bytes);
    read.inspect_err(|error| tracing::error!(session = %key, %error, "a mailbox is left as it is known")).ok()
}

fn by(message: &Message) -> Option<&String> {
    match &message.state {
        State::Claimed { by, .. } => by.as_ref(),
        _ => None,
    }
}
