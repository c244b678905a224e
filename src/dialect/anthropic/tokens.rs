//! What several legs cost together, in the words of `usage`.
use crate::dialect::rewrite::Rewrite;

/// Input figures: of several legs the last one's count, since clients take them for the size of the context.
const INPUT: [&str; 3] = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

/// The figures of one leg so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Tokens {
    /// The texts of the input figures, where the leg gave them.
    input: [Option<String>; INPUT.len()],
    output: u64,
}

impl Tokens {
    /// Reads a `usage`: running totals, which overwrite the earlier ones.
    pub(super) fn read(&mut self, usage: Option<&str>) {
        let usage = Rewrite::of_any(usage);
        for (figure, key) in self.input.iter_mut().zip(INPUT) {
            if let Some(value) = usage.get(key) {
                *figure = Some(value.to_owned());
            }
        }
        if usage.get("output_tokens").is_some() {
            self.output = usage.number("output_tokens");
        }
    }

    /// Tokens that the model wrote.
    pub(super) const fn output(&self) -> u64 {
        self.output
    }

    /// The leg's `usage`, `spent` tokens of output added. What the client knows of the input is the first leg's: the
    /// figures go in even where the leg gave them at its start only.
    pub(super) fn joined(&self, usage: Option<&str>, spent: u64) -> String {
        let mut usage = Rewrite::of_any(usage);
        for (figure, key) in self.input.iter().zip(INPUT) {
            if let (None, Some(figure)) = (usage.get(key), figure) {
                usage.set(key, figure.clone());
            }
        }
        usage.set("output_tokens", spent.saturating_add(self.output).to_string());
        usage.finish()
    }
}
