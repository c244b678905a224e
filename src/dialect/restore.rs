//! Calls put back into the messages of an answer, where those list their calls under ids.
use super::object::slice;
use super::rewrite::edited;
use crate::context::{Restored, Stands};
use crate::json::{Span, Splice};

/// The messages of an answer with these calls in it; `None` when it has no place for one of them. `calls_of`: ids and
/// places of a message's calls. `instead`: what stands in the place of the client's copy of a call, of the model's own
/// and the copy.
pub(super) fn restored<S: AsRef<str>>(
    messages: &[S],
    calls: &[&Restored],
    calls_of: impl Fn(&str) -> Vec<(String, Span)>,
    instead: impl Fn(&str, &str) -> String,
) -> Option<Vec<String>> {
    let of = |(at, message): (usize, &S)| calls_of(message.as_ref()).into_iter().map(move |(id, span)| (at, id, span));
    let known: Vec<(usize, String, Span)> = messages.iter().enumerate().flat_map(of).collect();
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
                let copy = slice(messages.get(at)?.as_ref(), span);
                splices.get_mut(at)?.replace(span, instead(&call.native, copy));
            }
        }
    }
    messages.iter().zip(splices).map(|(message, splice)| edited(message.as_ref(), splice).ok()).collect()
}
