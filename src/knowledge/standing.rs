//! What stands in every session from its start on.
use super::Knowledge;
use super::entry::{Entry, Reader};
use crate::context::budget::{Admission, Budget};
use std::cmp::Reverse;
use std::sync::Arc;

/// Between two entries.
const GAP: &str = "\n\n";

impl Knowledge {
    /// The approved entries that `reader` may see, the most specific first and of these the newest, as far as they fit whole
    /// into `room` (Unicode scalar values); `None` when there is nothing to say.
    pub fn standing(&self, reader: &Reader<'_>, room: usize) -> Option<String> {
        if !self.holds_any() {
            return None;
        }
        let shelves = self.shelves.read();
        let mut entries: Vec<&Arc<Entry>> = shelves.in_scope(reader).collect();
        entries.sort_by_key(|entry| (&entry.scope, Reverse(entry.since()), Reverse(&entry.id)));
        let mut text = String::new();
        let mut left = room;
        for entry in entries {
            let gap = if text.is_empty() { "" } else { GAP };
            let said = entry.text();
            let length = gap.chars().count() + said.chars().count();
            // What is longer than all the room is cut, so that it is not passed over for ever.
            if length > room && text.is_empty() {
                let cut = Budget::new(room).admit(&said);
                return if let Admission::Cut(cut) = cut { Some(cut) } else { None };
            }
            let Some(rest) = left.checked_sub(length) else { continue };
            left = rest;
            text.push_str(gap);
            text.push_str(&said);
        }
        (!text.is_empty()).then_some(text)
    }
}
