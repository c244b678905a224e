//! What other processes write to a conversation that is in memory here.
use super::{Conversations, NodeOwner, Write, encode, read_record, record_key};
use crate::session::conversation::{Live, Saved, merged};
use crate::session::store::StoreError;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Conversations {
    /// Whether a conversation in memory is still in the store, and then as it is there. When the store fails, memory counts.
    pub(super) async fn is_there(&self, live: &Arc<Live>) -> bool {
        self.refresh(live).await.unwrap_or_else(|error| {
            tracing::debug!(session = %live.key, %error, "a conversation goes on as it is remembered");
            true
        })
    }

    async fn refresh(&self, live: &Live) -> Result<bool, StoreError> {
        let mut saved = live.saved.lock().await;
        let stored = self.store.get(&record_key(&live.key, &live.id)).await?;
        match stored {
            same if same == saved.form => Ok(true),
            Some(form) => self.take_over(live, &mut saved, form).await.map(|()| true),
            None => {
                self.lose(live);
                Ok(false)
            }
        }
    }

    /// Writes what was made from `saved`. False when others have written meanwhile: what they wrote is taken over, and the
    /// write is to be made anew.
    pub(super) async fn write(&self, live: &Live, saved: &mut Saved, batch: Vec<Write>) -> Result<bool, StoreError> {
        let Some(shared) = self.store.shared() else { return self.store.write(batch).await.map(|()| true) };
        let path = record_key(&live.key, &live.id);
        let form = batch.iter().find(|(key, _)| *key == path).and_then(|(_, form)| form.clone());
        let is_sent = shared.is_up();
        match shared.write_if(&path, saved.form.clone(), batch).await {
            Ok(true) => {
                (saved.form, saved.sent) = (form, None);
                return Ok(true);
            }
            Ok(false) => {}
            Err(error) => {
                if is_sent {
                    saved.sent = form;
                }
                return Err(error);
            }
        }
        match self.store.get(&path).await? {
            Some(form) => self.take_over(live, saved, form).await?,
            None => self.lose(live),
        }
        Ok(false)
    }

    /// Makes what is stored the state in memory, with what only memory knows on top of it.
    async fn take_over(&self, live: &Live, saved: &mut Saved, form: Bytes) -> Result<(), StoreError> {
        let theirs = read_record(&form)?;
        // What was written here counts as known, also when nobody said that it had arrived.
        let is_own = saved.sent.as_ref() == Some(&form);
        let known = if is_own { Some(&form) } else { saved.form.as_ref() };
        let base = known.map_or_else(|| Ok(theirs.clone()), |known| read_record(known))?;
        let more = known.is_some() && theirs.rewrites == base.rewrites;
        let owner = NodeOwner { session: live.key.clone(), conversation: live.id.clone() };
        let stored = self.entries(&owner, if more { saved.from } else { 0 }).await?;
        let mut state = live.state.lock();
        if theirs.tip != base.tip {
            // Somebody went on elsewhere, so nobody does here.
            state.claimed = None;
            state.prefix = None;
        }
        let is_ahead = saved.form.as_ref() != Some(&encode(&state.record)?);
        state.record = if is_ahead { merged(&base, &state.record, theirs) } else { theirs };
        saved.from = state.ledger.take_over(stored, more, saved.from);
        (saved.form, saved.sent) = (Some(form), None);
        Ok(())
    }

    /// Another process deleted it.
    fn lose(&self, live: &Live) {
        live.forgotten.store(true, Ordering::Relaxed);
        self.let_go(&record_key(&live.key, &live.id));
    }
}
