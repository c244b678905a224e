//! Where text goes, in neutral terms. A dialect lowers these to splices of its native body.
use std::ops::Range;

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
    /// These items are left out (a blocked prompt and its made-up answer). What the client needs to keep stays legal:
    /// reminder blocks and system messages among them move to the next item.
    Omit {
        /// Indexes into [`super::RequestView::items`].
        items: Range<usize>,
    },
}
