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
        if shared.write_if(&path, saved.form.clone(), batch).await? {
            saved.form = form;
            return Ok(true);
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
        let base = saved.form.as_deref().map_or_else(|| Ok(theirs.clone()), read_record)?;
        let more = saved.form.is_some() && theirs.rewrites == base.rewrites;
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
        saved.form = Some(form);
        Ok(())
    }

    /// Another process deleted it.
    fn lose(&self, live: &Live) {
        live.forgotten.store(true, Ordering::Relaxed);
        self.let_go(&record_key(&live.key, &live.id));
    }
}
