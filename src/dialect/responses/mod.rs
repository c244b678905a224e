//! OpenAI Responses: `POST …/responses`.
mod binder;
mod bodies;
mod bound;
mod edit;
mod element;
mod event;
mod input;
mod items;
mod joiner;
mod known;
mod legs;
mod lower;
mod neutral;
mod notice;
mod numbers;
mod output;
mod reader;
mod restore;
mod results;
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
use crate::json::{Doc, Splice, raw};
use bytes::Bytes;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Path ends that carry bodies of this dialect. `responses/compact` is no turn and its answer no message: it passes as it
/// is. What lies below a response's id carries no body.
const PATHS: [(&str, Operation); 2] =
    [("responses", Operation::Generate), ("responses/input_tokens", Operation::Count)];

/// What stands below `responses/` and is no answer's id.
const NO_IDS: [&str; 2] = ["compact", "input_tokens"];

/// Where a path names an earlier answer: the id's place in `.../responses/ID` and in what lies below.
pub fn answer_in_path(path: &str) -> Option<Range<usize>> {
    const ABOVE: &str = "/responses/";
    let start = path.rfind(ABOVE)? + ABOVE.len();
    let rest = path.get(start..)?;
    let id = rest.split('/').next().filter(|id| !id.is_empty() && !NO_IDS.contains(id))?;
    Some(start..start + id.len())
}

/// The dialect.
#[derive(Debug, Clone, Copy)]
pub struct Responses;

impl Dialect for Responses {
    fn id(&self) -> DialectId {
        DialectId::Responses
    }

    fn endpoint(&self, method: &http::Method, path: &str, _query: Option<&str>) -> Option<Endpoint> {
        let operation = openai::operation(method, path, &PATHS)?;
        Some(Endpoint { dialect: DialectId::Responses, operation, model: openai::deployment(path), form: None })
    }

    fn view(&self, doc: &Doc, endpoint: &Endpoint, reading: &Reading<'_>) -> Result<RequestView, ViewError> {
        view::view(doc, endpoint, reading)
    }

    fn lower(&self, doc: &Doc, view: &RequestView, places: &[Place]) -> Result<Splice, LowerError> {
        lower::lower(doc, view, places)
    }

    fn rewrite(&self, doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError> {
        openai::edit::edit(self, &edit::body(doc, view)?, &edit::Params, edit)
    }

    fn roster(&self, doc: &Doc, view: &RequestView) -> Option<Vec<String>> {
        edit::roster(doc, view)
    }

    fn extend(&self, doc: &Doc, view: &RequestView, leg: &Leg) -> Result<Splice, LowerError> {
        legs::extend(doc, view, leg)
    }

    fn joiner(&self, form: AnswerForm) -> Box<dyn Joiner> {
        match form {
            AnswerForm::Sse => Box::new(joiner::Stream::default()),
            AnswerForm::Json | AnswerForm::JsonArray => Box::<BodyJoiner<bodies::Whole>>::default(),
        }
    }

    fn binder(&self, form: AnswerForm, binding: Arc<Binding>) -> Box<dyn Binder> {
        match form {
            AnswerForm::Sse => Box::new(binder::StreamBinder::new(binding)),
            AnswerForm::Json | AnswerForm::JsonArray => Box::new(BodyBinder::<bound::BoundResponse>::new(binding)),
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

    fn result_kind(&self, call: &str) -> Option<String> {
        raw::get_str(call, "type").filter(|kind| legs::takes_words(kind)).map(Cow::into_owned)
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
