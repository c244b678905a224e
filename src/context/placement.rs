//! From what is to stand in a request to the places where it goes.
//!
//! The caller says what the model is to see: texts for the system prompt, and notes that hang on items of the history.
//! This orders them into [`Place`]s; it does not know where the texts come from.
use super::wrap::{self, Standing};
use super::{Digest, Leg, LegResult, Place, Restored};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// How long a text counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// A slot of the session: until it is replaced.
    Persistent,
    /// This turn's.
    Ephemeral,
}

/// One text in the exact form in which it was, or will be, placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// The hook or slot that it comes from.
    pub source: String,
    /// How long it counts.
    pub kind: TextKind,
    /// Frame included; replayed byte for byte.
    pub text: String,
    /// Which version of its slot it is: the digest of the slot's whole text. `None` for ephemeral text, and where the slot
    /// was emptied.
    #[serde(default)]
    pub version: Option<Digest>,
}

impl Placed {
    /// `text` of `source`, in its frame if `framed`.
    pub fn new(source: &str, kind: TextKind, standing: Standing, text: &str, framed: bool) -> Self {
        let text = if framed { wrap::wrap(source, standing, text) } else { wrap::plain(source, standing, text) };
        Self { source: source.to_owned(), kind, text, version: None }
    }
}

/// Texts that hang on one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Index into the request's items.
    pub item: usize,
    /// The texts in order.
    pub texts: Vec<String>,
}

/// What becomes of one tool result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultNote {
    /// Index into the request's items.
    pub item: usize,
    /// Index into the item's results.
    pub result: usize,
    /// The text in its place.
    pub replace: Option<String>,
    /// The texts behind it, in order.
    pub append: Vec<String>,
}

/// Where the texts for the system prompt go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemEdge {
    /// Ahead of the client's instructions, behind its first `after` blocks.
    Front {
        /// Blocks that the client needs first.
        after: usize,
    },
    /// Behind them.
    End,
}

/// All that is to stand in one request beside the client's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// Which side of the client's instructions.
    pub edge: SystemEdge,
    /// Texts for the system prompt.
    pub system: Vec<String>,
    /// Texts in the history, in the order in which they were placed.
    pub notes: Vec<Note>,
    /// Tool results that are not what the client sent, one entry for each.
    pub results: Vec<ResultNote>,
    /// Items that are left out.
    pub omitted: Vec<Range<usize>>,
    /// Answers that are taken apart again, by item, with the legs before the last.
    pub splits: Vec<(usize, Arc<[Leg]>)>,
    /// Answers whose calls the client does not know, or knows otherwise, by item.
    pub restored: Vec<(usize, Arc<[Restored]>)>,
    /// What the provider still has to be told of calls in the answer that a delta goes on behind.
    pub owed: Arc<[LegResult]>,
    /// The id behind which a delta goes on, where the client knows it by another.
    pub goes_on_behind: Option<String>,
}

impl Scene {
    /// Nothing.
    pub fn empty() -> Self {
        Self {
            edge: SystemEdge::End,
            system: Vec::new(),
            notes: Vec::new(),
            results: Vec::new(),
            omitted: Vec::new(),
            splits: Vec::new(),
            restored: Vec::new(),
            owed: Arc::default(),
            goes_on_behind: None,
        }
    }

    /// The places, in the order of the request; notes on one item are joined into one place, notes on an omitted item go
    /// with it.
    pub fn places(self) -> Vec<Place> {
        let mut places = Vec::new();
        if !self.system.is_empty() {
            places.push(match self.edge {
                SystemEdge::Front { after } => Place::SystemFront { after, texts: self.system },
                SystemEdge::End => Place::SystemEnd { texts: self.system },
            });
        }
        let omitted = self.omitted;
        let mut notes: Vec<Note> =
            self.notes.into_iter().filter(|n| !omitted.iter().any(|range| range.contains(&n.item))).collect();
        let results = self.results.into_iter().filter(|r| !omitted.iter().any(|range| range.contains(&r.item)));
        places.extend(results.map(|ResultNote { item, result, replace, append }| Place::Result {
            item,
            result,
            replace,
            append,
        }));
        notes.sort_by_key(|n| n.item); // stable: placing order within an item stays
        for note in notes {
            match places.last_mut() {
                Some(Place::ItemEnd { item, texts }) if *item == note.item => texts.extend(note.texts),
                _ if note.texts.is_empty() => {}
                _ => places.push(Place::ItemEnd { item: note.item, texts: note.texts }),
            }
        }
        places.extend(self.splits.into_iter().map(|(item, legs)| Place::Split { item, legs }));
        places.extend(self.restored.into_iter().map(|(item, calls)| Place::Restore { item, calls }));
        if !self.owed.is_empty() {
            places.push(Place::Owed { results: self.owed });
        }
        places.extend(omitted.into_iter().map(|items| Place::Omit { items }));
        places.extend(self.goes_on_behind.map(|id| Place::GoesOnBehind { id }));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(item: usize, text: &str) -> Note {
        Note { item, texts: vec![text.into()] }
    }

    #[test]
    fn notes_on_one_item_keep_their_order_and_share_a_place() {
        let scene = Scene {
            edge: SystemEdge::End,
            system: vec![],
            notes: vec![note(3, "b"), note(1, "a"), note(3, "c")],
            ..Scene::empty()
        };
        assert_eq!(
            scene.places(),
            [
                Place::ItemEnd { item: 1, texts: vec!["a".into()] },
                Place::ItemEnd { item: 3, texts: vec!["b".into(), "c".into()] }
            ]
        );
    }

    #[test]
    fn notes_go_with_their_omitted_item() {
        let scene = Scene {
            edge: SystemEdge::Front { after: 2 },
            system: vec!["s".into()],
            notes: vec![note(1, "a")],
            results: vec![ResultNote { item: 2, result: 0, replace: Some("r".into()), append: vec![] }],
            omitted: std::iter::once(1..3).collect(),
            ..Scene::empty()
        };
        assert_eq!(
            scene.places(),
            [Place::SystemFront { after: 2, texts: vec!["s".into()] }, Place::Omit { items: 1..3 }]
        );
    }
}
