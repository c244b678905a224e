//! Mailboxes that are forgotten: with their session, or when nothing happened in them for long.
use super::mailbox::Mailbox;
use super::stored::decode;
use super::{Bus, BusError};
use crate::session::record::SessionKey;
use crate::session::store::{StoreError, keys};
use jiff::Timestamp;
use std::time::Duration;

impl Bus {
    /// Forgets a session's mailbox.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget(&self, key: &SessionKey) -> Result<(), StoreError> {
        let Some(mailbox) = self.mailboxes.find(key) else { return Ok(()) };
        let _writing = mailbox.writing.lock().await;
        self.store.write(vec![(keys::mailbox(key), None)]).await?;
        self.mailboxes.remove(key);
        Ok(())
    }

    /// Forgets mailboxes of sessions that have no record and in which nothing happened for so long.
    pub async fn sweep(&self, retain: Duration) {
        for mailbox in self.mailboxes.all() {
            if !matches!(self.records.get(&mailbox.key).await, Ok(None)) {
                continue;
            }
            match self.forget_old(&mailbox, retain).await {
                Ok(()) => {}
                Err(BusError::Store(error)) => self.records.report(&error),
                Err(error) => tracing::warn!(session = %mailbox.key, %error, "a mailbox is not looked at"),
            }
        }
    }

    /// One of them, unless somebody puts something into it at this moment.
    async fn forget_old(&self, mailbox: &Mailbox, retain: Duration) -> Result<(), BusError> {
        let _writing = mailbox.writing.lock().await;
        let key = keys::mailbox(&mailbox.key);
        let stored = self.store.get(&key).await?;
        let is_over = match &stored {
            Some(bytes) => decode(&mailbox.key, bytes)?.is_over(Timestamp::now(), retain),
            // Another process forgot it.
            None => true,
        };
        if is_over && self.store.compare_and_set(&key, stored, None).await? {
            self.mailboxes.remove(&mailbox.key);
        }
        Ok(())
    }
}
