//! Facts of messages by the raw text that they were computed from, so that a long history is parsed once and not per
//! request. What a text says depends on the client's profile (its reminders), so the profile is part of the key.
use crate::context::ItemFacts;
use crate::dialect::{DialectId, FactsCache};
use foldhash::fast::RandomState;
use moka::sync::Cache;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Bytes of facts that are kept: some 200,000 messages of the usual size, which is 500 long sessions.
const CAPACITY: u64 = 48 << 20;
/// What one entry costs beside its ids: the struct, the Arc and the cache's own node.
const ENTRY_OVERHEAD: usize = 200;

/// The cache, shared by all requests.
#[derive(Clone)]
pub struct Facts {
    cache: Cache<u128, Arc<ItemFacts>, RandomState>,
    seed: u64,
}

impl Facts {
    /// An empty cache. `seed` should be random: it keeps a client from aiming at another text's key.
    pub fn new(seed: u64) -> Self {
        let weigh = |_: &u128, facts: &Arc<ItemFacts>| {
            let ids: usize = facts.calls.iter().chain(&facts.results).map(|id| id.len() + size_of::<String>()).sum();
            u32::try_from(ENTRY_OVERHEAD + ids).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(CAPACITY).weigher(weigh);
        Self { cache: cache.build_with_hasher(RandomState::default()), seed }
    }

    /// The view of one dialect and one profile on it.
    pub fn of<'a>(&'a self, dialect: DialectId, profile: &str) -> ScopedFacts<'a> {
        let scope = xxh3_128_with_seed(profile.as_bytes(), self.seed ^ dialect as u64);
        ScopedFacts { facts: self, seed: (scope as u64) ^ ((scope >> 64) as u64) }
    }
}

/// [`Facts`] for one dialect and profile.
pub struct ScopedFacts<'a> {
    facts: &'a Facts,
    seed: u64,
}

impl FactsCache for ScopedFacts<'_> {
    fn facts(&self, raw: &str, compute: &dyn Fn() -> ItemFacts) -> Arc<ItemFacts> {
        let key = xxh3_128_with_seed(raw.as_bytes(), self.seed);
        if let Some(known) = self.facts.cache.get(&key) {
            return known;
        }
        let facts = Arc::new(compute());
        self.facts.cache.insert(key, facts.clone());
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_text_is_read_once_per_profile() {
        let facts = Facts::new(7);
        let reads = Cell::new(0);
        let read = |profile: &str, text: &str| {
            facts.of(DialectId::Chat, profile).facts(text, &|| {
                reads.set(reads.get() + 1);
                ItemFacts::default()
            });
        };
        read("generic", "x");
        read("generic", "x");
        assert_eq!(reads.get(), 1);
        read("codex", "x");
        read("generic", "y");
        assert_eq!(reads.get(), 3);
    }
}
