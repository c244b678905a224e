//! Which texts match a prompt: BM25 over title and body.
//!
//! The weight of a word in a text comes from the `bm25` crate; ranking adds the weights up along posting lists, so that a
//! prompt costs what its words' lists are long.
use super::words::{self, Words};
use bm25::{Embedder, EmbedderBuilder};
use std::collections::HashMap;

/// Words that a text is taken to have on average, of those that count: a note of a few sentences. BM25 makes less of a word
/// in a longer one.
const AVERAGE_LENGTH: f32 = 30.0;
/// The title says what a text is about: each of its words counts as if it stood there so often.
const TITLE_WEIGHT: usize = 3;
/// The part of the best match's score that others need: what falls off steeply shares a word by chance.
const NEAR_BEST: f32 = 0.45;
/// Words that a text and a prompt must share, unless one of them stands in the title.
const SHARED_WORDS: u32 = 2;

/// An index over texts that have ids.
pub struct Index {
    embedder: Embedder<u64, Words>,
    /// Texts by number; a free number has none.
    texts: Vec<Option<Text>>,
    free: Vec<u32>,
    numbers: HashMap<String, u32>,
    /// By word: the texts that have it.
    postings: HashMap<u64, Vec<Posting>>,
}

struct Text {
    id: String,
    words: Vec<u64>,
}

/// A word's occurrence in a text.
#[derive(Clone, Copy)]
struct Posting {
    text: u32,
    weight: f32,
    in_title: bool,
}

/// What a text has in common with a prompt.
#[derive(Clone, Copy, Default)]
struct Tally {
    score: f32,
    shared: u32,
    in_title: bool,
}

impl Tally {
    fn matches(self) -> bool {
        self.in_title || self.shared >= SHARED_WORDS
    }
}

impl Default for Index {
    fn default() -> Self {
        Self {
            embedder: EmbedderBuilder::<u64, Words>::with_avgdl(AVERAGE_LENGTH).build(),
            texts: Vec::new(),
            free: Vec::new(),
            numbers: HashMap::new(),
            postings: HashMap::new(),
        }
    }
}

impl Index {
    /// Takes a text in, in the place of what has its id.
    pub fn put(&mut self, id: &str, title: &str, body: &str) {
        self.remove(id);
        let titled = format!("{}{body}", format!("{title}\n").repeat(TITLE_WEIGHT));
        // A word that stands in a text several times has its whole weight each time.
        let weights: HashMap<u64, f32> =
            self.embedder.embed(&titled).iter().map(|word| (word.index, word.value)).collect();
        let title: Vec<u64> = self.embedder.embed(title).indices().copied().collect();
        let number = self.free.pop().unwrap_or_else(|| {
            self.texts.push(None);
            u32::try_from(self.texts.len() - 1).unwrap_or(u32::MAX)
        });
        for (word, weight) in &weights {
            let posting = Posting { text: number, weight: *weight, in_title: title.contains(word) };
            self.postings.entry(*word).or_default().push(posting);
        }
        self.numbers.insert(id.to_owned(), number);
        if let Some(place) = self.texts.get_mut(number as usize) {
            *place = Some(Text { id: id.to_owned(), words: weights.into_keys().collect() });
        }
    }

    /// Forgets a text.
    pub fn remove(&mut self, id: &str) {
        let Some(number) = self.numbers.remove(id) else { return };
        let Some(text) = self.texts.get_mut(number as usize).and_then(Option::take) else { return };
        for word in text.words {
            if let Some(list) = self.postings.get_mut(&word) {
                list.retain(|posting| posting.text != number);
                if list.is_empty() {
                    self.postings.remove(&word);
                }
            }
        }
        self.free.push(number);
    }

    /// The texts that match `query`, best first, with their scores.
    pub fn matches(&self, query: &str) -> Vec<(&str, f32)> {
        let mut tallies = vec![Tally::default(); self.texts.len()];
        let mut touched = Vec::new();
        for word in self.words(query) {
            let Some(list) = self.postings.get(&word) else { continue };
            let rarity = self.rarity(list.len());
            for posting in list {
                let Some(tally) = tallies.get_mut(posting.text as usize) else { continue };
                if tally.shared == 0 {
                    touched.push(posting.text);
                }
                tally.score += rarity * posting.weight;
                tally.shared += 1;
                tally.in_title |= posting.in_title;
            }
        }
        let tally = |number: &u32| tallies.get(*number as usize).copied().filter(|tally| tally.matches());
        let best = touched.iter().filter_map(tally).map(|tally| tally.score).fold(0.0, f32::max);
        let found = touched.iter().filter_map(|number| {
            let score = tally(number)?.score;
            let text = self.texts.get(*number as usize)?.as_ref()?;
            (score >= best * NEAR_BEST).then_some((text.id.as_str(), score))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        found
    }

    /// The different words of a prompt.
    fn words(&self, query: &str) -> Vec<u64> {
        let mut words: Vec<u64> = self.embedder.embed(words::head(query)).indices().copied().collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    /// What a word tells, by how many texts have it: the inverse document frequency of BM25.
    #[allow(clippy::cast_precision_loss, reason = "counts of texts, which are far below 2^24")]
    fn rarity(&self, having: usize) -> f32 {
        let having = having as f32;
        ((self.numbers.len() as f32 - having + 0.5) / (having + 0.5)).ln_1p()
    }
}

#[cfg(test)]
mod tests;
