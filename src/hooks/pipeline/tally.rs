//! What became of a hook on one event, for people to look at. Metrics hold the same figures, but give them to nobody in here.
use crate::config::EventKind;
use crate::hooks::report::{HookReport, Status};
use jiff::Timestamp;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One hook's figures.
#[derive(Debug)]
pub struct Tallied {
    /// The hook.
    pub hook: Arc<str>,
    /// By event.
    pub events: Vec<(EventKind, Tally)>,
}

/// What became of a hook on one event since it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Runs that ended well.
    pub ran: u64,
    /// Events that it was not for.
    pub skipped: u64,
    /// Runs that failed.
    pub failed: u64,
    /// What all runs took, in microseconds.
    pub took_us: u64,
    /// What it would have done in mode audit, by effect.
    pub would: BTreeMap<&'static str, u64>,
    /// Its last failure.
    pub last_failure: Option<(Timestamp, String)>,
}

#[derive(Debug, Default)]
pub(super) struct Tallies {
    ran: AtomicU64,
    skipped: AtomicU64,
    failed: AtomicU64,
    took_us: AtomicU64,
    would: Mutex<BTreeMap<&'static str, u64>>,
    last_failure: Mutex<Option<(Timestamp, String)>>,
}

impl Tallies {
    pub(super) fn skip(&self) {
        self.skipped.fetch_add(1, Relaxed);
    }

    /// A run, and what an audited hook would have done.
    pub(super) fn count(&self, report: &HookReport, would: &[&'static str]) {
        match &report.status {
            Status::SkippedByWhen => return self.skip(),
            Status::Ran => self.ran.fetch_add(1, Relaxed),
            Status::Failed(failure) => {
                *self.last_failure.lock() = Some((Timestamp::now(), failure.to_string()));
                self.failed.fetch_add(1, Relaxed)
            }
        };
        self.took_us.fetch_add(u64::try_from(report.duration.as_micros()).unwrap_or(u64::MAX), Relaxed);
        if !would.is_empty() {
            let mut counted = self.would.lock();
            for effect in would {
                *counted.entry(effect).or_default() += 1;
            }
        }
    }

    pub(super) fn now(&self) -> Tally {
        Tally {
            ran: self.ran.load(Relaxed),
            skipped: self.skipped.load(Relaxed),
            failed: self.failed.load(Relaxed),
            took_us: self.took_us.load(Relaxed),
            would: self.would.lock().clone(),
            last_failure: self.last_failure.lock().clone(),
        }
    }
}
