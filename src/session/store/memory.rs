//! A store that forgets: for tests and for gateways that need to remember nothing.
use super::{Change, Pair, Store, StoreError};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Everything in one ordered map. It is as large as what is written to it: the records' own bounds are its bounds.
#[derive(Debug, Default)]
pub struct MemoryStore {
    map: Mutex<BTreeMap<Vec<u8>, Bytes>>,
}

impl MemoryStore {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }
}

fn put(map: &mut BTreeMap<Vec<u8>, Bytes>, key: Vec<u8>, value: Option<Bytes>) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}

impl Store for MemoryStore {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        ready(Ok(self.map.lock().get(key).cloned())).boxed()
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut map = self.map.lock();
        let matches = map.get(key) == expected.as_ref();
        if matches {
            put(&mut map, key.to_vec(), new);
        }
        ready(Ok(matches)).boxed()
    }

    fn write(&self, batch: Vec<Change>) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut map = self.map.lock();
        for (key, value) in batch {
            put(&mut map, key, value);
        }
        ready(Ok(())).boxed()
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<Vec<u8>>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>> {
        let from = match after {
            Some(key) if key.as_slice() >= prefix => Bound::Excluded(key),
            _ => Bound::Included(prefix.to_vec()),
        };
        let map = self.map.lock();
        let range = map.range((from, Bound::Unbounded)).take_while(|(key, _)| key.starts_with(prefix));
        ready(Ok(range.take(limit).map(|(key, value)| (key.clone(), value.clone())).collect())).boxed()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(Ok(())).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn conforms() {
        super::super::conformance::conforms(&MemoryStore::new()).await;
    }
}
