//! Conditions on a request. All that a shape names must hold.
use http::{HeaderMap, HeaderName};
use regex::Regex;
use std::borrow::Cow;

/// Patterns see this much of a text, in bytes: what a client's own texts are known by stands at their beginning, and a
/// prompt may be megabytes long.
const HEAD: usize = 4096;

/// Texts of a request, decoded only when asked for; each is a list of blocks.
pub trait Texts {
    /// The instruction blocks ahead of the conversation.
    fn system(&self) -> Vec<Cow<'_, str>>;
    /// The text blocks of the first user message.
    fn first_user(&self) -> Vec<Cow<'_, str>>;
    /// The text blocks of the last message, if it is the user's.
    fn last_user(&self) -> Vec<Cow<'_, str>>;
}

/// What a profile is told of a request.
pub struct RequestFacts<'a> {
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The model, as the client named it.
    pub model: Option<&'a str>,
    /// Whether it defines tools.
    pub has_tools: bool,
    /// The answer's token limit.
    pub max_tokens: Option<u64>,
    /// Whether it wants an answer of a given JSON shape.
    pub structured: bool,
    /// Items of its history.
    pub items: usize,
    /// Whether its last item carries a cache marker.
    pub tail_marked: bool,
    /// Whether it holds a provider-side compaction.
    pub compaction_item: bool,
    /// Its texts.
    pub texts: &'a dyn Texts,
}

/// What a header must be.
#[derive(Debug)]
pub(super) enum HeaderTest {
    Matches(HeaderName, Regex),
    Absent(HeaderName),
}

impl HeaderTest {
    fn holds(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::Matches(name, pattern) => {
                headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).any(|text| pattern.is_match(text))
            }
            Self::Absent(name) => !headers.contains_key(name),
        }
    }
}

/// A condition that a text is decoded for.
#[derive(Debug)]
pub(super) enum TextTest {
    System(Regex),
    LastUser(Regex),
}

impl TextTest {
    fn holds(&self, texts: &dyn Texts) -> bool {
        let (pattern, blocks) = match self {
            Self::System(pattern) => (pattern, texts.system()),
            Self::LastUser(pattern) => (pattern, texts.last_user()),
        };
        blocks.iter().any(|block| pattern.is_match(head(block)))
    }
}

/// Conditions; what is `None`, false or empty does not matter.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) headers: Vec<HeaderTest>,
    pub(super) no_tools: bool,
    pub(super) structured: bool,
    pub(super) tail_unmarked: bool,
    pub(super) max_tokens_at_most: Option<u64>,
    pub(super) items_at_most: Option<usize>,
    pub(super) model: Option<Regex>,
    pub(super) texts: Vec<TextTest>,
}

impl Shape {
    pub(super) fn fits_headers(&self, headers: &HeaderMap) -> bool {
        self.headers.iter().all(|test| test.holds(headers))
    }

    /// Cheapest first: texts are decoded last.
    pub(super) fn fits(&self, facts: &RequestFacts<'_>) -> bool {
        (!self.no_tools || !facts.has_tools)
            && (!self.structured || facts.structured)
            && (!self.tail_unmarked || !facts.tail_marked)
            && self.max_tokens_at_most.is_none_or(|most| facts.max_tokens.is_some_and(|n| n <= most))
            && self.items_at_most.is_none_or(|most| facts.items <= most)
            && self.model.as_ref().is_none_or(|pattern| facts.model.is_some_and(|model| pattern.is_match(model)))
            && self.fits_headers(facts.headers)
            && self.texts.iter().all(|test| test.holds(facts.texts))
    }
}

/// The part of a text that patterns see.
pub(super) fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(HEAD)).unwrap_or(text)
}
