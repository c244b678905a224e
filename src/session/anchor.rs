//! Anchors: how a place in a history is found again in the client's next request.
//!
//! Clients cut, merge and rewrite what they send back, so a place is named by what survives: the id of a tool call, or a
//! prompt's normal form together with its ordinal among equal ones ("continue" is said more than once).
use crate::context::{Digest, RequestView, Role};
use foldhash::HashMap;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use xxhash_rust::xxh3::xxh3_64;

/// A place in a history: an item, or one result in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// The `nth` (from 0) prompt with this normal form.
    Prompt {
        /// Its normal form.
        digest: Digest,
        /// Its ordinal among equal ones.
        nth: u32,
    },
    /// The item that brings this call's result.
    Result {
        /// The call.
        call: String,
        /// Its ordinal among equal ones: where calls have no ids (Gemini) this is the function's name.
        #[serde(default)]
        nth: u32,
    },
    /// The result of one call, however many others its item brings.
    Call {
        /// Hash of the call's id; where calls have no ids (Gemini), of the function's name and arguments.
        hash: u64,
        /// Its ordinal among equal ones.
        nth: u32,
    },
}

/// One tool result of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultSpot {
    /// The item that brings it.
    pub item: usize,
    /// Its index among the item's results.
    pub result: usize,
    hash: u64,
    nth: u32,
}

impl ResultSpot {
    /// Its anchor.
    pub fn anchor(&self) -> Anchor {
        Anchor::Call { hash: self.hash, nth: self.nth }
    }

    /// The same as a name, unique in its history.
    pub fn name(&self) -> String {
        format!("{:016x}-{}", self.hash, self.nth)
    }
}

/// The anchors of one request.
///
/// Results are found by a 64-bit hash of their call's id: no id is copied per request, and within one history no two meet.
#[derive(Debug, Default)]
pub struct Anchors {
    at: Vec<Spot>,
    prompts: HashMap<(Digest, u32), usize>,
    results: HashMap<(u64, u32), usize>,
    /// Every result, in order, and where each is in this list.
    spots: Vec<ResultSpot>,
    calls: HashMap<(u64, u32), usize>,
}

/// What an item can be found by.
#[derive(Debug, Clone, Copy)]
enum Spot {
    Nothing,
    Prompt(Digest, u32),
    Result(u32),
}

impl Anchors {
    /// All anchors in `view`. In a delta the ordinals of equal prompts can't be counted, so the starting point (`root` of
    /// the chain) takes part in the digest instead.
    pub fn of(view: &RequestView, root: Digest) -> Self {
        let delta = view.is_delta();
        let mut anchors = Self { at: Vec::with_capacity(view.items.len()), ..Self::default() };
        let mut seen: HashMap<Digest, u32> = HashMap::default();
        let mut answered: HashMap<u64, u32> = HashMap::default();
        for (index, item) in view.items.iter().enumerate() {
            let spot = match (item.facts.prompt, item.facts.results.last()) {
                (Some(prompt), _) => {
                    let digest = if delta { root.then(prompt) } else { prompt };
                    let nth = next(seen.entry(digest).or_default());
                    anchors.prompts.insert((digest, nth), index);
                    Spot::Prompt(digest, nth)
                }
                (None, Some(call)) if matches!(item.role(), Role::Tool | Role::User) => {
                    let hash = xxh3_64(call.as_bytes());
                    let nth = next(answered.entry(hash).or_default());
                    anchors.results.insert((hash, nth), index);
                    Spot::Result(nth)
                }
                _ => Spot::Nothing,
            };
            anchors.at.push(spot);
        }
        anchors.find_results(view);
        anchors
    }

    fn find_results(&mut self, view: &RequestView) {
        let mut seen: HashMap<u64, u32> = HashMap::default();
        let mut asked: VecDeque<&str> = VecDeque::new();
        for (item, found) in view.items.iter().enumerate() {
            match found.role() {
                Role::Assistant => asked = found.facts.calls.iter().map(String::as_str).collect(),
                Role::Tool => {
                    for (result, id) in found.facts.results.iter().enumerate() {
                        let hash = xxh3_64(call_of(&mut asked, id).as_bytes());
                        let nth = next(seen.entry(hash).or_default());
                        self.calls.insert((hash, nth), self.spots.len());
                        self.spots.push(ResultSpot { item, result, hash, nth });
                    }
                }
                _ => {}
            }
        }
    }

    /// The results of the items from `item` on, in order.
    pub fn results_from(&self, item: usize) -> &[ResultSpot] {
        let first = self.spots.partition_point(|spot| spot.item < item);
        self.spots.get(first..).unwrap_or_default()
    }

    /// The one result at `anchor`, if it names one and the history still holds it.
    pub fn result(&self, anchor: &Anchor) -> Option<ResultSpot> {
        let Anchor::Call { hash, nth } = anchor else { return None };
        self.calls.get(&(*hash, *nth)).and_then(|at| self.spots.get(*at)).copied()
    }

    /// The item at `anchor`, if the history still holds it.
    pub fn item(&self, anchor: &Anchor) -> Option<usize> {
        match anchor {
            Anchor::Prompt { digest, nth } => self.prompts.get(&(*digest, *nth)).copied(),
            Anchor::Result { call, nth } => self.results.get(&(xxh3_64(call.as_bytes()), *nth)).copied(),
            Anchor::Call { .. } => self.result(anchor).map(|spot| spot.item),
        }
    }

    /// The anchor of an item of the same `view`.
    pub fn at(&self, view: &RequestView, item: usize) -> Option<Anchor> {
        match *self.at.get(item)? {
            Spot::Nothing => None,
            Spot::Prompt(digest, nth) => Some(Anchor::Prompt { digest, nth }),
            Spot::Result(nth) => {
                Some(Anchor::Result { call: view.items.get(item)?.facts.results.last()?.clone(), nth })
            }
        }
    }

    /// How many prompts stand before `item`: the ordinal of a turn.
    pub fn prompts_before(&self, item: usize) -> usize {
        self.at.iter().take(item).filter(|spot| matches!(spot, Spot::Prompt(..))).count()
    }
}

/// The call that a result answers, among those of the answer before it: results name it by its id, or by its function
/// alone, whose calls then have their name and arguments for an id. Results mostly come in the order of their calls. A call
/// that is not there (in a delta) is known by what the result says.
fn call_of<'v>(asked: &mut VecDeque<&'v str>, result: &'v str) -> &'v str {
    let answers = |call: &&str| call.strip_prefix(result).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
    let at = asked.iter().position(answers);
    at.and_then(|at| asked.remove(at)).unwrap_or(result)
}

/// The count so far; it goes on by one.
fn next(count: &mut u32) -> u32 {
    std::mem::replace(count, count.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{digest, prompt, reply, result, view};
    use super::*;
    use proptest::prelude::*;

    fn anchors(view: &RequestView) -> Anchors {
        Anchors::of(view, digest("root"))
    }

    #[test]
    fn the_same_words_said_again_are_another_place() {
        let view = view(vec![prompt("go on"), reply("a", &[]), prompt("go on"), reply("b", &[]), prompt("why?")]);
        let found = anchors(&view);
        let places: Vec<_> = [0, 2, 4].map(|item| found.at(&view, item).unwrap()).into();
        assert_eq!(places[1], Anchor::Prompt { digest: digest("go on"), nth: 1 });
        assert_eq!(places.iter().map(|place| found.item(place)).collect::<Vec<_>>(), [Some(0), Some(2), Some(4)]);
        assert_eq!(found.prompts_before(4), 2);
    }

    #[test]
    fn results_without_ids_are_told_apart_by_their_order() {
        let step = || [reply("", &["look"]), result(&["look"])];
        let view = view([prompt("one")].into_iter().chain(step()).chain(step()).collect());
        let found = anchors(&view);
        let first = found.at(&view, 2).unwrap();
        assert_eq!(first, Anchor::Result { call: "look".into(), nth: 0 });
        assert_eq!((found.item(&first), found.item(&found.at(&view, 4).unwrap())), (Some(2), Some(4)));
    }

    #[test]
    fn each_result_is_a_place_of_its_own() {
        let named = |at: &str| format!("look:{at}");
        let (one, two) = (named("1"), named("2"));
        let view = view(vec![
            prompt("one"),
            reply("", &[&one, &two, "c"]),
            result(&["c", "look", "look"]),
            reply("", &[&two]),
            result(&["look"]),
            result(&["unasked"]),
        ]);
        let found = anchors(&view);
        let spots = found.results_from(0);
        assert_eq!(
            spots.iter().map(|s| (s.item, s.result)).collect::<Vec<_>>(),
            [(2, 0), (2, 1), (2, 2), (4, 0), (5, 0)]
        );
        assert!(spots.iter().all(|spot| found.result(&spot.anchor()) == Some(*spot)));
        let again = spots[3];
        assert_eq!((again.hash, again.nth), (spots[2].hash, 1), "the same call once more");
        assert_eq!(found.results_from(3), &spots[3..]);
        assert_eq!(found.result(&Anchor::Result { call: "c".into(), nth: 0 }), None);
    }

    #[test]
    fn a_stored_anchor_without_an_ordinal_is_the_first() {
        let stored: Anchor = serde_json::from_str(r#"{"result":{"call":"c1"}}"#).unwrap();
        assert_eq!(stored, Anchor::Result { call: "c1".into(), nth: 0 });
    }

    proptest! {
        /// What clients append never moves a place.
        #[test]
        fn a_place_stays_where_it_is_when_the_history_grows(words in prop::collection::vec(0..3_usize, 1..12), cut in 0..12_usize) {
            let history = |words: &[usize]| {
                let turn = |word: &usize| match word {
                    0 => vec![prompt("go on"), reply("x", &[])],
                    1 => vec![prompt("why?"), reply("y", &["look"]), result(&["look"]), reply("z", &[])],
                    _ => vec![prompt("stop"), reply("", &["c"]), result(&["c"])],
                };
                view(words.iter().flat_map(turn).collect())
            };
            let (whole, part) = (history(&words), history(&words[..cut.min(words.len())]));
            let (later, before) = (anchors(&whole), anchors(&part));
            for item in 0..part.items.len() {
                if let Some(place) = before.at(&part, item) {
                    prop_assert_eq!(later.item(&place), Some(item));
                }
            }
        }
    }
}
