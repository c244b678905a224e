//! What the model was told of calls that the client does not know, in later requests: results are elements of their own,
//! and stand with those of the client.
use crate::context::{Item, LegResult, Place, RequestView, Restored, Role, Stands};
use crate::dialect::plan::listens;
use crate::json::Splice;
use std::collections::BTreeMap;

/// Where an element goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Spot {
    /// Ahead of the element that begins at this byte.
    Before(usize),
    /// Behind the one that ends there.
    Behind(usize),
}

impl Spot {
    /// Puts an element there.
    pub(in crate::dialect) fn put(self, splice: &mut Splice, element: &str) {
        match self {
            Self::Before(at) => splice.insert(at, format!("{element},")),
            Self::Behind(at) => splice.insert(at, format!(",{element}")),
        }
    }
}

/// Calls that stand in answers again, by their item.
pub(in crate::dialect) fn restored(places: &[Place]) -> BTreeMap<usize, Vec<&Restored>> {
    let mut all: BTreeMap<usize, Vec<&Restored>> = BTreeMap::new();
    for place in places {
        if let Place::Restore { item, calls } = place {
            all.entry(*item).or_default().extend(calls.iter());
        }
    }
    all
}

/// The results that go with `calls` of an answer, the item `index`, each ahead of the result of the call that its own
/// stands before, or behind all results. `None`: nothing stands behind the answer yet, and a call without its result is
/// refused.
pub(in crate::dialect) fn results<'p>(
    view: &RequestView,
    index: usize,
    calls: &[&'p Restored],
    is_gone: impl Fn(&Item) -> bool,
) -> Option<Vec<(Spot, &'p LegResult)>> {
    let told: Vec<_> = calls.iter().filter_map(|call| Some((*call, call.result.as_ref()?))).collect();
    if told.is_empty() {
        return Some(vec![]);
    }
    view.next_speech(index).filter(|next| listens(view, *next))?;
    let answer = view.items.get(index)?;
    let behind = view.items.get(index + 1..).unwrap_or_default();
    let run = behind.iter().take_while(|item| !matches!(item.role(), Role::User | Role::Assistant));
    let run: Vec<&Item> = run.filter(|item| item.role() == Role::Tool).collect();
    if run.iter().any(|item| is_gone(item)) {
        return None;
    }
    let end = Spot::Behind(run.last().map_or(answer.span.end, |last| last.span.end));
    let answers = |id: &str| run.iter().find(|item| item.facts.results.iter().any(|known| known == id));
    let spot = |call: &Restored| match &call.stands {
        Stands::Before(id) => answers(id).map_or(end, |item| Spot::Before(item.span.start)),
        Stands::Last | Stands::Instead(_) => end,
    };
    Some(told.into_iter().map(|(call, result)| (spot(call), result)).collect())
}
