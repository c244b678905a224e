//! Calls that the client does not know, put back into its copy of an answer.
use super::element;
use crate::context::{Restored, Stands};
use crate::json::raw;
use std::collections::HashMap;

/// Where a call goes, by the places of the answer's items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Before(usize),
    Behind(usize),
    Instead(usize),
}

/// Where the calls go in an answer; `None` when it has no place for one of them.
///
/// A reasoning item stands right ahead of what came of it. The client has those of hidden calls, too: where one is
/// followed by another, or by nothing, the call behind it is missing.
pub(super) fn slots<S: AsRef<str>>(items: &[S], calls: &[&Restored]) -> Option<Vec<Slot>> {
    let known: Vec<(usize, String)> =
        items.iter().enumerate().filter_map(|(at, item)| Some((at, id_of(item.as_ref())?))).collect();
    let place = |id: &str| known.iter().find(|(_, other)| other == id).map(|(at, _)| *at);
    let is_reasoning = |at: usize| {
        items.get(at).is_some_and(|item| raw::get_str(item.as_ref(), "type").as_deref() == Some("reasoning"))
    };
    let lacks_its_call = |at: &usize| is_reasoning(*at) && (*at + 1 == items.len() || is_reasoning(*at + 1));
    // How many calls went to each place so far.
    let mut before: HashMap<usize, usize> = HashMap::new();
    let mut slot = |from: usize, to: usize, key: usize| {
        let count = before.entry(key).or_default();
        *count += 1;
        (from..to).filter(lacks_its_call).nth(*count - 1)
    };
    let mut slots = vec![];
    let mut last = known.last().map(|(at, _)| *at);
    for call in calls {
        slots.push(match &call.stands {
            Stands::Before(id) => {
                let at = place(id)?;
                let from = known.iter().rev().find(|(other, _)| *other < at).map_or(0, |(other, _)| other + 1);
                slot(from, at, at).map_or(Slot::Before(at), Slot::Behind)
            }
            Stands::Last => {
                let (end, _) = known.last()?;
                last = slot(end + 1, items.len(), items.len()).or(last);
                Slot::Behind(last?)
            }
            Stands::Instead(id) => Slot::Instead(place(id)?),
        });
    }
    Some(slots)
}

/// The items of an answer with these calls in it.
pub(super) fn restored(items: Vec<String>, slots: &[Slot], calls: &[String]) -> Vec<String> {
    let at =
        |wanted: Slot| slots.iter().zip(calls).filter(move |(slot, _)| **slot == wanted).map(|(_, call)| call.clone());
    let mut all = vec![];
    for (index, item) in items.into_iter().enumerate() {
        all.extend(at(Slot::Before(index)));
        all.push(at(Slot::Instead(index)).next().unwrap_or(item));
        all.extend(at(Slot::Behind(index)));
    }
    all
}

/// The id of the call that an item is.
fn id_of(item: &str) -> Option<String> {
    let element = element::read(item).ok()?;
    element.calls.first().map(|call| call.id.to_string()).filter(|id| !id.is_empty())
}
