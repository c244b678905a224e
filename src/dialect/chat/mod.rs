//! OpenAI Chat Completions: `POST …/chat/completions`.
mod binder;
mod bodies;
mod bound;
mod call;
mod calling;
mod choice;
mod chunk;
mod edit;
mod element;
mod joiner;
mod legs;
mod lower;
mod neutral;
mod parts;
mod reader;
mod restore;
mod results;
mod said;
mod splice;
#[cfg(test)]
mod tests;
mod view;
mod writer;

use super::Binder;
use super::body_binder::BodyBinder;
use super::body_joiner::BodyJoiner;
use super::openai::{self, error, neutral as words};
use super::{
    AnswerForm, AnswerReader, Dialect, DialectId, EditError, Endpoint, Joiner, LowerError, NeutralRequest, Reading,
    Reply, ToolResult, ViewError, WireError,
};
use crate::context::Binding;
use crate::context::{Call, Edit, Leg, Operation, Place, RequestView};
use crate::json::{Doc, Splice};
use bytes::Bytes;
use std::sync::Arc;

/// Path ends that carry bodies of this dialect. Batches name files, which hold the bodies.
const PATHS: [(&str, Operation); 1] = [("chat/completions", Operation::Generate)];

/// The dialect.
#[derive(Debug, Clone, Copy)]
pub struct Chat;

impl Dialect for Chat {
    fn id(&self) -> DialectId {
        DialectId::Chat
    }

    fn endpoint(&self, method: &http::Method, path: &str, _query: Option<&str>) -> Option<Endpoint> {
        let operation = openai::operation(method, path, &PATHS)?;
        Some(Endpoint { dialect: DialectId::Chat, operation, model: openai::deployment(path), form: None })
    }

    fn view(&self, doc: &Doc, endpoint: &Endpoint, reading: &Reading<'_>) -> Result<RequestView, ViewError> {
        view::view(doc, endpoint, reading)
    }

    fn lower(&self, doc: &Doc, view: &RequestView, places: &[Place]) -> Result<Splice, LowerError> {
        lower::lower(doc, view, places)
    }

    fn rewrite(&self, doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError> {
        openai::edit::edit(self, &edit::body(doc, view), &edit::Params(doc), edit)
    }

    fn roster(&self, doc: &Doc, view: &RequestView) -> Option<Vec<String>> {
        Some(edit::body(doc, view).roster())
    }

    fn extend(&self, doc: &Doc, view: &RequestView, leg: &Leg) -> Result<Splice, LowerError> {
        legs::extend(doc, view, leg)
    }

    fn joiner(&self, form: AnswerForm) -> Box<dyn Joiner> {
        match form {
            AnswerForm::Sse => Box::new(joiner::Stream::default()),
            AnswerForm::Json | AnswerForm::JsonArray => Box::<BodyJoiner<bodies::Completion>>::default(),
        }
    }

    fn binder(&self, form: AnswerForm, binding: Arc<Binding>) -> Box<dyn Binder> {
        match form {
            AnswerForm::Sse => Box::new(binder::StreamBinder::new(binding)),
            AnswerForm::Json | AnswerForm::JsonArray => Box::new(BodyBinder::<bound::BoundCompletion>::new(binding)),
        }
    }

    fn native_calls(&self, answer: &[String]) -> Vec<String> {
        bound::native_calls(answer)
    }

    fn neutral(&self, doc: &Doc, view: &RequestView) -> NeutralRequest {
        neutral::request(doc, view)
    }

    fn prompt_text(&self, doc: &Doc, view: &RequestView, item: usize, reading: &Reading<'_>) -> String {
        words::prompt_text(&neutral::elements(doc, view, item), reading)
    }

    fn said(&self, doc: &Doc, view: &RequestView, item: usize) -> (String, Vec<Call>) {
        words::said(&neutral::elements(doc, view, item))
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

    fn error(&self, wire: &WireError, _form: AnswerForm) -> Bytes {
        error::body(wire)
    }

    fn stream_error(&self, wire: &WireError, form: AnswerForm, open: bool) -> Bytes {
        writer::stream_error(wire, form, open)
    }

    fn keep_alive(&self, form: AnswerForm) -> Bytes {
        openai::keep_alive(form)
    }
}
