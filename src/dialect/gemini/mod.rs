//! Gemini: see dialect/mod.rs.
use super::*;

/// The dialect.
#[derive(Debug, Clone, Copy)]
pub struct Gemini;

struct Unread;

impl AnswerReader for Unread {
    fn event(&mut self, _event: Option<&[u8]>, _data: &[u8]) {}
    fn body(&mut self, _body: &[u8]) {}
    fn is_terminal(&self) -> bool {
        false
    }
    fn finish(&mut self) -> Answer {
        Answer {
            id: None,
            text: String::new(),
            calls: vec![],
            finish: crate::context::Finish::Error,
            native_finish: None,
            ending: crate::context::answer::Ending::Cut,
            usage: Default::default(),
            signed: false,
            many: false,
            error: None,
        }
    }
}

impl Dialect for Gemini {
    fn id(&self) -> DialectId {
        DialectId::Gemini
    }
    fn endpoint(&self, _method: &http::Method, _path: &str, _query: Option<&str>) -> Option<Endpoint> {
        None
    }
    fn view(&self, _doc: &Doc, _endpoint: &Endpoint, _reading: &Reading<'_>) -> Result<RequestView, ViewError> {
        Err(ViewError::Shape { member: "stub" })
    }
    fn lower(&self, _doc: &Doc, _view: &RequestView, _places: &[Place]) -> Result<Splice, LowerError> {
        Err(LowerError::NoSystem)
    }
    fn neutral(&self, _doc: &Doc, _view: &RequestView) -> NeutralRequest {
        NeutralRequest::default()
    }
    fn prompt_text(&self, _doc: &Doc, _view: &RequestView, _item: usize, _reading: &Reading<'_>) -> String {
        String::new()
    }
    fn said(&self, _doc: &Doc, _view: &RequestView, _item: usize) -> (String, Vec<Call>) {
        Default::default()
    }
    fn reader(&self, _form: AnswerForm) -> Box<dyn AnswerReader> {
        Box::new(Unread)
    }
    fn reply(&self, _reply: &Reply, _form: AnswerForm) -> Bytes {
        Bytes::new()
    }
    fn error(&self, _error: &WireError, _form: AnswerForm) -> Bytes {
        Bytes::new()
    }
    fn stream_error(&self, _error: &WireError, _form: AnswerForm, _open: bool) -> Bytes {
        Bytes::new()
    }
    fn keep_alive(&self, _form: AnswerForm) -> Bytes {
        Bytes::new()
    }
}
