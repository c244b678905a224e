//! A store that says how long it takes.
use super::{Change, Pair, Shared, Store, StoreError};
use crate::telemetry::names;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use metrics::Histogram;
use std::sync::Arc;
use std::time::Instant;

/// Another store, measured.
pub struct Measured {
    store: Arc<dyn Store>,
    get: Histogram,
    compare_and_set: Histogram,
    write: Histogram,
    scan: Histogram,
    flush: Histogram,
}

impl Measured {
    /// `store` in the figures of the recorder that is installed now.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let of = |op: &'static str| metrics::histogram!(names::STORE_SECONDS, "op" => op);
        Self {
            store,
            get: of("get"),
            compare_and_set: of("compare_and_set"),
            write: of("write"),
            scan: of("scan"),
            flush: of("flush"),
        }
    }
}

fn timed<'a, T: 'a>(seconds: &'a Histogram, work: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
    let started = Instant::now();
    work.inspect(move |_| seconds.record(started.elapsed())).boxed()
}

impl Store for Measured {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        timed(&self.get, self.store.get(key))
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        timed(&self.compare_and_set, self.store.compare_and_set(key, expected, new))
    }

    fn write(&self, batch: Vec<Change>) -> BoxFuture<'_, Result<(), StoreError>> {
        timed(&self.write, self.store.write(batch))
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<Vec<u8>>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>> {
        timed(&self.scan, self.store.scan(prefix, after, limit))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        timed(&self.flush, self.store.flush())
    }

    fn shared(&self) -> Option<&dyn Shared> {
        self.store.shared()
    }
}
