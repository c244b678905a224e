//! Counters of every turn, looked up once: a look-up by name and labels costs more than the counting.
use crate::context::Usage;
use crate::session::prefix::Kept;
use crate::telemetry::names;
use metrics::{Counter, counter};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Models that have figures of their own, and bytes of a name: what a client writes must not grow the metrics, though only
/// names that an upstream has answered come here.
const MAX_MODELS: usize = 64;
const MAX_NAME: usize = 96;
/// The others.
const OTHER: &str = "other";

/// What is counted. One for all configurations of a process, since the bounds are the process's.
#[derive(Clone)]
pub(super) struct Meters {
    models: Arc<Mutex<HashMap<String, Tokens>>>,
    prefix_client: Counter,
    prefix_kept: Counter,
    injected: Counter,
}

/// Of one model.
#[derive(Clone)]
struct Tokens {
    input: Counter,
    cached_input: Counter,
    output: Counter,
}

impl Tokens {
    fn of(model: &str) -> Self {
        let of = |kind: &'static str| counter!(names::TOKENS, "kind" => kind, "model" => model.to_owned());
        Self { input: of("input"), cached_input: of("cached_input"), output: of("output") }
    }
}

impl Meters {
    /// Of the recorder that is installed now.
    pub(super) fn new() -> Self {
        Self {
            models: Arc::default(),
            prefix_client: counter!(names::PREFIX_CLIENT_BYTES),
            prefix_kept: counter!(names::PREFIX_KEPT_BYTES),
            injected: counter!(names::INJECTED_CHARS),
        }
    }

    /// Tokens of one answer of this model.
    pub(super) fn tokens(&self, model: &str, usage: &Usage) {
        let tokens = self.of(model);
        tokens.input.increment(usage.input);
        tokens.cached_input.increment(usage.cached_input);
        tokens.output.increment(usage.output);
    }

    fn of(&self, model: &str) -> Tokens {
        let mut models = self.models.lock();
        if let Some(tokens) = models.get(model) {
            return tokens.clone();
        }
        let is_own = models.len() < MAX_MODELS && !model.is_empty() && model.len() <= MAX_NAME;
        if !is_own {
            return Tokens::of(OTHER);
        }
        models.entry(model.to_owned()).or_insert_with(|| Tokens::of(model)).clone()
    }

    /// Characters of hooks' texts that were placed.
    pub(super) fn injected(&self, chars: usize) {
        self.injected.increment(chars as u64);
    }

    /// What of the request before is a prefix of this one.
    pub(super) fn prefix(&self, kept: &Kept) {
        self.prefix_client.increment(kept.client);
        self.prefix_kept.increment(kept.sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_beyond_the_bound_share_one_figure() {
        let meters = Meters::new();
        for number in 0..MAX_MODELS * 2 {
            meters.tokens(&format!("model-{number}"), &Usage::default());
        }
        meters.tokens(&"x".repeat(MAX_NAME + 1), &Usage::default());
        meters.tokens("", &Usage::default());
        assert_eq!(meters.models.lock().len(), MAX_MODELS);
    }
}
