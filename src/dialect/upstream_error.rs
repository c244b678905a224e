//! The words of an upstream's error: for the log and `session.fail`, and for a client that is to read them as its own.
use serde_json::Value;

/// Most that is kept of an error's text, in characters: enough for every provider's message, and no page of HTML.
const MAX_ERROR_CHARS: usize = 1_000;

/// How an upstream names its error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorWords {
    /// Its class: the `type` of Anthropic and OpenAI, the `status` of Gemini.
    pub kind: Option<String>,
    /// OpenAI's `code`.
    pub code: Option<String>,
    /// For people.
    pub message: Option<String>,
}

impl ErrorWords {
    /// From the body of an error answer, or an error event in a stream.
    pub fn of(data: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(data).unwrap_or_default();
        let nested = ["/error", "/response/error"].iter().find_map(|at| value.pointer(at));
        let error = nested.filter(|error| !error.is_null()).unwrap_or(&value);
        let word = |keys: &[&str]| keys.iter().find_map(|key| error.get(key)?.as_str()).map(clip);
        let message = error.as_str().map(clip).or_else(|| word(&["message"]));
        // What only stands in an event is the event's type.
        let kind = word(&["type", "status"]).filter(|kind| kind != "error");
        Self { kind, code: word(&["code"]), message }
    }
}

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
    fn a_class_a_code_and_a_message_are_found_in_every_dialect() {
        let cases = [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}"#,
                "overloaded_error",
                "",
                "Busy",
            ),
            (
                r#"{"error":{"message":"Slow","type":"tokens","code":"rate_limit","param":null}}"#,
                "tokens",
                "rate_limit",
                "Slow",
            ),
            (r#"{"error":{"code":503,"message":"Busy","status":"UNAVAILABLE"}}"#, "UNAVAILABLE", "", "Busy"),
            (r#"{"type":"error","code":"server_error","message":"Oh","sequence_number":3}"#, "", "server_error", "Oh"),
            (
                r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"Oh"}}}"#,
                "",
                "server_error",
                "Oh",
            ),
            (r#"{"error":"no"}"#, "", "", "no"),
            ("<html>502</html>", "", "", ""),
            ("{}", "", "", ""),
        ];
        for (data, kind, code, message) in cases {
            let found = ErrorWords::of(data.as_bytes());
            let found = [found.kind, found.code, found.message].map(Option::unwrap_or_default);
            assert_eq!(found, [kind, code, message], "{data}");
        }
    }

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
