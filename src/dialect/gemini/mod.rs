//! Gemini `generateContent` and its neighbours, as Google AI Studio and Vertex serve them.
mod batch;
mod binder;
mod body;
mod chunk;
mod drafts;
mod edit;
mod facts;
mod framing;
mod heard;
mod joiner;
mod legs;
mod lower;
mod neutral;
mod part;
mod partial_args;
mod reader;
mod restore;
mod results;
mod said;
mod screened;
mod split;
#[cfg(test)]
mod tests;
mod tokens;
mod view;
mod writer;

use super::body_joiner::BodyJoiner;
use super::path::tail;
use super::{
    AnswerReader, Binder, Dialect, DialectId, EditError, Endpoint, Joiner, LowerError, NeutralRequest, Reading, Reply,
    ToolResult, ViewError, WireError,
};
use crate::context::{AnswerForm, Binding, Call, Edit, Leg, Operation, Place, RequestView};
use crate::json::{Doc, Span, Splice};
use bytes::Bytes;
use framing::Framing;
use joiner::StreamJoiner;
use std::sync::Arc;

/// The methods whose bodies are looked into.
const METHODS: [&str; 4] = ["generateContent", "streamGenerateContent", "countTokens", "batchGenerateContent"];

/// The dialect.
#[derive(Debug, Clone, Copy)]
pub struct Gemini;

impl Dialect for Gemini {
    fn id(&self) -> DialectId {
        DialectId::Gemini
    }

    fn endpoint(&self, method: &http::Method, path: &str, query: Option<&str>) -> Option<Endpoint> {
        if method != http::Method::POST {
            return None;
        }
        let [_, collection, last] = tail(path);
        let (model, method) = last.rsplit_once(':')?;
        if model.is_empty() || !["models", "tunedModels"].iter().any(|known| collection.eq_ignore_ascii_case(known)) {
            return None;
        }
        let is = |name: &&&str| method.eq_ignore_ascii_case(name);
        let (operation, form) = match *METHODS.iter().find(is)? {
            "generateContent" => (Operation::Generate, AnswerForm::Json),
            "streamGenerateContent" if is_sse(query) => (Operation::Generate, AnswerForm::Sse),
            "streamGenerateContent" => (Operation::Generate, AnswerForm::JsonArray),
            "countTokens" => (Operation::Count, AnswerForm::Json),
            "batchGenerateContent" => (Operation::Batch, AnswerForm::Json),
            _ => return None,
        };
        Some(Endpoint { dialect: DialectId::Gemini, operation, model: Some(model.to_owned()), form: Some(form) })
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
            AnswerForm::Sse => Box::new(StreamJoiner::new(Framing::Events)),
            AnswerForm::JsonArray => Box::new(StreamJoiner::new(Framing::Array(None))),
            AnswerForm::Json => Box::new(BodyJoiner::<body::Responses>::default()),
        }
    }

    fn binder(&self, form: AnswerForm, binding: Arc<Binding>) -> Box<dyn Binder> {
        Box::new(binder::AnswerBinder::new(form, binding))
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

    fn error(&self, error: &WireError, form: AnswerForm) -> Bytes {
        writer::error(error, form)
    }

    fn stream_error(&self, error: &WireError, form: AnswerForm, open: bool) -> Bytes {
        writer::stream_error(error, form, open)
    }

    fn keep_alive(&self, form: AnswerForm) -> Bytes {
        writer::keep_alive(form)
    }
}

/// `alt=sse`, also spelled `$alt` as in all Google APIs.
fn is_sse(query: Option<&str>) -> bool {
    let pairs = query.unwrap_or_default().split('&');
    pairs.into_iter().any(|pair| matches!(pair, "alt=sse" | "$alt=sse" | "%24alt=sse"))
}
