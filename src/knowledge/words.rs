//! The words of a text: cut by Unicode's rules, reduced to their stems, without those that say nothing.
//!
//! Stems and silent words are English, as most agents' notes are; words of other languages count as they stand.
use bm25::Tokenizer;
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashSet;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation as _;

/// The part of a prompt that is looked at, in bytes: a pasted log is longer, and what is wanted stands ahead of it.
const HEAD: usize = 16 * 1024;
/// Longest word in bytes: what is longer is encoded data.
const MAX_WORD: usize = 64;

static SILENT: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| stop_words::get(stop_words::Language::English).iter().copied().collect());

/// Cuts texts into words.
#[derive(Debug, Default)]
pub(super) struct Words;

/// The beginning of a prompt.
pub(super) fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(HEAD)]
}

impl Tokenizer for Words {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let stemmer = Stemmer::create(Algorithm::English);
        let words = text.unicode_words().flat_map(parts).filter(|word| word.len() <= MAX_WORD);
        let words = words.map(str::to_lowercase).filter(|word| !SILENT.contains(word.as_str()));
        words.map(|word| stemmer.stem(&word).into_owned()).collect()
    }
}

/// The names in a name: `snake_case` and `some.module` are one word to Unicode.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split(['_', '.', ':', '\'', '’']).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stems_of_what_says_something() {
        for (text, words) in [
            ("Running the tests", &["run", "test"][..]),
            ("parse_config in std::collections", &["pars", "config", "std", "collect"]),
            ("Don't deploy on Fridays!", &["deploy", "friday"]),
            ("日本", &["日", "本"]),
            ("", &[]),
        ] {
            assert_eq!(Words.tokenize(text), words, "{text}");
        }
        assert!(Words.tokenize(&"x".repeat(MAX_WORD + 1)).is_empty());
        assert_eq!(head(&"ä".repeat(HEAD)).len(), HEAD);
    }
}
