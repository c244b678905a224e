//! Names of the metrics, as Prometheus shows them.
//!
//! `catalog!` is the only place where a metric is named: the constant, its HELP text and [`ALL`], against which the
//! documentation and the dashboard are tested, come from it. A label has few values: no session's id, no path, and of models
//! those that an upstream has answered, up to a bound.

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by size, in buckets.
    Histogram,
}

/// One metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What tells its series apart.
    pub labels: &'static [&'static str],
    /// What it counts.
    pub help: &'static str,
}

macro_rules! catalog {
    ($( #[doc = $first:literal] $( #[doc = $more:literal] )* $kind:ident $constant:ident = $name:literal [$($label:literal),*]; )*) => {
        $( #[doc = $first] $( #[doc = $more] )* pub const $constant: &str = $name; )*

        /// All of them.
        pub const ALL: &[Metric] = &[$( Metric {
            name: $name,
            kind: Kind::$kind,
            labels: &[$($label),*],
            help: concat!($first $(, $more)*).trim_ascii(),
        } ),*];
    };
}

catalog! {
    /// Requests answered, by dialect and status class (2xx).
    Counter REQUESTS = "hookgate_requests_total" ["dialect", "status"];
    /// Seconds of a request from its head to the last byte of its answer.
    Histogram REQUEST_SECONDS = "hookgate_request_seconds" ["dialect"];
    /// Seconds that the gateway itself took until it had the answer's head: without waiting for the client's body and for
    /// the upstream, hooks included.
    Histogram OVERHEAD_SECONDS = "hookgate_overhead_seconds" ["dialect"];
    /// Seconds until the upstream's head arrived.
    Histogram UPSTREAM_SECONDS = "hookgate_upstream_head_seconds" ["upstream"];
    /// Requests in flight, until the last byte of the answer.
    Gauge IN_FLIGHT = "hookgate_requests_in_flight" [];
    /// Bytes of request bodies in memory.
    Gauge BUFFERED_BYTES = "hookgate_buffered_bytes" [];
    /// Errors of the gateway's own making, by code (as in x-hookgate-error).
    Counter ERRORS = "hookgate_errors_total" ["code"];
    /// Answers that the upstream broke off, or that were idle for too long.
    Counter STREAMS_CUT = "hookgate_streams_cut_total" [];
    /// Answers whose client left before the end.
    Counter CLIENT_GONE = "hookgate_client_gone_total" [];

    /// Turns that ended, by outcome: completed, step, failed.
    Counter TURNS = "hookgate_turns_total" ["outcome", "dialect"];
    /// Turns that a hook or a message wanted to continue, by result: continued, message, lost (the further answer failed), or
    /// why it was not done (cap, max_requests, circle, not_possible, upstream, gone).
    Counter CONTINUATIONS = "hookgate_continuations_total" ["result"];
    /// Tokens of turns as providers report them, by kind (input, cached_input, output) and resolved model; models beyond a
    /// bound are other.
    Counter TOKENS = "hookgate_tokens_total" ["kind", "model"];
    /// Characters of hooks' texts that were newly placed.
    Counter INJECTED_CHARS = "hookgate_injected_chars_total" [];
    /// Characters of hooks' texts that were cut or left out, over max_injected_context_chars.
    Counter TRUNCATED_CHARS = "hookgate_truncated_chars_total" ["hook"];
    /// Requests whose context could not be placed.
    Counter PLACEMENT_FAILED = "hookgate_placement_failed_total" ["dialect"];
    /// Bytes of the request before that the client itself kept as a prefix of the next.
    Counter PREFIX_CLIENT_BYTES = "hookgate_prefix_client_bytes_total" [];
    /// Of these, bytes that were also a prefix of what went up.
    Counter PREFIX_KEPT_BYTES = "hookgate_prefix_kept_bytes_total" [];
    /// Requests in which a hook's text broke a prefix that the client kept.
    Counter CACHE_BREAKS = "hookgate_cache_breaks_total" ["hook"];
    /// Requests whose history no longer holds a place where something was put, so that it was passed over.
    Counter REPLAY_LOST = "hookgate_replay_lost_total" [];

    /// Runs of hooks, by result: ok, skipped, failed.
    Counter HOOK_RUNS = "hookgate_hook_runs_total" ["hook", "event", "result"];
    /// Seconds that a hook took, without those that their condition skipped.
    Histogram HOOK_SECONDS = "hookgate_hook_duration_seconds" ["hook", "event"];
    /// Runs of audited hooks that would have changed something, by effect (context, clear_context, block, respond, continue,
    /// veto, tool.deny, tool.input, tool.result, edits); one that has several effects counts in each.
    Counter HOOK_AUDITS = "hookgate_hook_audits_total" ["hook", "event", "effect"];
    /// Worker processes that ended by themselves or had to be ended.
    Counter WORKER_ENDS = "hookgate_worker_ends_total" ["hook"];
    /// Tool calls that hooks changed, by ruling: denied, replaced, halted.
    Counter TOOL_CALLS = "hookgate_tool_calls_total" ["ruling"];
    /// Answers of nothing but refused tool calls, by result: answered (the model was told and went on), or why it was not told
    /// (cap, not_possible, upstream).
    Counter REFUSED_CALLS = "hookgate_refused_calls_total" ["result"];
    /// Proposals of knowledge, by result: new, known (waits or is approved already), refused.
    Counter PROPOSALS = "hookgate_proposals_total" ["result"];
    /// Messages of the session bus, by state: queued, delivered, refused.
    Counter MESSAGES = "hookgate_messages_total" ["state"];

    /// Activations of sessions that began, by source: startup, resume, compact.
    Counter SESSIONS_STARTED = "hookgate_sessions_started_total" ["source"];
    /// Activations of sessions that ended, by reason: idle, admin.
    Counter SESSIONS_ENDED = "hookgate_sessions_ended_total" ["reason"];
    /// Sessions in memory; others are in the store alone.
    Gauge SESSIONS_CACHED = "hookgate_sessions_cached" [];
    /// Seconds that the store took, by operation.
    Histogram STORE_SECONDS = "hookgate_store_seconds" ["op"];
    /// Failures of the store.
    Counter STORE_ERRORS = "hookgate_store_errors_total" ["kind"];
    /// Lines of the audit log.
    Counter AUDIT_LINES = "hookgate_audit_lines_total" [];
    /// Lines of the audit log that were dropped: the queue was full, or the file could not be written (io).
    Counter AUDIT_DROPPED = "hookgate_audit_dropped_total" ["reason"];
    /// Batches of spans that were sent to the collector of traces, by result: ok, failed.
    Counter TRACE_EXPORTS = "hookgate_trace_exports_total" ["result"];
    /// Configurations that were to take effect while the gateway ran, by result: ok, refused.
    Counter RELOADS = "hookgate_config_reloads_total" ["result"];
    /// Which configuration is in effect, counted from 1.
    Gauge CONFIG_VERSION = "hookgate_config_version" [];
    /// Since when it is in effect, in seconds since 1970.
    Gauge CONFIG_LOADED = "hookgate_config_loaded_timestamp_seconds" [];
}

/// Registers the descriptions; call once after the recorder is installed.
pub(super) fn describe() {
    for Metric { name, kind, help, .. } in ALL {
        match kind {
            Kind::Counter => metrics::describe_counter!(*name, *help),
            Kind::Gauge => metrics::describe_gauge!(*name, *help),
            Kind::Histogram => metrics::describe_histogram!(*name, *help),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions_of_prometheus() {
        for Metric { name, kind, labels, help } in ALL {
            assert!(name.starts_with("hookgate_"), "{name}");
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            assert!(*kind != Kind::Histogram || name.ends_with("_seconds"), "{name}");
            assert!(help.len() > 10 && !help.contains('\n'), "{name}: {help}");
            let unbounded = ["session", "agent", "path", "tenant", "id"];
            assert!(!labels.iter().any(|label| unbounded.contains(label)), "{name} {labels:?}");
        }
        let names: std::collections::BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
