//! What a mailbox holds in the store: read, and changed durably.
use super::letters::Letters;
use super::mailbox::Mailbox;
use super::message::Message;
use super::{Bus, BusError};
use crate::session::record::SessionKey;
use crate::session::store::keys;
use bytes::Bytes;
use jiff::Timestamp;

/// Tries of a compare-and-set against other processes.
const CAS_TRIES: usize = 8;

impl Bus {
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
        let mailbox = self.mailboxes.made(key)?;
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
                self.mailboxes.note(mailbox);
                return Ok(done);
            }
        }
        Err(BusError::Contended(mailbox.key.clone()))
    }
}

pub(super) fn decode(key: &SessionKey, bytes: &[u8]) -> Result<Letters, BusError> {
    Letters::decode(bytes).map_err(|what| BusError::Mailbox { key: key.clone(), what })
}
