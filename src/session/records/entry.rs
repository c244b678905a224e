//! One session in memory.
use crate::session::record::SessionRecord;
use crate::session::store::StoreError;
use arc_swap::ArcSwapOption;
use bytes::Bytes;
use jiff::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use tokio::sync::Mutex;

/// What an entry weighs beside its texts: key, locks, the record's fields.
const BASE_WEIGHT: usize = 512;

/// What is known of the stored form.
#[derive(Debug)]
pub(super) enum Stored {
    /// It was just read or written: the bytes, `None` if there are none.
    Known(Option<Bytes>),
    /// Another process changed it.
    Changed,
    /// It could not be read.
    Unknown(StoreError),
}

/// A session's record, its stored form, and what is newer than both.
#[derive(Debug)]
pub(super) struct Entry {
    /// Readers never wait for a writer's flush.
    current: ArcSwapOption<SessionRecord>,
    /// Held while the record is changed: changes of one session queue up here.
    pub(super) stored: Mutex<Stored>,
    /// Milliseconds since 1970.
    pub(super) last_active: AtomicI64,
    unsaved: AtomicBool,
    stored_len: AtomicUsize,
}

impl Entry {
    pub(super) fn new() -> Self {
        Self {
            current: ArcSwapOption::empty(),
            stored: Mutex::new(Stored::Changed),
            last_active: AtomicI64::new(0),
            unsaved: AtomicBool::new(false),
            stored_len: AtomicUsize::new(0),
        }
    }

    pub(super) fn current(&self) -> Option<Arc<SessionRecord>> {
        self.current.load_full()
    }

    pub(super) fn set(&self, record: SessionRecord, stored_len: usize, saved: bool) {
        self.last_active.fetch_max(record.last_active.as_millisecond(), Ordering::Relaxed);
        self.current.store(Some(Arc::new(record)));
        self.stored_len.store(stored_len, Ordering::Relaxed);
        self.unsaved.store(!saved, Ordering::Relaxed);
    }

    pub(super) fn clear(&self) {
        self.current.store(None);
        self.unsaved.store(false, Ordering::Relaxed);
        self.last_active.store(0, Ordering::Relaxed);
    }

    pub(super) fn last_active(&self) -> Timestamp {
        Timestamp::from_millisecond(self.last_active.load(Ordering::Relaxed)).unwrap_or_default()
    }

    pub(super) fn is_unsaved(&self) -> bool {
        self.unsaved.load(Ordering::Relaxed)
    }

    /// Whether memory knows more than the store.
    pub(super) fn is_behind(&self) -> bool {
        self.is_unsaved() || self.current().is_some_and(|record| record.last_active < self.last_active())
    }

    /// The record and its stored form hold the same texts twice.
    pub(super) fn weight(&self) -> u32 {
        let bytes = BASE_WEIGHT + 2 * self.stored_len.load(Ordering::Relaxed);
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}
