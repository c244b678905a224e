//! Stops that are still to be run: recorded before the client sees the end of its turn, taken when the hook ran, found
//! again after a kill.
//!
//! In a shared store each names the process that runs it, in a line ahead of it; when that has died, another takes it over.
use super::Records;
use crate::session::SessionError;
use crate::session::record::SessionKey;
use crate::session::store::{Shared, keys};
use bytes::Bytes;

/// Pending stops that one call returns; they are taken one by one, and the next call finds the rest.
const MAX_PENDING: usize = 1024;
/// Behind the name of the process.
const LINE: u8 = b'\n';
/// What a stop itself begins with.
const STOP: u8 = b'{';

/// Stops by who runs them.
#[derive(Debug, Default)]
pub struct Found {
    /// Nobody; in a shared store they are this process's from now on.
    pub orphans: Vec<Pending>,
    /// This process, in a shared store.
    pub here: Vec<Pending>,
    /// Whether others do.
    pub elsewhere: bool,
}

/// A stop that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Where it stands.
    pub at: Vec<u8>,
    /// As it was put.
    pub payload: Bytes,
}

impl Records {
    /// Records a stop, which this process will run. The same event again replaces it.
    ///
    /// # Errors
    /// [`SessionError::Store`].
    pub async fn put_pending(&self, key: &SessionKey, event_id: &str, payload: Bytes) -> Result<(), SessionError> {
        let value = self.store.shared().map_or(payload.clone(), |shared| owned(shared, &payload));
        let put = self.store.write(vec![(keys::pending(key, event_id), Some(value))]).await;
        put.inspect_err(|error| self.report(error)).map_err(SessionError::from)
    }

    /// Takes the stop that stands there: of many takers one gets it.
    ///
    /// # Errors
    /// [`SessionError::Store`].
    pub async fn take_pending(&self, at: &[u8]) -> Result<Option<Bytes>, SessionError> {
        let Some(value) = self.store.get(at).await? else { return Ok(None) };
        let taken = self.store.compare_and_set(at, Some(value.clone()), None).await?;
        Ok(taken.then(|| parts(&value).1))
    }

    /// Stops that were recorded and not taken: all, or those of a session.
    ///
    /// # Errors
    /// [`SessionError::Store`].
    pub async fn pending(&self, of: Option<&SessionKey>) -> Result<Found, SessionError> {
        let prefix = of.map_or_else(|| keys::PENDING.to_vec(), keys::pending_of);
        let shared = self.store.shared();
        let mut found = Found::default();
        for (at, value) in self.store.scan(&prefix, None, MAX_PENDING).await? {
            let (owner, payload) = parts(&value);
            let Some(shared) = shared else {
                found.orphans.push(Pending { at, payload });
                continue;
            };
            if owner == shared.process() {
                found.here.push(Pending { at, payload });
            } else if !owner.is_empty() && shared.lives(owner).await? {
                found.elsewhere = true;
            } else {
                let own = Some(owned(shared, &payload));
                if self.store.compare_and_set(&at, Some(value.clone()), own).await? {
                    found.orphans.push(Pending { at, payload });
                }
            }
        }
        Ok(found)
    }
}

fn owned(shared: &dyn Shared, payload: &[u8]) -> Bytes {
    [shared.process().as_bytes(), &[LINE], payload].concat().into()
}

/// The process that runs it, and the stop.
fn parts(value: &Bytes) -> (&str, Bytes) {
    let line = value.iter().position(|byte| *byte == LINE).filter(|_| value.first() != Some(&STOP));
    let owner = line.and_then(|end| std::str::from_utf8(&value[..end]).ok());
    owner.map_or(("", value.clone()), |owner| (owner, value.slice(owner.len() + 1..)))
}
