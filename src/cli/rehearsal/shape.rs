//! Which path a body is for, when nobody says it.
use crate::hooks::model::family;
use serde_json::Value;

/// A path, and what in the body speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Assumed {
    /// The path.
    pub(in crate::cli) path: String,
    /// Why, in words that follow "because".
    pub(in crate::cli) because: &'static str,
}

/// Stands in a Gemini path for the model that the body does not name.
const SOME_MODEL: &str = "gemini";

/// The path that a body of this shape is sent to; `None` when it has none of the known shapes.
pub(in crate::cli) fn assume(body: &Value) -> Option<Assumed> {
    let has = |key: &str| body.get(key).is_some();
    let assumed = |path: &str, because| Some(Assumed { path: path.to_owned(), because });
    if has("contents") {
        let model = body.get("model").and_then(Value::as_str).unwrap_or(SOME_MODEL);
        let model = model.strip_prefix("models/").unwrap_or(model);
        return assumed(&format!("/v1beta/models/{model}:generateContent"), "the body has `contents`");
    }
    if has("input") || has("previous_response_id") {
        return assumed("/v1/responses", "the body has `input`");
    }
    if !has("messages") {
        return None;
    }
    if let Some(because) = anthropic(body) {
        return assumed("/v1/messages", because);
    }
    if let Some(because) = chat(body) {
        return assumed("/v1/chat/completions", because);
    }
    match has("max_tokens") {
        true => assumed("/v1/messages", "the body has `messages` and `max_tokens`"),
        false => assumed("/v1/chat/completions", "the body has `messages` and no `max_tokens`"),
    }
}

/// What only a Messages request has.
fn anthropic(body: &Value) -> Option<&'static str> {
    let model = body.get("model").and_then(Value::as_str).map(family);
    let is_bare = |tool: &Value| tool.get("input_schema").is_some();
    if body.get("system").is_some() {
        Some("the body has `messages` and `system`")
    } else if each(body, "tools").any(is_bare) {
        Some("its tools have an `input_schema`")
    } else if body.get("thinking").is_some() || body.get("stop_sequences").is_some() {
        Some("the body has parameters of the Messages API")
    } else if model == Some("claude") && body.get("max_tokens").is_some() {
        Some("the body has `messages` and `max_tokens`, and the model is a Claude")
    } else {
        None
    }
}

/// What only a Chat Completions request has.
fn chat(body: &Value) -> Option<&'static str> {
    /// Parameters that the Messages API does not know.
    const OWN: [&str; 5] =
        ["max_completion_tokens", "response_format", "stream_options", "frequency_penalty", "reasoning_effort"];
    let role = |message: &Value| message.get("role").and_then(Value::as_str).map(str::to_owned);
    let is_own = |role: &str| matches!(role, "system" | "developer" | "tool");
    if each(body, "messages").filter_map(role).any(|role| is_own(&role)) {
        Some("its messages have the roles of Chat Completions")
    } else if each(body, "tools").any(|tool| tool.get("function").is_some()) {
        Some("its tools have a `function`")
    } else if OWN.iter().any(|key| body.get(key).is_some()) {
        Some("the body has parameters of Chat Completions")
    } else if body.get("model").and_then(Value::as_str).map(family) == Some("gpt") {
        Some("the body has `messages`, and the model is a GPT")
    } else {
        None
    }
}

fn each<'a>(body: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    body.get(key).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_shape_of_a_body_says_whose_it_is() {
        let message = || json!([{"role": "user", "content": "x"}]);
        let system = json!([{"role": "system", "content": "x"}]);
        for (body, path) in [
            (json!({"messages": message(), "max_tokens": 9}), "/v1/messages"),
            (json!({"messages": message(), "max_tokens": 9, "model": "claude-haiku-4-5"}), "/v1/messages"),
            (json!({"messages": message(), "system": "x"}), "/v1/messages"),
            (json!({"messages": message(), "tools": [{"name": "a", "input_schema": {}}]}), "/v1/messages"),
            (json!({"messages": message()}), "/v1/chat/completions"),
            (json!({"messages": system, "max_tokens": 9}), "/v1/chat/completions"),
            (json!({"messages": message(), "max_tokens": 9, "model": "gpt-5"}), "/v1/chat/completions"),
            (json!({"messages": message(), "max_tokens": 9, "tools": [{"function": {}}]}), "/v1/chat/completions"),
            (json!({"input": "x"}), "/v1/responses"),
            (json!({"contents": [], "model": "models/gemini-3"}), "/v1beta/models/gemini-3:generateContent"),
            (json!({"contents": []}), "/v1beta/models/gemini:generateContent"),
        ] {
            assert_eq!(assume(&body).map(|assumed| assumed.path).as_deref(), Some(path), "{body}");
        }
        assert_eq!(assume(&json!({"prompt": "x"})), None);
    }
}
