//! The words of an upstream's error, for the log and `session.fail`.
use serde_json::Value;

/// Most that is kept of an error's text, in characters: enough for every provider's message, and no page of HTML.
const MAX_ERROR_CHARS: usize = 1_000;

/// The text of an error value: `{message, type | status | code}`, a bare string, or whatever it is.
pub(super) fn error_text(raw: &str) -> String {
    let value: Value = serde_json::from_str(raw).unwrap_or_else(|_| raw.into());
    let message = value.get("message").and_then(Value::as_str);
    let kind = ["type", "status", "code"].iter().find_map(|key| value.get(key).and_then(Value::as_str));
    let text = match (kind, message) {
        (Some(kind), Some(message)) => format!("{kind}: {message}"),
        (None, Some(message)) => message.to_owned(),
        _ => value.as_str().map_or_else(|| raw.to_owned(), str::to_owned),
    };
    clip(&text)
}

/// The text of an error body: its `error` member where it has one, else the beginning of the body.
pub(super) fn error_body(body: &[u8]) -> String {
    let value: Option<Value> = serde_json::from_slice(body).ok();
    match value.as_ref().and_then(|value| value.get("error")) {
        Some(error) => error_text(&error.to_string()),
        None => error_text(&String::from_utf8_lossy(body)),
    }
}

fn clip(text: &str) -> String {
    text.trim().chars().take(MAX_ERROR_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_an_error_has_words() {
        let cases = [
            (r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#, "overloaded_error: Overloaded"),
            (r#"{"error":{"code":503,"message":"Busy","status":"UNAVAILABLE"}}"#, "UNAVAILABLE: Busy"),
            (r#"{"error":"no"}"#, "no"),
            (r#"{"message":"Denied"}"#, "Denied"),
            ("<html>502</html>", "<html>502</html>"),
            ("", ""),
        ];
        for (body, expected) in cases {
            assert_eq!(error_body(body.as_bytes()), expected, "{body}");
        }
    }
}
