//! The budget of text that hooks newly place in one turn (config/hookgate.yaml, `max_injected_context_chars`).
//!
//! Counted in Unicode scalar values, without frame and mark. Texts are admitted in the order given: persistent ones
//! first, then ephemeral ones in config order. The one that goes over is cut with a mark, the ones behind it are left out.

/// What became of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It fits.
    Whole,
    /// Cut, with the mark: the text to place.
    Cut(String),
    /// No room was left.
    LeftOut,
}

/// Room for text in one turn.
#[derive(Debug, Clone)]
pub struct Budget {
    given: usize,
    left: usize,
}

impl Budget {
    /// Room for `chars` Unicode scalar values.
    pub const fn new(chars: usize) -> Self {
        Self { given: chars, left: chars }
    }

    /// Room that was taken.
    pub const fn spent(&self) -> usize {
        self.given - self.left
    }

    /// Takes room for `text`.
    pub fn admit(&mut self, text: &str) -> Admission {
        // A text has at least a quarter as many characters as bytes, so most need no count.
        if text.len() <= self.left {
            self.left -= text.chars().count();
            return Admission::Whole;
        }
        let total = text.chars().count();
        if total <= self.left {
            self.left -= total;
            return Admission::Whole;
        }
        let room = std::mem::take(&mut self.left);
        // Only white space would be left: nothing that is worth a frame.
        let kept: String = text.chars().take(room).collect();
        if kept.trim().is_empty() {
            return Admission::LeftOut;
        }
        Admission::Cut(format!("{kept}\n[… cut: {room} of {total} characters]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_text_that_goes_over_is_cut_and_the_next_is_left_out() {
        let mut budget = Budget::new(5);
        assert_eq!(budget.admit("abc"), Admission::Whole);
        assert_eq!(budget.admit("defg"), Admission::Cut("de\n[… cut: 2 of 4 characters]".into()));
        assert_eq!(budget.admit("h"), Admission::LeftOut);
    }

    #[test]
    fn characters_count_not_bytes() {
        assert_eq!(Budget::new(2).admit("北京"), Admission::Whole);
        assert_eq!(Budget::new(1).admit("🌍🌍"), Admission::Cut("🌍\n[… cut: 1 of 2 characters]".into()));
    }

    proptest! {
        #[test]
        fn never_more_than_the_budget(limit in 0usize..50, texts in proptest::collection::vec("\\PC{0,30}", 0..6)) {
            let mut budget = Budget::new(limit);
            let mut placed = 0;
            for text in &texts {
                placed += match budget.admit(text) {
                    Admission::Whole => text.chars().count(),
                    Admission::Cut(cut) => cut.chars().count() - cut.rsplit_once('\n').map_or(0, |(_, m)| m.chars().count() + 1),
                    Admission::LeftOut => 0,
                };
            }
            prop_assert!(placed <= limit);
        }
    }
}
