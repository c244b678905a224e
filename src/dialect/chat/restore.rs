//! Calls that the client does not know, put back into its copy of an answer.
use crate::context::Restored;
use crate::dialect::object::{Object, slice};
use crate::dialect::restore;
use crate::json::{Span, raw};

/// The messages of an answer with these calls in it; `None` when it has no place for one of them.
pub(super) fn restored<S: AsRef<str>>(messages: &[S], calls: &[&Restored]) -> Option<Vec<String>> {
    restore::restored(messages, calls, calls_of, |native, _| native.to_owned())
}

/// The calls of a message that have an id: their ids and places.
fn calls_of(message: &str) -> Vec<(String, Span)> {
    let Some(list) = Object::parse(message).ok().and_then(|object| object.value_span("tool_calls")) else {
        return vec![];
    };
    let spans = raw::array(slice(message, list)).unwrap_or_default().into_iter().map(|span| span.offset(list.start));
    let call = |span: Span| {
        let id = raw::get_str(slice(message, span), "id").filter(|id| !id.is_empty())?;
        Some((id.into_owned(), span))
    };
    spans.filter_map(call).collect()
}
