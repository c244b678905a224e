//! `messages.remove`: calls and their results go together.
use super::select::{must_be_free, must_be_loose, selected};
use super::{Body, Taken};
use crate::context::Role;
use crate::context::edit::Selector;
use crate::dialect::{EditError, blocks};
use crate::json::{Splice, raw};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub(super) fn remove(body: &Body<'_>, which: &Selector) -> Result<Splice, EditError> {
    let items = selected(body, which)?;
    let mut splice = Splice::new();
    if items.is_empty() {
        return Ok(splice);
    }
    let mut gone = BTreeSet::new();
    for index in items {
        must_be_free(body, index)?;
        gone.extend(body.view.items.get(index).map(|item| item.elements.clone()).into_iter().flatten());
    }
    let history = History::read(body)?;
    let calls = history.calls_of(&gone);
    history.results_of(&calls, &mut gone);
    let mut partly = by_element(&calls);
    partly.retain(|element, _| !gone.contains(element));
    must_be_loose(body, partly.keys().copied())?;
    for (element, calls) in partly {
        let Some(span) = body.list.get(element) else { continue };
        if (body.form.take_calls)(&mut splice, body.doc.text(*span), span.start, &calls) == Taken::All {
            gone.insert(element);
        }
    }
    history.must_end_as_it_did(&gone)?;
    if body.view.is_delta() && history.orphans.iter().any(|element| gone.contains(element)) {
        return Err(EditError::Missing { what: "call of that result in this request".to_owned() });
    }
    blocks::remove(&mut splice, &body.list, |index| gone.contains(&index));
    Ok(splice)
}

/// A call: its element, and its place among the calls of that.
type CallAt = (usize, usize);

fn by_element(calls: &BTreeSet<CallAt>) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut elements: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (element, call) in calls {
        elements.entry(*element).or_default().insert(*call);
    }
    elements
}

/// What belongs together in the history.
#[derive(Default)]
struct History {
    /// Results with their calls.
    pairs: Vec<(usize, CallAt)>,
    /// Results whose calls the body does not hold.
    orphans: Vec<usize>,
    /// Elements that somebody says, instructions excepted, and whether it is the model.
    speech: Vec<(usize, bool)>,
}

impl History {
    /// A result answers the nearest call before it with its id: some servers count their ids anew in every answer. The old
    /// `function_call` has no id, and its result has the function's name.
    fn read(body: &Body<'_>) -> Result<Self, EditError> {
        let mut history = Self::default();
        let mut open: HashMap<String, CallAt> = HashMap::new();
        for (index, span) in body.list.iter().enumerate() {
            let raw = body.doc.text(*span);
            let element = (body.read)(raw)?;
            if !matches!(element.role.0, Role::System | Role::Other) {
                history.speech.push((index, element.role.0 == Role::Assistant));
            }
            for (place, call) in element.calls.iter().enumerate() {
                let id = if call.id.is_empty() { &call.name } else { &call.id };
                open.insert(id.to_string(), (index, place));
            }
            if element.asks_approval {
                open.extend(raw::get_str(raw, "id").map(|id| (id.into_owned(), (index, 0))));
            }
            for id in &element.results {
                match open.get(id.as_ref()) {
                    Some(call) => history.pairs.push((index, *call)),
                    None => history.orphans.push(index),
                }
            }
        }
        Ok(history)
    }

    /// The calls that go: those in elements that go, and those whose results do.
    fn calls_of(&self, gone: &BTreeSet<usize>) -> BTreeSet<CallAt> {
        let goes = |(result, call): &&(usize, CallAt)| gone.contains(result) || gone.contains(&call.0);
        self.pairs.iter().filter(goes).map(|(_, call)| *call).collect()
    }

    /// That something is left, and no answer at the end where none was: it would be one to go on with.
    fn must_end_as_it_did(&self, gone: &BTreeSet<usize>) -> Result<(), EditError> {
        let left = self.speech.iter().rev().find(|(element, _)| !gone.contains(element));
        match (self.speech.last(), left) {
            (_, Some((_, false))) | (Some((_, true)), Some(_)) => Ok(()),
            _ => Err(EditError::Missing { what: "prompt or result that would be left at the end".to_owned() }),
        }
    }

    /// Adds the results of calls.
    fn results_of(&self, calls: &BTreeSet<CallAt>, gone: &mut BTreeSet<usize>) {
        gone.extend(self.pairs.iter().filter(|(_, call)| calls.contains(call)).map(|(result, _)| *result));
    }
}
