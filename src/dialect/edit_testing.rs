//! What the tests of edits need.
use super::testing::view;
use super::{EditError, of};
use crate::context::Edit;
use serde_json::Value;

/// The body after one edit. What results must be a body that can be read again.
pub(super) fn edited(path: &str, body: &str, edit: &Value) -> Result<String, EditError> {
    edited_behind(0, path, body, edit)
}

/// [`edited`], where the first instruction blocks have to stay first and untouched.
pub(super) fn edited_behind(protected: usize, path: &str, body: &str, edit: &Value) -> Result<String, EditError> {
    let endpoint = super::endpoint(&http::Method::POST, path, None).unwrap();
    let edit: Edit = serde_json::from_value(edit.clone()).unwrap();
    let (doc, mut read) = view(path, body).unwrap();
    read.protected = protected;
    let splice = of(endpoint.dialect).edit(&doc, &read, &edit)?;
    let text = String::from_utf8(splice.apply(doc.bytes()).unwrap().to_bytes().to_vec()).unwrap();
    assert!(view(path, &text).is_ok(), "{edit:?} made {text} of {body}");
    Ok(text)
}

/// The roster of a body.
pub(super) fn roster(path: &str, body: &str) -> Option<Vec<String>> {
    let endpoint = super::endpoint(&http::Method::POST, path, None).unwrap();
    let (doc, read) = view(path, body).unwrap();
    of(endpoint.dialect).roster(&doc, &read)
}

/// Edits of every kind, for bodies with the tools `Read`, `Bash` and `web_search`.
pub(super) fn every_edit() -> Vec<Value> {
    use serde_json::json;
    let edits = json!([
        {"op": "system.prepend", "text": "NEW"},
        {"op": "system.append", "text": "NEW"},
        {"op": "system.replace", "text": "NEW"},
        {"op": "system.replace", "text": "NEW", "match": "rules"},
        {"op": "messages.append", "text": "NEW"},
        {"op": "messages.redact", "pattern": "q", "with": "***"},
        {"op": "messages.redact", "pattern": "(?s).*", "with": ""},
        {"op": "messages.remove", "match": {"index": 0}},
        {"op": "messages.remove", "match": {"index": 1}},
        {"op": "messages.remove", "match": {"index": 2}},
        {"op": "messages.remove", "match": {"index": 3}},
        {"op": "messages.remove", "match": {"role": "assistant"}},
        {"op": "messages.remove", "match": {"role": "tool"}},
        {"op": "messages.remove", "match": {"role": "system"}},
        {"op": "messages.remove", "match": {"regex": "q2|said"}},
        {"op": "messages.remove", "match": {"role": "user", "regex": "q1"}},
        {"op": "messages.replace", "match": {"index": 0}, "text": "NEW"},
        {"op": "messages.replace", "match": {"role": "assistant"}, "text": "NEW"},
        {"op": "messages.replace", "match": {"role": "tool"}, "text": "NEW"},
        {"op": "messages.replace", "match": {"role": "user"}, "text": "NEW"},
        {"op": "tools.remove", "names": "Bash"},
        {"op": "tools.remove", "names": ["Read", "web*"]},
        {"op": "tools.remove", "names": "*"},
        {"op": "tools.keep", "names": "Read"},
        {"op": "tools.describe", "name": "Read", "text": "NEW"},
        {"op": "tools.replace", "name": "Bash", "tool": {"name": "Shell", "description": "d"}},
        {"op": "tools.replace", "name": "Bash", "tool": {"name": "Read"}},
        {"op": "tools.add", "tool": {"name": "Shell", "input_schema": {"type": "object"}}},
        {"op": "tools.add", "tool": {"name": "Read"}},
        {"op": "tool_choice.set", "choice": "auto"},
        {"op": "tool_choice.set", "choice": "none"},
        {"op": "tool_choice.set", "choice": "required"},
        {"op": "tool_choice.set", "choice": "Bash"},
        {"op": "params.set", "max_tokens": 2000, "temperature": 0.5, "stop": ["x"], "reasoning_effort": "low"},
        {"op": "params.set", "max_tokens": 100, "response_format": {"type": "object"}},
        {"op": "params.clamp", "max_tokens": 1500, "temperature": 0.1, "top_p": 0.1},
        {"op": "params.clamp", "max_tokens": 50},
        {"op": "params.remove", "names": ["temperature", "reasoning_effort", "response_format", "stop"]},
        {"op": "model.set", "name": "m"},
        {"op": "headers.remove", "names": ["x"]},
        {"op": "native", "dialect": "chat", "patch": [{"op": "remove", "path": "/messages"}]},
    ]);
    edits.as_array().unwrap().clone()
}
