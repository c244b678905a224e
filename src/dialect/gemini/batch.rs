//! Batches with inline requests (`:batchGenerateContent`): `batch.inputConfig.requests.requests[].request` are bodies of
//! `:generateContent`.
use crate::dialect::ViewError;
use crate::dialect::history::view_error;
use crate::dialect::object::{Object, slice};
use crate::json::{Doc, Span, raw};

/// The member that holds all of it.
const MEMBER: &str = "batch";

/// The bodies of a batch; none where it names a file.
///
/// # Errors
/// [`ViewError`] when a key stands twice, in whichever spelling, or a request has no body.
pub(super) fn bodies(doc: &Doc) -> Result<Vec<Span>, ViewError> {
    let whole = Span::new(0, doc.bytes().len());
    let mut at = Some(whole);
    for key in [MEMBER, "inputConfig", "requests", "requests"] {
        let Some(span) = at else { return Ok(Vec::new()) };
        at = member(doc, span, key)?;
    }
    let Some(list) = at else { return Ok(Vec::new()) };
    let elements = raw::array(doc.text(list)).ok_or(ViewError::Shape { member: MEMBER })?;
    let body = |span: Span| {
        let span = span.offset(list.start);
        member(doc, span, "request")?.ok_or(ViewError::Shape { member: MEMBER })
    };
    elements.into_iter().map(body).collect()
}

/// Where a member of the object at `span` is.
fn member(doc: &Doc, span: Span, key: &str) -> Result<Option<Span>, ViewError> {
    let text = slice(doc.text(span), Span::new(0, span.len()));
    let object = Object::parse_proto(text).map_err(|error| view_error(error, MEMBER))?;
    Ok(object.value_span(key).map(|value| value.offset(span.start)))
}
