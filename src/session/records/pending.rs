//! Stops that are still to be run: recorded before the client sees the end of its turn, taken when the hook ran, found
//! again after a kill (DESIGN I3).
use super::Records;
use crate::session::SessionError;
use crate::session::store::keys;
use bytes::Bytes;

/// Pending stops that one call returns; they are taken one by one, and the next call finds the rest.
const MAX_PENDING: usize = 1024;

impl Records {
    /// Records a stop. The same event again replaces it.
    ///
    /// # Errors
    /// [`SessionError::Store`].
    pub async fn put_pending(&self, event_id: &str, payload: Bytes) -> Result<(), SessionError> {
        let put = self.store.write(vec![(keys::pending(event_id), Some(payload))]).await;
        put.inspect_err(|error| self.report(error)).map_err(SessionError::from)
    }

    /// Takes a stop: of many takers one gets it.
    ///
    /// # Errors
    /// [`SessionError::Store`].
    pub async fn take_pending(&self, event_id: &str) -> Result<Option<Bytes>, SessionError> {
        let key = keys::pending(event_id);
        let Some(payload) = self.store.get(&key).await? else { return Ok(None) };
        let taken = self.store.compare_and_set(&key, Some(payload.clone()), None).await?;
        Ok(taken.then_some(payload))
    }

    /// Stops that were recorded and not taken, with their event ids.
    ///
    /// # Errors
    /// [`SessionError::Store`].
    pub async fn pending(&self) -> Result<Vec<(String, Bytes)>, SessionError> {
        let pairs = self.store.scan(keys::PENDING, None, MAX_PENDING).await?;
        let named = |(key, payload): (Vec<u8>, Bytes)| {
            let id = key.strip_prefix(keys::PENDING)?.to_vec();
            Some((String::from_utf8(id).ok()?, payload))
        };
        Ok(pairs.into_iter().filter_map(named).collect())
    }
}
