//! Placements sorted by what they edit, before a dialect turns them into splices.
use super::{LowerError, blocks};
use crate::context::{Leg, LegResult, Place, RequestView, Restored, Role};
use crate::json::{Span, Splice};
use std::collections::BTreeMap;
use std::ops::Range;

/// All placements of one request.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// Leading instruction blocks that stay first.
    pub(super) after: usize,
    /// Texts ahead of the client's instructions.
    pub(super) front: Vec<&'a str>,
    /// Texts behind them.
    pub(super) end: Vec<&'a str>,
    /// Texts at the end of items.
    pub(super) tails: BTreeMap<usize, Vec<&'a str>>,
    /// Tool results that change, by item and by their index in it.
    pub(super) results: BTreeMap<usize, ResultEdits<'a>>,
    /// What is left out.
    pub(super) omissions: Vec<Omission>,
    /// Answers that are taken apart, by their item; none of them is omitted.
    pub(super) splits: BTreeMap<usize, &'a [Leg]>,
    /// Calls that stand in answers again, by their item; none of them is omitted.
    pub(super) restored: BTreeMap<usize, Vec<&'a Restored>>,
    /// Results of calls that only the provider has.
    pub(super) owed: Vec<&'a LegResult>,
    /// The id behind which a delta goes on.
    pub(super) goes_on_behind: Option<&'a str>,
}

/// The edits of an item's results, by their index in it.
pub(super) type ResultEdits<'a> = BTreeMap<usize, ResultEdit<'a>>;

/// What becomes of one tool result.
#[derive(Debug, Default)]
pub(super) struct ResultEdit<'a> {
    /// The text in its place; may be blank.
    pub(super) replace: Option<&'a str>,
    /// Texts behind it, none blank.
    pub(super) append: Vec<&'a str>,
}

impl<'a> ResultEdit<'a> {
    /// All texts that are not blank, the replacement first.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'a str> {
        let replaced = self.replace.filter(|text| !text.trim().is_empty());
        replaced.into_iter().chain(self.append.iter().copied())
    }
}

/// A run of items that is left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Omission {
    /// The items, instructions that hung on the last of them included.
    pub(super) items: Range<usize>,
    /// The next user or tool item that stays: what the client still needs moves there.
    pub(super) heir: Option<usize>,
}

impl<'a> Plan<'a> {
    /// Sorts `places`. Blank texts are left out: no provider takes an empty text block.
    ///
    /// # Errors
    /// [`LowerError::NoPlace`] when an omission would tear a call from its result, or leave no history.
    pub(super) fn new(places: &'a [Place], view: &RequestView) -> Result<Self, LowerError> {
        let mut plan = Self::default();
        let mut gone = vec![false; view.items.len()];
        for place in places {
            match place {
                Place::SystemFront { after, texts } => {
                    plan.after = plan.after.max(*after);
                    plan.front.extend(filled(texts));
                }
                Place::SystemEnd { texts } => plan.end.extend(filled(texts)),
                Place::ItemEnd { item, texts } => plan.tails.entry(*item).or_default().extend(filled(texts)),
                Place::Result { item, result, replace, append } => {
                    let edit = plan.results.entry(*item).or_default().entry(*result).or_default();
                    edit.replace = replace.as_deref().or(edit.replace);
                    edit.append.extend(filled(append));
                }
                Place::Split { item, legs } => {
                    plan.splits.insert(*item, legs);
                }
                Place::Restore { item, calls } => plan.restored.entry(*item).or_default().extend(calls.iter()),
                Place::Owed { results } => plan.owed.extend(results.iter()),
                Place::GoesOnBehind { id } => plan.goes_on_behind = Some(id.as_str()),
                Place::Omit { items } => {
                    let range = items.start..items.end.min(gone.len());
                    gone.get_mut(range).unwrap_or_default().fill(true);
                }
            }
        }
        plan.omissions = omissions(&mut gone, view)?;
        let stays = |item: usize| !gone.get(item).copied().unwrap_or(false);
        plan.tails.retain(|item, texts| !texts.is_empty() && stays(*item));
        // A call without its result is refused by every provider.
        let answered = |item: usize, calls: &[&Restored]| {
            calls.iter().all(|call| call.result.is_none())
                || view.next_speech(item).is_some_and(|next| listens(view, next))
        };
        plan.restored.retain(|item, calls| !calls.is_empty() && stays(*item) && answered(*item, calls));
        plan.results.retain(|item, _| stays(*item));
        plan.splits.retain(|item, legs| !legs.is_empty() && stays(*item));
        Ok(plan)
    }

    /// Whether an item is not left out.
    pub(super) fn stays(&self, item: usize) -> bool {
        !self.omissions.iter().any(|omission| omission.items.contains(&item))
    }

    /// Takes the omitted items out of the native array.
    pub(super) fn remove_omitted(&self, splice: &mut Splice, elements: &[Span], view: &RequestView) {
        if self.omissions.is_empty() {
            return;
        }
        blocks::remove(splice, elements, |element| {
            let item = view.items.partition_point(|item| item.elements.end <= element);
            !self.stays(item)
        });
    }
}

fn filled(texts: &[String]) -> impl Iterator<Item = &str> {
    texts.iter().map(String::as_str).filter(|text| !text.trim().is_empty())
}

/// The runs of `gone`. A system message behind a run goes with it, since it may only stand behind a user message
/// (Anthropic's page on mid-conversation system messages).
fn omissions(gone: &mut [bool], view: &RequestView) -> Result<Vec<Omission>, LowerError> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, item) in view.items.iter().enumerate() {
        let follows = runs.last().is_some_and(|run| run.end == index);
        let omit = gone.get(index).copied().unwrap_or(false) || (follows && item.role() == Role::System);
        if !omit {
            continue;
        }
        if let Some(mark) = gone.get_mut(index) {
            *mark = true;
        }
        match runs.last_mut() {
            Some(run) if run.end == index => run.end = index + 1,
            _ => runs.push(index..index + 1),
        }
    }
    if !runs.is_empty() && gone.iter().all(|gone| *gone) {
        return Err(LowerError::NoPlace { item: 0 });
    }
    runs.into_iter()
        .map(|items| {
            if !keeps_pairs(view, items.clone()) {
                return Err(LowerError::NoPlace { item: items.start });
            }
            Ok(Omission { heir: heir(view, gone, items.end), items })
        })
        .collect()
}

/// A call and its result go together. Counted, not matched by id, since Gemini's calls may have none.
fn keeps_pairs(view: &RequestView, items: Range<usize>) -> bool {
    let run = view.items.get(items).unwrap_or_default();
    let calls: usize = run.iter().map(|item| item.facts.calls.len()).sum();
    let results: usize = run.iter().map(|item| item.facts.results.len()).sum();
    calls == results
}

/// Whether results may stand in an item.
pub(super) fn listens(view: &RequestView, item: usize) -> bool {
    view.items.get(item).is_some_and(|item| matches!(item.role(), Role::User | Role::Tool))
}

fn heir(view: &RequestView, gone: &[bool], from: usize) -> Option<usize> {
    let stays = |index: usize| !gone.get(index).copied().unwrap_or(true);
    (from..view.items.len()).find(|index| stays(*index) && listens(view, *index))
}
