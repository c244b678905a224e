//! The output items of one leg on their way: what may come next, and what came.
use super::event::Event;
use crate::dialect::JoinError;
use crate::dialect::openai::answer::Budget;
use crate::json::raw;
use serde_json::value::RawValue;
use std::collections::HashSet;

/// What an item costs of the budget besides its text and its id.
const ITEM_COST: usize = 256;

/// How many names are tried for an item. Honest ones are free at once; an upstream must not make it a search.
const NAMES: usize = 8;

/// The items, in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Items {
    list: Vec<Item>,
    budget: Budget,
    /// The upstream does not announce content parts, as some compatible servers don't.
    partless: bool,
}

#[derive(Debug, Default)]
struct Item {
    id: String,
    /// The id that the client knows it by, where another item has its own.
    alias: Option<String>,
    /// How many content parts were added.
    parts: u64,
    /// The complete item.
    done: Option<String>,
}

impl Items {
    /// The items of the next leg of the same upstream.
    pub(super) fn next(&self) -> Self {
        Self { partless: self.partless, ..Self::default() }
    }

    /// Takes what an event of the first leg says. Whether the upstream announces parts is learnt from it: the client read
    /// it as it is.
    ///
    /// # Errors
    /// As [`Items::take`].
    pub(super) fn learn(&mut self, event: &Event<'_>) -> Result<(), JoinError> {
        let index = event.output_index.and_then(|index| usize::try_from(index).ok());
        let parts = index.and_then(|index| self.list.get(index)).map(|item| item.parts);
        let announced = event.content_index.zip(parts).is_none_or(|(part, parts)| part < parts);
        self.partless |= is_of_a_part(&event.kind) && event.kind != "response.content_part.added" && !announced;
        self.take(event)
    }

    /// Takes what an event says of an item. The rules are those that the Python SDK enforces
    /// (`lib/streaming/responses/_responses.py`): no index twice or left out, nothing of an item that was not added, no
    /// text of a part that was not.
    ///
    /// # Errors
    /// [`JoinError`]: the event may not stand here; nothing is taken then.
    pub(super) fn take(&mut self, event: &Event<'_>) -> Result<(), JoinError> {
        let out_of_order = || JoinError::OutOfOrder(event.kind.clone().into_owned());
        let Some(index) = event.output_index else { return Ok(()) };
        let index = usize::try_from(index).map_err(|_| out_of_order())?;
        if event.kind == "response.output_item.added" {
            let item = event.item.filter(|_| index == self.list.len()).ok_or_else(out_of_order)?;
            let id = id(item.get());
            self.spend(ITEM_COST + id.len())?;
            self.list.push(Item { id, ..Item::default() });
            return Ok(());
        }
        let item = self.list.get_mut(index).filter(|item| item.done.is_none()).ok_or_else(out_of_order)?;
        let has_part = event.content_index.is_some_and(|part| part < item.parts);
        match event.kind.as_ref() {
            "response.output_item.done" => {
                let complete = event.item.filter(|done| id(done.get()) == item.id).ok_or_else(out_of_order)?;
                self.spend(complete.get().len())?;
                if let Some(item) = self.list.get_mut(index) {
                    item.done = Some(complete.get().to_owned());
                }
            }
            "response.content_part.added" if event.content_index == Some(item.parts) => item.parts += 1,
            "response.content_part.added" => return Err(out_of_order()),
            kind if is_of_a_part(kind) && !has_part && !self.partless => return Err(out_of_order()),
            _ => {}
        }
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), JoinError> {
        let left = self.budget.take(bytes);
        left.then_some(()).ok_or_else(|| JoinError::OutOfOrder("more than can be kept".to_owned()))
    }

    /// Gives the item that was added last another id if its own is among `taken`.
    pub(super) fn name_last(&mut self, taken: &mut HashSet<String>) {
        if let Some(item) = self.list.last_mut() {
            item.alias = alias(&item.id, taken);
        }
    }

    /// The id that the client knows the item by, where it is another than its own.
    pub(super) fn alias(&self, index: u64) -> Option<&str> {
        self.list.get(usize::try_from(index).ok()?)?.alias.as_deref()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All items, complete: those of the last snapshot, or where that has none (ChatGPT's own backend) those of the
    /// stream.
    ///
    /// # Errors
    /// [`JoinError::OutOfOrder`] when neither has all that were added.
    pub(super) fn complete(&mut self, output: Option<&RawValue>) -> Result<Vec<String>, JoinError> {
        let output = output.map_or("[]", RawValue::get);
        let spans = raw::array(output).unwrap_or_default();
        if !spans.is_empty() && spans.len() >= self.list.len() {
            self.spend(output.len())?;
            return Ok(spans.iter().filter_map(|s| output.get(s.start..s.end)).map(str::to_owned).collect());
        }
        let done: Option<Vec<String>> = self.list.iter().map(|item| item.done.clone()).collect();
        done.ok_or_else(|| JoinError::OutOfOrder("the end of a response with an open item".to_owned()))
    }
}

/// Whether this kind of event is about a content part that was added before.
fn is_of_a_part(kind: &str) -> bool {
    ["response.output_text.", "response.refusal.", "response.content_part."].iter().any(|part| kind.starts_with(part))
}

/// An item's id; empty if it has none.
pub(super) fn id(item: &str) -> String {
    raw::get_str(item, "id").unwrap_or_default().into_owned()
}

/// Another id for an item whose own is among `taken`; else none, and its own is put there. Servers that count their ids begin
/// each response with the same one, and clients look items up by id.
pub(super) fn alias(id: &str, taken: &mut HashSet<String>) -> Option<String> {
    if id.is_empty() || taken.insert(id.to_owned()) {
        return None;
    }
    let others = taken.len();
    (1..=NAMES).map(|number| format!("{id}_{}", others + number)).find(|name| taken.insert(name.clone()))
}
