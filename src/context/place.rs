//! Where text goes, in neutral terms. A dialect lowers these to splices of its native body.
use super::{Leg, LegResult, Restored};
use std::ops::Range;
use std::sync::Arc;

/// One placement. All of one request are lowered together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Ahead of the client's own instructions, but behind the first `after` blocks of [`super::RequestView::system`],
    /// which the client needs first. In the type the client used: a string stays a string (texts and the client's are
    /// joined by a blank line), an array gets one block per text, absent is created.
    SystemFront {
        /// Number of leading blocks that stay first.
        after: usize,
        /// The texts in order.
        texts: Vec<String>,
    },
    /// Behind the client's own instructions, in the type the client used.
    SystemEnd {
        /// The texts in order.
        texts: Vec<String>,
    },
    /// At the end of an item of the history, behind the client's own blocks. A user message: one text block per text. An
    /// item with tool results: inside the last result's content. Only for items with the roles User and Tool.
    ItemEnd {
        /// Index into [`super::RequestView::items`].
        item: usize,
        /// The texts in order.
        texts: Vec<String>,
    },
    /// Inside one tool result, and nowhere else. What a client put into the result beside text (images) goes when it is
    /// replaced; whether the tool failed, and the client's cache markers, stay.
    Result {
        /// Index into [`super::RequestView::items`].
        item: usize,
        /// Index into its [`super::ItemFacts::results`].
        result: usize,
        /// The text that the model gets instead of the tool's.
        replace: Option<String>,
        /// Texts behind that, or behind the client's own; ahead of those of an [`Place::ItemEnd`].
        append: Vec<String>,
    },
    /// These items are left out (a blocked prompt and its made-up answer). What the client needs to keep stays legal:
    /// reminder blocks and system messages among them move to the next item.
    Omit {
        /// Indexes into [`super::RequestView::items`].
        items: Range<usize>,
    },
    /// An answer that the client knows as one message is taken apart again: first each leg's answer and what the model was
    /// told, as stored, then what is left of the client's own copy. Clients send the copy as blocks, parts or one string,
    /// trimmed, with empty blocks dropped; where the legs' text is not what it begins with, it stays as it is.
    Split {
        /// Index into [`super::RequestView::items`]; the role is Assistant.
        item: usize,
        /// The legs before the last, in order; the ledger's own, since a long history has many.
        legs: Arc<[Leg]>,
    },
    /// Calls that the client does not know, or knows otherwise, stand in its answer again as the model made them; what
    /// the model was told of them stands with the results behind it. Together with [`Place::Split`] of the same item it
    /// is about the last leg's part.
    Restore {
        /// Index into [`super::RequestView::items`]; the role is Assistant.
        item: usize,
        /// The calls in the model's order.
        calls: Arc<[Restored]>,
    },
    /// What the model is told of calls that only the provider has, in a delta behind the answer that made them.
    Owed {
        /// The results in the order of the calls.
        results: Arc<[LegResult]>,
    },
    /// The answer that a delta goes on behind has this id for the provider: the client knows an answer of several legs by
    /// the first one's id.
    GoesOnBehind {
        /// The last leg's id.
        id: String,
    },
}
