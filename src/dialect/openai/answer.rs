//! Parts of reading an answer that both APIs share.
use crate::context::answer::{Answer, Ending};
use crate::context::{Finish, Usage};
use crate::dialect::object::Object;
use crate::dialect::transcript::MAX_ANSWER;

/// What is left of [`MAX_ANSWER`].
#[derive(Debug)]
pub(in crate::dialect) struct Budget {
    left: usize,
    exceeded: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: MAX_ANSWER, exceeded: false }
    }
}

impl Budget {
    /// Takes `bytes` and says whether they were left.
    pub(in crate::dialect) fn take(&mut self, bytes: usize) -> bool {
        let enough = bytes <= self.left;
        if enough {
            self.left -= bytes;
        }
        self.exceeded |= !enough;
        enough
    }

    /// Whether something did not fit, so that what was kept is not all.
    pub(in crate::dialect) fn is_exceeded(&self) -> bool {
        self.exceeded
    }

    /// Adds `piece` to `text` while the budget lasts.
    pub(in crate::dialect) fn push(&mut self, text: &mut String, piece: &str) {
        if self.take(piece.len()) {
            text.push_str(piece);
        }
    }
}

/// An answer of which nothing has been seen.
pub(in crate::dialect) fn unseen() -> Answer {
    Answer {
        id: None,
        text: String::new(),
        calls: Vec::new(),
        finish: Finish::Error,
        native_finish: None,
        ending: Ending::Cut,
        usage: Usage::default(),
        signed: false,
        many: false,
        loose_ids: false,
        refused: false,
        error: None,
    }
}

/// A `usage` object whose members begin with `input` and `output` (`prompt_tokens`, `completion_tokens` in Chat).
/// OpenAI counts cached tokens inside of the input.
pub(in crate::dialect) fn usage(raw: &str, input: &str, output: &str) -> Option<Usage> {
    let usage = Object::parse(raw).ok()?;
    let number = |object: &Object<'_>, key: &str| object.get(key).and_then(|n| n.parse::<u64>().ok());
    let cached = usage
        .get(&format!("{input}_tokens_details"))
        .and_then(|details| number(&Object::parse(details).ok()?, "cached_tokens"))
        .unwrap_or(0);
    Some(Usage {
        input: number(&usage, &format!("{input}_tokens")).unwrap_or(0).saturating_sub(cached),
        cached_input: cached,
        output: number(&usage, &format!("{output}_tokens")).unwrap_or(0),
    })
}
