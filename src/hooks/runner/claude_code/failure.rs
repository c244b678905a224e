//! `error` of `StopFailure`: Claude Code's word for why a turn failed.
use crate::hooks::contract::Event;

/// `reason` of a turn that ran into its token limit.
const LENGTH: &str = "length";

/// What an upstream's status or error type says, in the order in which they are looked for.
const WORDS: [(&str, &str); 21] = [
    ("HTTP status 400", "invalid_request"),
    ("HTTP status 401", "authentication_failed"),
    ("HTTP status 402", "billing_error"),
    ("HTTP status 403", "authentication_failed"),
    ("HTTP status 404", "model_not_found"),
    ("HTTP status 413", "invalid_request"),
    ("HTTP status 422", "invalid_request"),
    ("HTTP status 429", "rate_limit"),
    ("HTTP status 503", "overloaded"),
    ("HTTP status 529", "overloaded"),
    ("HTTP status 5", "server_error"),
    ("rate_limit", "rate_limit"),
    ("RESOURCE_EXHAUSTED", "rate_limit"),
    ("overloaded", "overloaded"),
    ("UNAVAILABLE", "overloaded"),
    ("authentication", "authentication_failed"),
    ("billing", "billing_error"),
    ("insufficient_quota", "billing_error"),
    ("invalid_request", "invalid_request"),
    ("server_error", "server_error"),
    // Anthropic's name for an error of its own.
    ("api_error", "server_error"),
];

/// Its word.
pub(super) fn of(event: &Event) -> &'static str {
    if event.reason.as_deref() == Some(LENGTH) {
        return "max_output_tokens";
    }
    let details = details(event);
    WORDS.into_iter().find(|(begin, _)| details.starts_with(begin)).map_or("unknown", |(_, word)| word)
}

/// What is known of it: the upstream's words, else the gateway's.
pub(super) fn details(event: &Event) -> &str {
    let said = event.turn.as_ref().and_then(|turn| turn.error.as_deref());
    said.or(event.reason.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::runner::testing::{event, turn};

    #[test]
    fn statuses_and_types_have_their_word() {
        for (reason, error, expected) in [
            ("length", None, "max_output_tokens"),
            ("cut", None, "unknown"),
            ("refusal", None, "unknown"),
            ("upstream_error", Some("HTTP status 429"), "rate_limit"),
            ("upstream_error", Some("HTTP status 529"), "overloaded"),
            ("upstream_error", Some("HTTP status 500"), "server_error"),
            ("upstream_error", Some("HTTP status 401"), "authentication_failed"),
            ("upstream_error", Some("overloaded_error: Overloaded"), "overloaded"),
            ("upstream_error", Some("api_error: oops"), "server_error"),
            ("upstream_error", Some("insufficient_quota: pay"), "billing_error"),
            ("upstream_error", Some("connection refused"), "unknown"),
        ] {
            let mut failed = event();
            failed.reason = Some(reason.into());
            failed.turn = Some(crate::hooks::contract::TurnInfo { error: error.map(str::to_owned), ..turn("") });
            assert_eq!(of(&failed), expected, "{reason} {error:?}");
            assert_eq!(details(&failed), error.unwrap_or(reason));
        }
    }
}
