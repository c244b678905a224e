//! What the two OpenAI dialects share: how a message is read, how its facts are taken, where text goes in, and the
//! shape of errors. Chat Completions and Responses differ in the names of members, not in what a message is.

pub(super) mod answer;
pub(super) mod copy;
pub(super) mod edit;
pub(super) mod element;
pub(super) mod error;
pub(super) mod history;
pub(super) mod insert;
pub(super) mod neutral;
pub(super) mod omit;
pub(super) mod restore;
#[cfg(test)]
pub(super) mod testing;
pub(super) mod usage;

use super::object::Object;
use super::{AnswerForm, Endpoint};
use crate::context::{Item, Operation};
use crate::json::{Doc, Kind, Member};
use bytes::Bytes;
use percent_encoding::percent_decode_str;

/// The operation whose path `path` ends with; a prefix may stand before it, and servers take a trailing slash as well.
pub(super) fn operation(method: &http::Method, path: &str, table: &[(&str, Operation)]) -> Option<Operation> {
    if method != http::Method::POST {
        return None;
    }
    // Decoded, as an upstream might: an endpoint must not hide behind an escape.
    let path = percent_decode_str(path).decode_utf8_lossy();
    let path = path.strip_suffix('/').unwrap_or(&path);
    table.iter().find(|(end, _)| path.strip_suffix(end).is_some_and(|rest| rest.ends_with('/'))).map(|(_, op)| *op)
}

/// The deployment that an Azure path names: `/openai/deployments/NAME/…`.
pub(super) fn deployment(path: &str) -> Option<String> {
    let (_, rest) = path.split_once("/deployments/")?;
    rest.split('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The model: the body's, or the one that the path names (Azure deployments).
pub(super) fn model(doc: &Doc, endpoint: &Endpoint) -> Option<String> {
    text_of(doc, "model").or_else(|| endpoint.model.clone())
}

/// The form of the answer: `stream` decides.
pub(super) fn form(doc: &Doc) -> AnswerForm {
    match set(doc, "stream").map(|m| doc.text(m.value)) {
        Some("true") => AnswerForm::Sse,
        _ => AnswerForm::Json,
    }
}

/// A top-level member that is there and not null.
pub(super) fn set<'a>(doc: &'a Doc, key: &str) -> Option<&'a Member> {
    doc.get(key).filter(|m| m.kind != Kind::Null)
}

/// A top-level string, unescaped.
pub(super) fn text_of(doc: &Doc, key: &str) -> Option<String> {
    crate::json::raw::string(doc.text(set(doc, key)?.value)).map(std::borrow::Cow::into_owned)
}

/// A top-level whole number.
pub(super) fn count_of(doc: &Doc, key: &str) -> Option<u64> {
    doc.text(set(doc, key)?.value).parse().ok()
}

/// A keep-alive: a comment in a stream (a `keepalive` event before `response.created` breaks the SDKs' helpers, and Chat
/// has no such event), white space ahead of a JSON body.
pub(super) fn keep_alive(form: AnswerForm) -> Bytes {
    match form {
        AnswerForm::Sse => Bytes::from_static(b": keep-alive\n\n"),
        AnswerForm::Json | AnswerForm::JsonArray => Bytes::from_static(b"\n"),
    }
}

/// Whether a format object asks for JSON.
pub(super) fn is_json_format(format: &Object<'_>) -> bool {
    matches!(format.string("type").as_deref(), Some("json_object" | "json_schema"))
}

/// Cache markers in the history.
pub(super) fn markers(items: &[Item]) -> usize {
    items.iter().map(|i| usize::from(i.facts.markers)).sum()
}
