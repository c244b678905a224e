//! What hooks cost of providers' caches: how often a prompt's prefix broke at their text, and what was read again for it.
use super::request::Cache;
use foldhash::HashMap;
use serde::Serialize;
use utoipa::ToSchema;

/// Hooks that are counted; a pipeline has far fewer, and a slot's name can be anything.
const MAX_HOOKS: usize = 1024;

/// Breaks at one hook's text since the start of the gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Break {
    /// How often.
    pub count: u64,
    /// What was in front of the provider's cache no more, in bytes of the client's.
    pub bytes: u64,
    /// Tokens that were read again, estimated by bytes.
    pub reread_tokens: u64,
}

/// By hook.
#[derive(Debug, Default)]
pub(super) struct Breaks(HashMap<String, Break>);

impl Breaks {
    /// A request is over whose prefix broke at the texts of some hooks. Each bears the whole: either would have cost it.
    pub(super) fn count(&mut self, cache: &Cache) {
        for hook in &cache.broken_by {
            if self.0.len() >= MAX_HOOKS && !self.0.contains_key(hook) {
                continue;
            }
            let of = self.0.entry(hook.clone()).or_default();
            of.count += 1;
            of.bytes += cache.client.saturating_sub(cache.sent);
            of.reread_tokens += cache.reread_tokens.unwrap_or_default();
        }
    }

    pub(super) fn of(&self, hook: &str) -> Break {
        self.0.get(hook).copied().unwrap_or_default()
    }
}

impl Cache {
    /// Estimates what was read again, of a request whose input took `tokens` for `bytes`; at most what was not `cached`.
    pub(super) fn estimate(&mut self, tokens: u64, cached: u64, bytes: usize) {
        if self.broken_by.is_empty() || bytes == 0 {
            return;
        }
        let lost = u128::from(self.client.saturating_sub(self.sent));
        let estimate = lost * u128::from(tokens.saturating_add(cached)) / bytes as u128;
        self.reread_tokens = Some(u64::try_from(estimate).unwrap_or(u64::MAX).min(tokens));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_again_is_the_lost_part_of_the_input_and_at_most_what_was_not_cached() {
        for (client, sent, tokens, cached, bytes, expected) in
            [(800, 0, 1000, 0, 1000, 800), (800, 400, 500, 500, 1000, 400), (800, 0, 100, 900, 1000, 100)]
        {
            let mut cache = Cache { before: 900, client, sent, broken_by: vec!["a".into()], reread_tokens: None };
            cache.estimate(tokens, cached, bytes);
            assert_eq!(cache.reread_tokens, Some(expected), "{client} {sent} {tokens} {cached}");
        }
        let mut whole = Cache::default();
        whole.estimate(10, 10, 10);
        assert_eq!(whole.reread_tokens, None, "nothing broke");
    }

    #[test]
    fn breaks_are_counted_by_hook() {
        let mut breaks = Breaks::default();
        let cache =
            Cache { before: 9, client: 9, sent: 2, broken_by: vec!["a".into(), "b".into()], reread_tokens: Some(3) };
        breaks.count(&cache);
        breaks.count(&Cache { broken_by: vec!["a".into()], ..cache });
        assert_eq!(breaks.of("a"), Break { count: 2, bytes: 14, reread_tokens: 6 });
        assert_eq!(breaks.of("b"), Break { count: 1, bytes: 7, reread_tokens: 3 });
        assert_eq!(breaks.of("c"), Break::default());
    }
}
