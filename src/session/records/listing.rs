//! Looking through all sessions: by id, page by page, by age.
use super::{Records, decode};
use crate::session::SessionError;
use crate::session::record::{SessionKey, SessionRecord};
use crate::session::store::{Pair, keys};
use jiff::Timestamp;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// Records read from the store at once.
const SCAN_PAGE: usize = 256;
/// Sessions that [`Records::due`] returns at once; the next call finds the rest.
const MAX_DUE: usize = 256;
/// Sessions with one id that [`Records::find`] returns: all agents of it, of all tenants.
const MAX_FOUND: usize = 1024;

/// A part of all sessions.
#[derive(Debug)]
pub struct Page {
    /// In the order of their ids.
    pub items: Vec<Arc<SessionRecord>>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<String>,
}

/// Sessions whose time has come.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Not ended, and idle for too long.
    pub idle: Vec<SessionKey>,
    /// Ended, and kept for long enough.
    pub expired: Vec<SessionKey>,
}

impl Records {
    /// The keys of all sessions with this id: of every agent and every tenant.
    ///
    /// # Errors
    /// [`SessionError::Store`].
    pub async fn find(&self, id: &str) -> Result<Vec<SessionKey>, SessionError> {
        let found = self.store.scan(&keys::records_of(id), None, MAX_FOUND).await?;
        Ok(found.iter().filter_map(|(key, _)| keys::session_of(key)).collect())
    }

    /// At most `limit` sessions behind `cursor`, which an earlier page returned. Records that can't be read are left out
    /// and named in the log.
    ///
    /// # Errors
    /// [`SessionError::Cursor`], [`SessionError::Store`].
    pub async fn list(&self, cursor: Option<&str>, limit: usize) -> Result<Page, SessionError> {
        let after = cursor.map(|text| from_hex(text).ok_or(SessionError::Cursor)).transpose()?;
        let pairs = self.store.scan(keys::RECORDS, after, limit).await?;
        let next = pairs.last().filter(|_| pairs.len() == limit).map(|(key, _)| to_hex(key));
        let mut items = Vec::with_capacity(pairs.len());
        for pair in &pairs {
            items.extend(self.live(pair).await);
        }
        Ok(Page { items, next })
    }

    /// Sessions that were idle for `idle_end` and are to be ended, and those that ended `retain` ago and are to be
    /// deleted. Reads every record: to be called now and then, not per request.
    ///
    /// # Errors
    /// [`SessionError::Store`].
    pub async fn due(&self, now: Timestamp, idle_end: Duration, retain: Duration) -> Result<Due, SessionError> {
        let mut due = Due::default();
        let mut after = None;
        loop {
            let pairs = self.store.scan(keys::RECORDS, after, SCAN_PAGE).await?;
            for pair in &pairs {
                let Some(record) = self.live(pair).await else { continue };
                let (since, limit, list) = match record.ended_at {
                    None => (record.last_active, idle_end, &mut due.idle),
                    Some(ended_at) => (ended_at, retain, &mut due.expired),
                };
                let age = Duration::try_from(now.duration_since(since)).unwrap_or_default();
                if age >= limit && list.len() < MAX_DUE {
                    list.push(record.key.clone());
                }
            }
            match pairs.last() {
                Some((key, _)) if pairs.len() == SCAN_PAGE => after = Some(key.clone()),
                _ => return Ok(due),
            }
        }
    }

    /// The record of `key` with the time of its last request, which may not be written down yet.
    ///
    /// # Errors
    /// As [`Records::get`].
    pub async fn latest(&self, key: &SessionKey) -> Result<Option<Arc<SessionRecord>>, SessionError> {
        let record = self.get(key).await?;
        let remembered = self.remembered(key).await.filter(|_| record.is_some() || !self.is_shared);
        Ok(remembered.or(record))
    }

    /// The record of a pair, as far as memory knows more with that.
    async fn live(&self, (key, bytes): &Pair) -> Option<Arc<SessionRecord>> {
        let key = keys::session_of(key)?;
        match self.remembered(&key).await {
            Some(record) if !self.is_shared => return Some(record),
            // Memory may know a later request, and of an older record.
            Some(remembered) => {
                let last_active = remembered.last_active;
                let stored = decode(&key, bytes).ok()?;
                return Some(Arc::new(SessionRecord { last_active: stored.last_active.max(last_active), ..stored }));
            }
            None => {}
        }
        decode(&key, bytes).inspect_err(|error| tracing::warn!(%error, "left out of a listing")).ok().map(Arc::new)
    }

    /// What memory knows.
    async fn remembered(&self, key: &SessionKey) -> Option<Arc<SessionRecord>> {
        let entry = self.cache.get(key)?;
        let record = entry.current()?;
        let last_active = entry.last_active().max(record.last_active);
        Some(Arc::new(SessionRecord { last_active, ..(*record).clone() }))
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        // Writing to a string can't fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
