//! Names of the metrics, as Prometheus shows them.

/// Counter: requests answered, by `dialect` and `status` class (`2xx`).
pub const REQUESTS: &str = "hookgate_requests_total";
/// Gauge: requests in flight, until the last byte of the answer.
pub const IN_FLIGHT: &str = "hookgate_requests_in_flight";
/// Counter: errors of the gateway's own making, by `code` (as in `x-hookgate-error`).
pub const ERRORS: &str = "hookgate_errors_total";
/// Counter: answers that the upstream broke off, or that were idle for too long.
pub const STREAMS_CUT: &str = "hookgate_streams_cut_total";
/// Counter: answers whose client left before the end.
pub const CLIENT_GONE: &str = "hookgate_client_gone_total";
/// Gauge: bytes of request bodies in memory.
pub const BUFFERED_BYTES: &str = "hookgate_buffered_bytes";
/// Histogram: seconds until the upstream's head arrived, by `upstream`.
pub const UPSTREAM_SECONDS: &str = "hookgate_upstream_head_seconds";

/// Counter: turns that ended, by `outcome` (completed, step, failed) and `dialect`.
pub const TURNS: &str = "hookgate_turns_total";
/// Counter: tokens as providers report them, by `kind` (input, cached_input, output).
pub const TOKENS: &str = "hookgate_tokens_total";
/// Counter: proposals of knowledge, by `result`: new, known (waits or is approved already), refused.
pub const PROPOSALS: &str = "hookgate_proposals_total";
/// Counter: turns that a hook wanted to continue, by `result`: continued, lost (the further answer failed), or why it was
/// not done (cap, max_requests, circle, not_possible, upstream, gone).
pub const CONTINUATIONS: &str = "hookgate_continuations_total";
/// Counter: tool calls that hooks of `tool.call` changed, by `ruling`: denied, replaced.
pub const TOOL_CALLS: &str = "hookgate_tool_calls_total";
/// Counter: answers of nothing but refused tool calls, by `result`: answered (the model was told and went on), or why it
/// was not told (cap, not_possible, upstream).
pub const REFUSED_CALLS: &str = "hookgate_refused_calls_total";
/// Counter: requests whose context could not be placed, by `dialect`.
pub const PLACEMENT_FAILED: &str = "hookgate_placement_failed_total";
/// Counter: bytes of the request before that the client itself kept as a prefix of the next.
pub const PREFIX_CLIENT_BYTES: &str = "hookgate_prefix_client_bytes_total";
/// Counter: of these, bytes that were also a prefix of what went up.
pub const PREFIX_KEPT_BYTES: &str = "hookgate_prefix_kept_bytes_total";
/// Counter: requests in which a hook's text broke a prefix that the client kept, by `hook`.
pub const CACHE_BREAKS: &str = "hookgate_cache_breaks_total";
/// Counter: requests whose history no longer holds a place where something was put, so that it was passed over.
pub const REPLAY_LOST: &str = "hookgate_replay_lost_total";
/// Counter: runs of hooks, by `hook`, `event` and `result` (ok, skipped, failed).
pub const HOOK_RUNS: &str = "hookgate_hook_runs_total";
/// Counter: runs of audited hooks that would have changed something, by `hook`, `event` and `effect` (context,
/// clear_context, block, respond, continue, veto, tool.deny, tool.input, tool.result, edits); one that has several effects counts in each.
pub const HOOK_AUDITS: &str = "hookgate_hook_audits_total";
/// Histogram: seconds that a hook took, by `hook` and `event`; without those that their `when` skipped.
pub const HOOK_SECONDS: &str = "hookgate_hook_duration_seconds";
/// Counter: worker processes that ended by themselves or had to be ended, by `hook`.
pub const WORKER_ENDS: &str = "hookgate_worker_ends_total";
/// Counter: messages of the session bus, by `state` (queued, delivered, refused).
pub const MESSAGES: &str = "hookgate_messages_total";
/// Counter: failures of the store, by `kind`.
pub const STORE_ERRORS: &str = "hookgate_store_errors_total";
/// Counter: configurations that were to take effect while the gateway ran, by `result` (ok, refused).
pub const RELOADS: &str = "hookgate_config_reloads_total";
/// Gauge: which configuration is in effect, counted from 1.
pub const CONFIG_VERSION: &str = "hookgate_config_version";
/// Gauge: since when it is in effect, in seconds since 1970.
pub const CONFIG_LOADED: &str = "hookgate_config_loaded_timestamp_seconds";

/// Registers the descriptions; call once after the recorder is installed.
pub(super) fn describe() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
    describe_counter!(REQUESTS, "Requests answered, by dialect and status class");
    describe_gauge!(IN_FLIGHT, "Requests in flight, until the last byte of the answer");
    describe_counter!(ERRORS, "Errors of the gateway's own making, by code");
    describe_counter!(STREAMS_CUT, "Answers that the upstream broke off");
    describe_counter!(CLIENT_GONE, "Answers whose client left before the end");
    describe_gauge!(BUFFERED_BYTES, Unit::Bytes, "Bytes of request bodies in memory");
    describe_histogram!(UPSTREAM_SECONDS, Unit::Seconds, "Time until the upstream's head arrived");
    describe_counter!(TURNS, "Turns that ended, by outcome and dialect");
    describe_counter!(TOKENS, "Tokens as providers report them, by kind");
    describe_counter!(CONTINUATIONS, "Turns that a hook wanted to continue, by result");
    describe_counter!(TOOL_CALLS, "Tool calls that hooks changed, by ruling");
    describe_counter!(REFUSED_CALLS, "Answers of nothing but refused tool calls, by result");
    describe_counter!(PLACEMENT_FAILED, "Requests whose context could not be placed, by dialect");
    describe_counter!(PREFIX_CLIENT_BYTES, Unit::Bytes, "What clients kept of the request before as a prefix");
    describe_counter!(PREFIX_KEPT_BYTES, Unit::Bytes, "Of these, what was also a prefix of what went up");
    describe_counter!(CACHE_BREAKS, "Requests in which a hook's text broke a prefix that the client kept, by hook");
    describe_counter!(REPLAY_LOST, "Requests whose history no longer holds a place where something was put");
    describe_counter!(HOOK_RUNS, "Runs of hooks, by hook, event and result");
    describe_counter!(HOOK_AUDITS, "What audited hooks would have done, by hook, event and effect");
    describe_histogram!(HOOK_SECONDS, Unit::Seconds, "Time that a hook took, by hook and event");
    describe_counter!(WORKER_ENDS, "Worker processes that ended by themselves or had to be ended, by hook");
    describe_counter!(MESSAGES, "Messages of the session bus, by state");
    describe_counter!(STORE_ERRORS, "Failures of the store, by kind");
    describe_counter!(RELOADS, "Configurations that were to take effect while the gateway ran, by result");
    describe_gauge!(CONFIG_VERSION, "Which configuration is in effect, counted from 1");
    describe_gauge!(CONFIG_LOADED, Unit::Seconds, "Since when the configuration is in effect");
}
