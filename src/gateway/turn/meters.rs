//! Counters of every turn, looked up once: a look-up by name and labels costs more than the counting.
use crate::context::Usage;
use crate::session::prefix::Kept;
use crate::telemetry::names;
use metrics::{Counter, counter};

/// What is counted.
pub(super) struct Meters {
    input: Counter,
    cached_input: Counter,
    output: Counter,
    prefix_client: Counter,
    prefix_kept: Counter,
}

impl Meters {
    /// Of the recorder that is installed now.
    pub(super) fn new() -> Self {
        Self {
            input: counter!(names::TOKENS, "kind" => "input"),
            cached_input: counter!(names::TOKENS, "kind" => "cached_input"),
            output: counter!(names::TOKENS, "kind" => "output"),
            prefix_client: counter!(names::PREFIX_CLIENT_BYTES),
            prefix_kept: counter!(names::PREFIX_KEPT_BYTES),
        }
    }

    /// Tokens of one answer.
    pub(super) fn tokens(&self, usage: &Usage) {
        self.input.increment(usage.input);
        self.cached_input.increment(usage.cached_input);
        self.output.increment(usage.output);
    }

    /// What of the request before is a prefix of this one.
    pub(super) fn prefix(&self, kept: &Kept) {
        self.prefix_client.increment(kept.client);
        self.prefix_kept.increment(kept.sent);
    }
}
