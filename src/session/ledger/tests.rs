use super::super::testing::{digest, instructions, prompt, reply, result, view};
use super::*;
use crate::context::wrap::Standing;
use crate::context::{ItemFacts, LegResult};
use proptest::prelude::*;

fn text(kind: TextKind, text: &str) -> Placed {
    Placed::new("hook", kind, Standing::New, text, false)
}

fn said(words: &str, nth: u32, texts: Vec<Placed>) -> Entry {
    Entry { anchor: Anchor::Prompt { digest: digest(words), nth }, what: What::Prompt { texts } }
}

fn ephemeral(words: &str, nth: u32) -> Entry {
    said(words, nth, vec![text(TextKind::Ephemeral, &format!("{words} {nth}"))])
}

fn ledger(entries: Vec<Entry>) -> Ledger {
    entries.into_iter().fold(Ledger::default(), |mut ledger, entry| {
        assert_eq!(ledger.push(entry), [0_u64; 0]);
        ledger
    })
}

fn replayed(ledger: &Ledger, view: &RequestView, current: Option<usize>, keep: Keep) -> Vec<(usize, String)> {
    let replay = ledger.replay(view, &Anchors::of(view, digest("root")), current, keep);
    replay.notes.into_iter().map(|note| (note.item, note.texts.join("|"))).collect()
}

#[test]
fn what_was_taken_out_once_stays_out() {
    let ledger = ledger(vec![ephemeral("a", 0), ephemeral("b", 0), ephemeral("c", 0)]);
    let view = view(vec![prompt("a"), reply("1", &[]), prompt("b"), reply("2", &[]), prompt("c")]);
    let (a, b, c) = ((0, "a 0".into()), (2, "b 0".into()), (4, "c 0".into()));
    let cases: [(Keep, Vec<(usize, String)>); 4] = [
        (Keep::From(0), vec![a, b.clone(), c.clone()]),
        (Keep::From(1), vec![b, c.clone()]),
        (Keep::From(3), vec![c]),
        (Keep::Nothing, vec![]),
    ];
    for (keep, expected) in cases {
        assert_eq!(replayed(&ledger, &view, Some(4), keep), expected, "{keep:?}");
    }
}

#[test]
fn persistent_text_stays_whatever_becomes_of_the_rest() {
    let texts = vec![text(TextKind::Persistent, "slot"), text(TextKind::Ephemeral, "note")];
    let ledger = ledger(vec![said("a", 0, texts)]);
    let view = view(vec![prompt("a"), reply("1", &[]), prompt("b")]);
    assert_eq!(replayed(&ledger, &view, Some(2), Keep::From(1)), [(0, "slot".to_owned())]);
}

#[test]
fn an_entry_whose_anchor_is_gone_is_passed_over() {
    let ledger = ledger(vec![ephemeral("a", 0), ephemeral("a", 1)]);
    let view = view(vec![prompt("a")]);
    let replay = ledger.replay(&view, &Anchors::of(&view, digest("root")), None, Keep::From(0));
    assert_eq!((replay.notes.len(), replay.lost), (1, 1));
}

#[test]
fn a_fork_takes_what_still_has_its_place_but_not_what_was_said_at_its_new_prompt() {
    let ledger = ledger(vec![ephemeral("a", 0), ephemeral("b", 0), ephemeral("a", 1)]);
    let view = view(vec![prompt("a"), reply("1", &[]), prompt("a")]);
    let anchors = Anchors::of(&view, digest("root"));
    let keys = |news| ledger.fork(&anchors, news).entries().iter().map(|(key, _)| *key).collect::<Vec<_>>();
    assert_eq!(keys(None), [0, 2]);
    assert_eq!(keys(Some(2)), [0], "under its own key");
}

#[test]
fn the_oldest_entries_go_first_and_are_named() {
    let mut ledger = Ledger::default();
    let max = u32::try_from(MAX_ENTRIES).unwrap();
    for nth in 0..max {
        assert!(ledger.push(ephemeral("a", nth)).is_empty());
    }
    let full = ledger.bytes();
    assert_eq!(ledger.push(ephemeral("a", max)), [0]);
    assert_eq!((ledger.entries().len(), ledger.next_key()), (MAX_ENTRIES, u64::from(max) + 1));
    assert!(ledger.bytes().abs_diff(full) < 16, "what is gone weighs nothing");
}

#[test]
fn a_refused_prompt_and_the_made_up_answer_are_left_out_together() {
    let answer = reply("no", &[]).link;
    let what = What::Answered { reply: "no".into(), answer };
    let ledger = ledger(vec![Entry { anchor: Anchor::Prompt { digest: digest("b"), nth: 0 }, what }]);
    let omitted = |behind: ItemFacts| {
        let view = view(vec![prompt("a"), reply("1", &[]), prompt("b"), behind, prompt("c")]);
        ledger.replay(&view, &Anchors::of(&view, digest("root")), None, Keep::From(0)).omitted
    };
    assert_eq!(omitted(reply("no", &[])), std::iter::once(2..4).collect::<Vec<_>>());
    assert!(omitted(reply("something else", &[])).is_empty(), "the model's own answer stays");
    assert!(omitted(result(&["c"])).is_empty());
}

/// A leg that said `answer` and was told `told`.
fn leg(answer: &str, told: &str) -> Leg {
    Leg { id: None, answer: vec![answer.into()], reply: LegReply::Message(told.into()) }
}

fn joined(anchor: Anchor, answer: Option<Digest>, leg: Leg) -> Entry {
    Entry { anchor, what: What::Joined { legs: [leg].into(), answer, messages: Vec::new() } }
}

fn at_prompt(words: &str) -> Anchor {
    Anchor::Prompt { digest: digest(words), nth: 0 }
}

fn split(ledger: &Ledger, history: Vec<ItemFacts>, keep: Keep) -> (Vec<(usize, Vec<Leg>)>, usize) {
    let view = view(history);
    let replay = ledger.replay(&view, &Anchors::of(&view, digest("root")), None, keep);
    (replay.splits.into_iter().map(|(item, legs)| (item, legs.to_vec())).collect(), replay.lost)
}

#[test]
fn a_joined_answer_is_taken_apart_where_it_stands_behind_its_place() {
    let whole = reply("first second", &["c"]);
    let at_result = Anchor::Result { call: "c".into(), nth: 0 };
    let ledger = ledger(vec![
        joined(at_prompt("a"), whole.link, leg("first", "go on")),
        joined(at_result, reply("third fourth", &[]).link, leg("third", "once more")),
    ]);
    let end = || reply("third fourth", &[]);
    let (first, second) = (vec![leg("first", "go on")], vec![leg("third", "once more")]);
    for (history, expected) in [
        (vec![prompt("a"), whole.clone(), result(&["c"]), end()], (vec![(1, first.clone()), (3, second)], 0)),
        (vec![prompt("a"), instructions(), whole.clone(), result(&["c"])], (vec![(2, first)], 1)),
        (vec![prompt("a"), reply("rewritten", &["c"])], (vec![], 2)),
        (vec![prompt("a"), prompt("b"), whole.clone()], (vec![], 2)),
        (vec![prompt("a")], (vec![], 2)),
        (vec![prompt("b"), whole], (vec![], 2)),
    ] {
        for keep in [Keep::From(9), Keep::Nothing] {
            assert_eq!(split(&ledger, history.clone(), keep), expected, "{keep:?}");
        }
    }
}

#[test]
fn of_the_answers_to_one_prompt_the_one_that_the_client_kept_counts() {
    let (one, two) = (reply("one", &[]), reply("two", &[]));
    let ledger = ledger(vec![
        joined(at_prompt("a"), one.link, leg("o", "early")),
        joined(at_prompt("a"), two.link, leg("t", "go on")),
        joined(at_prompt("a"), one.link, leg("o", "late")),
    ]);
    let kept = |answer: &ItemFacts| split(&ledger, vec![prompt("a"), answer.clone()], Keep::From(0)).0;
    assert_eq!(kept(&two), [(1, vec![leg("t", "go on")])]);
    assert_eq!(kept(&one), [(1, vec![leg("o", "late")])], "word for word the same again: the newest");
    assert_eq!(kept(&reply("three", &[])), []);
}

#[test]
fn an_answer_that_leaves_no_trace_is_not_taken_for_a_joined_one() {
    let ledger = ledger(vec![joined(at_prompt("a"), None, leg("o", "go on"))]);
    let silent = ItemFacts { link: None, ..reply("", &[]) };
    assert_eq!(split(&ledger, vec![prompt("a"), silent], Keep::From(0)), (vec![], 1));
}

#[test]
fn a_fork_keeps_the_legs_before_its_point() {
    let whole = reply("whole", &[]);
    let ledger = ledger(vec![
        joined(at_prompt("a"), whole.link, leg("w", "go on")),
        joined(at_prompt("b"), whole.link, leg("w", "go on")),
    ]);
    let view = view(vec![prompt("a"), whole, prompt("c")]);
    let fork = ledger.fork(&Anchors::of(&view, digest("root")), Some(2));
    assert_eq!(fork.entries().iter().map(|(key, _)| *key).collect::<Vec<_>>(), [0]);
}

#[test]
fn legs_weigh_what_they_hold() {
    let long = "x".repeat(10_000);
    let results = vec![LegResult {
        id: String::new(),
        name: String::new(),
        kind: String::new(),
        text: long.clone(),
        is_error: true,
    }];
    for leg in [leg(&long, ""), leg("", &long), Leg { reply: LegReply::Results(results), ..leg("", "") }] {
        let weight = ledger(vec![joined(at_prompt("a"), None, leg)]).bytes();
        assert!((long.len()..long.len() + 1000).contains(&weight), "{weight}");
    }
}

#[test]
fn legs_read_back_as_they_were_stored() {
    let results =
        vec![LegResult { id: "c".into(), name: "look".into(), kind: String::new(), text: "no".into(), is_error: true }];
    let told = Leg { reply: LegReply::Results(results), ..leg(r#"{"role":"assistant","content":"\u00e9"}"#, "") };
    let entry = Entry {
        anchor: at_prompt("a"),
        what: What::Joined {
            legs: [leg("1.0", "go on"), told].into(),
            answer: Some(digest("whole")),
            messages: Vec::new(),
        },
    };
    let stored = serde_json::to_vec(&entry).unwrap();
    assert_eq!(serde_json::from_slice::<Entry>(&stored).unwrap(), entry);
}

/// One turn of a history: what is asked, whether there is a tool step, and whether legs were joined.
type Said = (usize, bool, bool);

fn history(turns: &[Said]) -> Vec<ItemFacts> {
    let turn = |(words, step, _): &Said| {
        let mut items = vec![prompt(&format!("p{words}"))];
        if *step {
            items.extend([reply("", &["look"]), result(&["look"])]);
        }
        items.push(reply(&format!("a{words}"), &[]));
        items
    };
    turns.iter().flat_map(turn).collect()
}

proptest! {
    /// Invariant I6: whatever is said later, and whatever is placed there, what stood in a history stays as it was.
    #[test]
    fn what_is_replayed_stays_as_it_was_when_the_history_grows(
        turns in prop::collection::vec((0..3_usize, any::<bool>(), any::<bool>()), 1..8),
        cut in 0..40_usize,
    ) {
        let whole = view(history(&turns));
        let anchors = Anchors::of(&whole, digest("root"));
        let mut entries = Vec::new();
        for item in 0..whole.items.len() {
            let Some(anchor) = anchors.at(&whole, item) else { continue };
            if whole.items[item].facts.prompt.is_some() {
                let texts = vec![text(TextKind::Ephemeral, &format!("note {item}"))];
                entries.push((item, Entry { anchor: anchor.clone(), what: What::Prompt { texts } }));
            }
            let turn = anchors.prompts_before(item + 1) - 1;
            if turns[turn].2 {
                let answer = whole.items.get(item + 1).and_then(|answer| answer.facts.link);
                entries.push((item, joined(anchor, answer, leg("leg", &format!("told {item}")))));
            }
        }
        let cut = cut.min(whole.items.len());
        let before = ledger(entries.iter().filter(|(item, _)| *item < cut).map(|(_, entry)| entry.clone()).collect());
        let later = ledger(entries.into_iter().map(|(_, entry)| entry).collect());
        let part = view(history(&turns)[..cut].to_vec());
        let (earlier_anchors, keep) = (Anchors::of(&part, digest("root")), Keep::From(0));
        let then = before.replay(&part, &earlier_anchors, None, keep);
        let now = later.replay(&whole, &anchors, None, keep);
        let stood = |item: usize| item < cut;
        prop_assert_eq!(then.notes, now.notes.into_iter().filter(|note| stood(note.item)).collect::<Vec<_>>());
        prop_assert_eq!(then.splits, now.splits.into_iter().filter(|(item, _)| stood(*item)).collect::<Vec<_>>());
    }
}

fn judged(call: &str, said: &str, replace: Option<&str>, notes: &[&str]) -> impl Fn(&RequestView) -> Entry {
    let texts = notes.iter().map(|note| text(TextKind::Ephemeral, note)).collect::<Vec<_>>();
    let (replace, said, call) = (replace.map(str::to_owned), digest(said), call.to_owned());
    move |view| {
        let anchors = Anchors::of(view, digest("root"));
        let found = |spot: &&ResultSpot| view.items[spot.item].facts.results[spot.result] == call;
        let anchor = anchors.results_from(0).iter().find(found).unwrap().anchor();
        Entry {
            anchor,
            what: What::Result { said, replace: replace.clone(), texts: texts.clone(), refused: false, halted: None },
        }
    }
}

#[test]
fn what_is_said_of_a_result_stands_as_long_as_the_result() {
    let step = view(vec![prompt("a"), reply("", &["c", "d"]), result(&["c", "d"])]);
    let entries = [judged("c", "x", Some("R"), &["n"]), judged("d", "y", None, &[]), judged("d", "z", None, &["m"])];
    let ledger = ledger(entries.map(|entry| entry(&step)).into());
    let later = view(vec![prompt("a"), reply("", &["c", "d"]), result(&["c", "d"]), reply("1", &[]), prompt("b")]);
    let compacted = view(vec![prompt("summary"), reply("", &["d"]), result(&["d"])]);
    let results = |view: &RequestView, keep| {
        let replay = ledger.replay(view, &Anchors::of(view, digest("root")), None, keep);
        let note = |r: ResultNote| (r.item, r.result, r.replace, r.append.join("|"));
        (replay.results.into_values().map(note).collect::<Vec<_>>(), replay.lost)
    };
    let both = vec![(2, 0, Some("R".to_owned()), "n".to_owned()), (2, 1, None, "m".to_owned())];
    for keep in [Keep::From(0), Keep::From(99), Keep::Nothing] {
        assert_eq!(results(&step, keep), (both.clone(), 0), "{keep:?}");
        assert_eq!(results(&later, keep), (both.clone(), 0), "{keep:?}");
        assert_eq!(results(&compacted, keep), (vec![(2, 0, None, "m".to_owned())], 1), "{keep:?}");
    }
    let replaced = ledger.replacements(&Anchors::of(&later, digest("root")));
    assert_eq!(replaced, [ResultNote { item: 2, result: 0, replace: Some("R".into()), append: vec![] }]);
}

#[test]
fn a_result_is_known_by_its_call_and_its_words() {
    let view = view(vec![prompt("a"), reply("", &["c"]), result(&["c"])]);
    let ledger = ledger(vec![judged("c", "x", None, &[])(&view)]);
    let anchor = Anchors::of(&view, digest("root")).results_from(0)[0].anchor();
    assert!(ledger.result(&anchor, digest("x")).is_some());
    assert_eq!(ledger.result(&anchor, digest("another result of a rewound call")), None);
    let fork = ledger.fork(&Anchors::of(&view, digest("root")), None);
    assert!(fork.result(&anchor, digest("x")).is_some(), "a fork keeps it");
}

#[test]
fn entries_that_place_nothing_go_first() {
    let mut ledger = Ledger::default();
    let step = view(vec![prompt("a"), reply("", &["c"]), result(&["c"])]);
    ledger.push(ephemeral("a", 0));
    ledger.push(judged("c", "x", None, &[])(&step));
    for nth in 2..u32::try_from(MAX_ENTRIES).unwrap() {
        ledger.push(ephemeral("a", nth));
    }
    let full = ledger.bytes();
    assert_eq!(ledger.push(judged("c", "y", None, &[])(&step)), [1]);
    assert_eq!(ledger.bytes(), full);
    assert_eq!(ledger.push(judged("c", "z", None, &[])(&step)), [u64::try_from(MAX_ENTRIES).unwrap()]);
    assert_eq!(ledger.push(ephemeral("b", 0)), [u64::try_from(MAX_ENTRIES).unwrap() + 1]);
    assert_eq!(ledger.push(ephemeral("b", 1)), [0]);
}
