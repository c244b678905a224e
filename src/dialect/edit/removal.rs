//! Which messages go together, where the results of an answer's calls stand all in the next message (Anthropic, Gemini).
use super::EditError;
use crate::context::{RequestView, Role};
use crate::dialect::LowerError;
use std::collections::BTreeSet;

/// What is left out of a history.
#[derive(Debug)]
pub(in crate::dialect) struct Removal {
    /// Items that are gone, by index.
    gone: Vec<bool>,
    /// Items that lose their results, and keep what else they say.
    pub(in crate::dialect) without_results: BTreeSet<usize>,
}

impl Removal {
    /// Leaves out `chosen`, calls together with their results. `says_more` tells whether an item with results says something
    /// beside them.
    ///
    /// # Errors
    /// [`EditError::Signed`] when a signed item would go; [`EditError::Place`] when a call would lose its result, when no
    /// message would be left, or when an answer would stand at the end where none did.
    pub(in crate::dialect) fn new(
        view: &RequestView,
        chosen: &[usize],
        says_more: &dyn Fn(usize) -> bool,
    ) -> Result<Self, EditError> {
        let mut removal = Self { gone: vec![false; view.items.len()], without_results: BTreeSet::new() };
        for index in chosen {
            removal.take(*index);
            match role(view, *index) {
                Some(Role::Tool) => {
                    // Without the call in sight it stands in what the provider holds, and would wait for its result.
                    let call = index.checked_sub(1).filter(|call| role(view, *call) == Some(Role::Assistant));
                    removal.take(call.ok_or(LowerError::NoPlace { item: *index })?);
                }
                Some(Role::Assistant) if has_calls(view, *index) && role(view, index + 1) == Some(Role::Tool) => {
                    match says_more(index + 1) {
                        true => drop(removal.without_results.insert(index + 1)),
                        false => removal.take(index + 1),
                    }
                }
                _ => {}
            }
        }
        removal.without_results.retain(|index| !removal.gone.get(*index).copied().unwrap_or(true));
        removal.check(view)?;
        Ok(removal)
    }

    fn take(&mut self, index: usize) {
        if let Some(gone) = self.gone.get_mut(index) {
            *gone = true;
        }
    }

    fn check(&self, view: &RequestView) -> Result<(), EditError> {
        let bound = |index: &usize| {
            let facts = view.items.get(*index).map(|item| &item.facts);
            !self.stays(*index) && facts.is_some_and(|facts| facts.signed || facts.compaction)
        };
        if let Some(index) = (0..view.items.len()).find(bound) {
            return Err(EditError::Signed { index });
        }
        let last = |stays: &dyn Fn(usize) -> bool| {
            let speaks = |index: &usize| !matches!(role(view, *index), Some(Role::System | Role::Other));
            (0..view.items.len()).rev().filter(speaks).find(|index| stays(*index)).and_then(|index| role(view, index))
        };
        match (last(&|_| true), last(&|index| self.stays(index))) {
            (Some(Role::Assistant), Some(_)) | (_, Some(Role::User | Role::Tool)) => Ok(()),
            _ => Err(LowerError::NoPlace { item: view.items.len().saturating_sub(1) }.into()),
        }
    }

    /// Whether an item is not left out.
    pub(in crate::dialect) fn stays(&self, index: usize) -> bool {
        !self.gone.get(index).copied().unwrap_or(false)
    }

    /// The items that stay, in order.
    pub(in crate::dialect) fn left(&self) -> Vec<usize> {
        (0..self.gone.len()).filter(|index| self.stays(*index)).collect()
    }
}

fn role(view: &RequestView, index: usize) -> Option<Role> {
    view.items.get(index).map(|item| item.role())
}

fn has_calls(view: &RequestView, index: usize) -> bool {
    view.items.get(index).is_some_and(|item| !item.facts.calls.is_empty())
}
