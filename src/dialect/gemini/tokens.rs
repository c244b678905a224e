//! What several legs cost together, in the words of `usageMetadata`.
use super::chunk;
use crate::dialect::rewrite::Rewrite;

/// Figures of what the model wrote, in the order in which [`Tokens::read`] takes them.
const OUTPUT: [&str; 2] = ["candidatesTokenCount", "thoughtsTokenCount"];

/// The output of one leg, or of several.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tokens {
    output: [u64; OUTPUT.len()],
}

impl Tokens {
    /// Reads a `usageMetadata`: a running total, which overwrites the earlier ones.
    pub(super) fn read(&mut self, usage: Option<&str>) {
        if let Some(Ok(usage)) = usage.map(serde_json::from_str::<chunk::Tokens>) {
            self.output = [usage.candidates_token_count, usage.thoughts_token_count];
        }
    }

    /// Adds another leg's.
    pub(super) fn add(&mut self, other: Self) {
        for (sum, more) in self.output.iter_mut().zip(other.output) {
            *sum = sum.saturating_add(more);
        }
    }

    /// `usage` with these added; the input stays the running leg's, since clients take it for the size of the context.
    pub(super) fn joined(&self, usage: &str) -> String {
        let mut usage = Rewrite::of_any(Some(usage));
        let mut all = usage.number("totalTokenCount");
        for (key, more) in OUTPUT.into_iter().zip(self.output).filter(|(_, more)| *more > 0) {
            usage.set(key, usage.number(key).saturating_add(more).to_string());
            all = all.saturating_add(more);
        }
        usage.set("totalTokenCount", all.to_string());
        usage.finish()
    }
}
