//! Message batches (`/v1/messages/batches`): `requests[].params` are bodies of `/v1/messages`.
use crate::dialect::ViewError;
use crate::dialect::history::view_error;
use crate::dialect::object::Object;
use crate::json::{Doc, Kind, Span};

/// The bodies of a batch.
///
/// # Errors
/// [`ViewError`] when a request of it has no body, or two.
pub(super) fn bodies(doc: &Doc) -> Result<Vec<Span>, ViewError> {
    const MEMBER: &str = "requests";
    let shape = || ViewError::Shape { member: MEMBER };
    let requests = doc.get(MEMBER).filter(|requests| requests.kind == Kind::Array).ok_or_else(shape)?;
    let body = |request: &Span| {
        let object = Object::parse(doc.text(*request)).map_err(|error| view_error(error, MEMBER))?;
        object.span("params").map(|params| params.offset(request.start)).ok_or_else(shape)
    };
    requests.elements.iter().map(body).collect()
}
