//! Anthropic Messages (`/v1/messages`, `count_tokens`, `batches`), also as other platforms and gateways serve it under a
//! prefix.
mod batch;
mod binder;
mod block;
mod body;
mod edit;
mod event;
mod events;
mod facts;
mod joiner;
mod legs;
mod lower;
mod neutral;
mod reader;
mod restore;
mod results;
mod said;
mod split;
#[cfg(test)]
mod tests;
mod tokens;
mod view;
mod writer;

use super::body_binder::BodyBinder;
use super::body_joiner::BodyJoiner;
use super::path::tail;
use super::{
    AnswerReader, Binder, Dialect, DialectId, EditError, Endpoint, Joiner, LowerError, NeutralRequest, Reading, Reply,
    ToolResult, ViewError, WireError,
};
use crate::context::answer::call_key as answer_call_key;
use crate::context::{AnswerForm, Binding, Call, Edit, Leg, Operation, Place, RequestView};
use crate::json::{Doc, Span, Splice};
use bytes::Bytes;
use std::sync::Arc;

/// The dialect.
#[derive(Debug, Clone, Copy)]
pub struct Anthropic;

impl Dialect for Anthropic {
    fn id(&self) -> DialectId {
        DialectId::Anthropic
    }

    fn endpoint(&self, method: &http::Method, path: &str, _query: Option<&str>) -> Option<Endpoint> {
        let operation = if method == http::Method::POST { operation(path)? } else { return None };
        Some(Endpoint { dialect: DialectId::Anthropic, operation, model: None, form: None })
    }

    fn view(&self, doc: &Doc, endpoint: &Endpoint, reading: &Reading<'_>) -> Result<RequestView, ViewError> {
        view::view(doc, endpoint, reading)
    }

    fn batch(&self, doc: &Doc) -> Result<Vec<Span>, ViewError> {
        batch::bodies(doc)
    }

    fn lower(&self, doc: &Doc, view: &RequestView, places: &[Place]) -> Result<Splice, LowerError> {
        lower::lower(doc, view, places)
    }

    fn rewrite(&self, doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError> {
        edit::edit(doc, view, edit)
    }

    fn roster(&self, doc: &Doc, view: &RequestView) -> Option<Vec<String>> {
        edit::roster(doc, view)
    }

    fn extend(&self, doc: &Doc, view: &RequestView, leg: &Leg) -> Result<Splice, LowerError> {
        legs::extend(doc, view, leg)
    }

    fn joiner(&self, form: AnswerForm) -> Box<dyn Joiner> {
        match form {
            AnswerForm::Sse => Box::new(joiner::StreamJoiner::default()),
            AnswerForm::Json | AnswerForm::JsonArray => Box::new(BodyJoiner::<body::Messages>::default()),
        }
    }

    fn binder(&self, form: AnswerForm, binding: Arc<Binding>) -> Box<dyn Binder> {
        match form {
            AnswerForm::Sse => Box::new(binder::StreamBinder::new(binding)),
            AnswerForm::Json | AnswerForm::JsonArray => Box::new(BodyBinder::<binder::BoundMessage>::new(binding)),
        }
    }

    fn native_calls(&self, answer: &[String]) -> Vec<String> {
        binder::native_calls(answer)
    }

    fn neutral(&self, doc: &Doc, view: &RequestView) -> NeutralRequest {
        neutral::neutral(doc, view)
    }

    fn prompt_text(&self, doc: &Doc, view: &RequestView, item: usize, reading: &Reading<'_>) -> String {
        neutral::prompt_text(doc, view, item, reading)
    }

    fn said(&self, doc: &Doc, view: &RequestView, item: usize) -> (String, Vec<Call>) {
        neutral::said(doc, view, item)
    }

    fn results(&self, doc: &Doc, view: &RequestView, item: usize) -> Vec<ToolResult> {
        view.items.get(item).map(|item| results::results(doc, item)).unwrap_or_default()
    }

    fn reader(&self, _form: AnswerForm) -> Box<dyn AnswerReader> {
        Box::new(reader::Reader::default())
    }

    fn reply(&self, reply: &Reply, form: AnswerForm) -> Bytes {
        writer::reply(reply, form)
    }

    fn error(&self, error: &WireError, _form: AnswerForm) -> Bytes {
        writer::error(error).to_string().into()
    }

    fn stream_error(&self, error: &WireError, form: AnswerForm, open: bool) -> Bytes {
        writer::stream_error(error, form, open)
    }

    fn keep_alive(&self, form: AnswerForm) -> Bytes {
        writer::keep_alive(form)
    }
}

/// What the last segments of a path ask for. `threads/{id}/messages` is OpenAI's.
fn operation(path: &str) -> Option<Operation> {
    let [third, second, last] = tail(path).map(|segment| segment.to_ascii_lowercase());
    match (third.as_str(), second.as_str(), last.as_str()) {
        (_, "messages", "count_tokens") => Some(Operation::Count),
        (_, "messages", "batches") => Some(Operation::Batch),
        ("threads", id, "messages") if id != "v1" => None,
        (_, _, "messages") => Some(Operation::Generate),
        _ => None,
    }
}

/// A call's key in the normal form.
fn call_key(call: &block::Block<'_>) -> String {
    answer_call_key(&call.string("id"), &call.string("name"), call.get("input").unwrap_or("{}"))
}
