//! Mailboxes that are forgotten: with their session, or when nothing happened in them for long.
use super::{Bus, Message};
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

    /// Mailboxes of sessions that have no record and in which nothing happened for so long.
    pub async fn sweep(&self, retain: Duration) {
        let now = Timestamp::now();
        for mailbox in self.mailboxes.all() {
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
