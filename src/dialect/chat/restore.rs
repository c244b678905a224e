//! Calls that the client does not know, put back into its copy of an answer.
use crate::context::{Restored, Stands};
use crate::dialect::object::{Object, slice};
use crate::dialect::rewrite::edited;
use crate::json::{Span, Splice, raw};

/// The messages of an answer with these calls in it; `None` when it has no place for one of them.
pub(super) fn restored<S: AsRef<str>>(messages: &[S], calls: &[&Restored]) -> Option<Vec<String>> {
    let known: Vec<(usize, String, Span)> =
        messages.iter().enumerate().flat_map(|(at, message)| calls_of(at, message.as_ref())).collect();
    let place = |id: &str| known.iter().find(|(_, other, _)| other == id).map(|(at, _, span)| (*at, *span));
    let mut splices: Vec<Splice> = messages.iter().map(|_| Splice::new()).collect();
    for call in calls {
        match &call.stands {
            Stands::Before(id) => {
                let (at, span) = place(id)?;
                splices.get_mut(at)?.insert(span.start, format!("{},", call.native));
            }
            Stands::Last => {
                let (at, _, span) = known.last()?;
                splices.get_mut(*at)?.insert(span.end, format!(",{}", call.native));
            }
            Stands::Instead(id) => {
                let (at, span) = place(id)?;
                splices.get_mut(at)?.replace(span, call.native.clone());
            }
        }
    }
    messages.iter().zip(splices).map(|(message, splice)| edited(message.as_ref(), splice).ok()).collect()
}

/// The calls of a message that have an id: its place, their ids and places.
fn calls_of(at: usize, message: &str) -> Vec<(usize, String, Span)> {
    let Some(list) = Object::parse(message).ok().and_then(|object| object.value_span("tool_calls")) else {
        return vec![];
    };
    let spans = raw::array(slice(message, list)).unwrap_or_default().into_iter().map(|span| span.offset(list.start));
    let call = |span: Span| {
        let id = raw::get_str(slice(message, span), "id").filter(|id| !id.is_empty())?;
        Some((at, id.into_owned(), span))
    };
    spans.filter_map(call).collect()
}
