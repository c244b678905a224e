use super::super::conversation::{Conversation, Shape};
use super::super::testing::{digest, prompt, reply, result, signed, view};
use super::*;
use crate::context::{Delta, ItemFacts, Leg, LegReply};
use crate::session::ledger::Ledger;
use std::sync::Arc;

fn slot<'a>(name: &'a str, text: &'a str) -> SlotText<'a> {
    SlotText { slot: name, text, by: "hook" }
}

fn state(layout: ConversationLayout) -> State {
    let record = Conversation::new("c".into(), layout, Shape::default());
    State { record, ledger: Ledger::default(), prefix: None, claimed: None, unwritten: Vec::new(), commit_waits: false }
}

/// A conversation as the phases of a request drive it.
struct Talk {
    state: State,
    slots: Vec<SlotText<'static>>,
    retain: Retain,
    locked: bool,
    budget: usize,
}

impl Talk {
    fn new(layout: ConversationLayout) -> Self {
        Self { state: state(layout), slots: vec![], retain: Retain::History, locked: false, budget: 4000 }
    }

    fn request<T>(&mut self, view: &RequestView, with: impl FnOnce(&Scenery<'_>, &mut State) -> T) -> T {
        let anchors = Anchors::of(view, digest("root"));
        let scenery = Scenery {
            view,
            anchors: &anchors,
            slots: &self.slots,
            locked: self.locked,
            protected: 0,
            framed: false,
            retain: self.retain,
            budget: self.budget,
        };
        with(&scenery, &mut self.state)
    }

    /// A new prompt at the end of `history`, with what its hook gave; the texts in the request, by item.
    fn prompt(&mut self, history: &[ItemFacts], given: &str) -> Vec<(usize, String)> {
        let view = view(history.to_vec());
        let item = history.len() - 1;
        self.request(&view, |scenery, state| {
            scenery.settle_retention(state);
            let (mut budget, mut cuts) = (Budget::new(scenery.budget), vec![]);
            let (entry, mut texts) = match state.record.baseline_set {
                true => (None, scenery.updates(state, &mut budget, &mut cuts)),
                false => (scenery.set_baseline(state, &mut budget, &mut cuts), vec![]),
            };
            texts.extend(scenery.ephemeral(state, [("hook".to_owned(), given.to_owned())], &mut budget, &mut cuts));
            let anchor = scenery.anchors.at(scenery.view, item).unwrap();
            for entry in entry.into_iter().chain([Entry { anchor, what: What::Prompt { texts } }]) {
                state.ledger.push(entry);
            }
            placed(&scenery.scene(state))
        })
    }

    fn again(&mut self, history: &[ItemFacts]) -> Vec<(usize, String)> {
        let view = view(history.to_vec());
        self.request(&view, |scenery, state| placed(&scenery.scene(state)))
    }

    fn system(&mut self, history: &[ItemFacts]) -> Vec<String> {
        let view = view(history.to_vec());
        self.request(&view, |scenery, state| scenery.scene(state).system)
    }
}

fn placed(scene: &Scene) -> Vec<(usize, String)> {
    scene.notes.iter().map(|note| (note.item, note.texts.join("|"))).collect()
}

fn owned(list: &[(usize, &str)]) -> Vec<(usize, String)> {
    list.iter().map(|(item, text)| (*item, (*text).to_owned())).collect()
}

#[test]
fn a_newer_version_goes_to_the_next_prompt_and_says_what_it_replaces() {
    let mut talk = Talk::new(ConversationLayout::Stable);
    talk.slots = vec![slot("s", "v1")];
    let one = [prompt("one")];
    assert_eq!(talk.prompt(&one, "e1"), owned(&[(0, "e1")]));
    assert_eq!(talk.system(&one), ["v1"]);
    talk.slots = vec![slot("s", "v2")];
    let two = [prompt("one"), reply("a", &[]), prompt("two")];
    let all = owned(&[(0, "e1"), (2, "[s, replaces the earlier version]\nv2|e2")]);
    assert_eq!(talk.prompt(&two, "e2"), all);
    assert_eq!(talk.system(&two), ["v1"], "the baseline is frozen");
    let three = [&two[..], &[reply("b", &[]), prompt("three")]].concat();
    assert_eq!(talk.prompt(&three, "e3")[..2], all, "the same version is not said again");
    talk.slots.clear();
    let four = [&three[..], &[reply("c", &[]), prompt("four")]].concat();
    let last = talk.prompt(&four, "e4").pop().unwrap();
    assert_eq!(last, (6, "[s: the earlier version no longer applies]|e4".to_owned()));
    let five = [&four[..], &[reply("d", &[]), prompt("five")]].concat();
    assert_eq!(talk.prompt(&five, "e5").pop().unwrap(), (8, "e5".to_owned()), "nor is its end");
}

#[test]
fn a_rewind_takes_back_what_the_model_was_told_behind_that_point() {
    let mut talk = Talk::new(ConversationLayout::Stable);
    talk.slots = vec![slot("s", "v1")];
    talk.prompt(&[prompt("one")], "e1");
    talk.slots = vec![slot("s", "v2")];
    talk.prompt(&[prompt("one"), reply("a", &[]), prompt("two")], "e2");
    let other = [prompt("one"), reply("a", &[]), prompt("other")];
    assert_eq!(talk.prompt(&other, "e3").pop().unwrap(), (2, "[s, replaces the earlier version]\nv2|e3".to_owned()));
}

#[test]
fn a_delta_has_what_the_provider_holds() {
    let mut talk = Talk::new(ConversationLayout::Stable);
    talk.slots = vec![slot("s", "v1")];
    talk.prompt(&[prompt("one")], "e1");
    talk.slots = vec![slot("s", "v2")];
    talk.prompt(&[prompt("one"), reply("a", &[]), prompt("two")], "e2");
    let mut delta = view(vec![prompt("three")]);
    delta.delta = Some(Delta::PreviousResponse("resp_2".into()));
    let news = talk.request(&delta, |s, state| s.updates(state, &mut Budget::new(100), &mut vec![]));
    assert_eq!(news, [], "v2 stands where only the provider sees it");
}

#[test]
fn text_that_had_no_room_is_offered_again_with_the_next_prompt() {
    let mut talk = Talk::new(ConversationLayout::Stable);
    (talk.slots, talk.budget) = (vec![slot("s", "12345"), slot("t", "late")], 5);
    let one = [prompt("one")];
    talk.prompt(&one, "");
    assert_eq!(talk.system(&one), ["12345"]);
    let two = [prompt("one"), reply("a", &[]), prompt("two")];
    assert_eq!(talk.prompt(&two, ""), owned(&[(2, "late")]));
}

#[test]
fn text_of_earlier_turns_goes_until_a_signature_binds_what_is_there() {
    let mut talk = Talk::new(ConversationLayout::Stable);
    talk.retain = Retain::Turn;
    let one = [prompt("one")];
    assert_eq!(talk.prompt(&one, "e1"), owned(&[(0, "e1")]));
    let two = [&one[..], &[reply("a", &[]), prompt("two")]].concat();
    assert_eq!(talk.prompt(&two, "e2"), owned(&[(2, "e2")]));
    let step = [&two[..], &[reply("", &["c"]), result(&["c"])]].concat();
    assert_eq!(talk.again(&step), owned(&[(2, "e2")]), "a tool step belongs to the turn");
    // The answer to `two` is signed: it saw e2 and no e1.
    let three = [&two[..], &[signed("b"), prompt("three")]].concat();
    assert_eq!(talk.prompt(&three, "e3"), owned(&[(2, "e2"), (4, "e3")]));
}

#[test]
fn equal_text_is_not_said_twice_where_it_stays() {
    let mut talk = Talk::new(ConversationLayout::Stable);
    let one = [prompt("one")];
    let two = [prompt("one"), reply("a", &[]), prompt("two")];
    talk.prompt(&one, "same");
    assert_eq!(talk.prompt(&two, "same"), owned(&[(0, "same")]));
    let mut turns = Talk::new(ConversationLayout::Stable);
    turns.retain = Retain::Turn;
    turns.prompt(&one, "same");
    assert_eq!(turns.prompt(&two, "same"), owned(&[(2, "same")]), "it was taken out, so it is news");
}

#[test]
fn nothing_is_placed_before_what_was_signed_elsewhere() {
    let mut talk = Talk::new(ConversationLayout::Stable);
    talk.slots = vec![slot("s", "v1")];
    let resumed = [prompt("old"), signed("a"), prompt("new")];
    assert_eq!(talk.prompt(&resumed, "e"), owned(&[(2, "v1"), (2, "e")]));
    assert_eq!(talk.system(&resumed), Vec::<String>::new());
}

#[test]
fn a_locked_system_prompt_gives_its_text_to_the_first_prompt() {
    let mut talk = Talk::new(ConversationLayout::Stable);
    (talk.slots, talk.locked) = (vec![slot("s", "v1")], true);
    assert_eq!(talk.prompt(&[prompt("one")], "e1"), owned(&[(0, "v1"), (0, "e1")]));
    let two = [prompt("one"), reply("a", &[]), prompt("two")];
    assert_eq!(talk.prompt(&two, "e2"), owned(&[(0, "v1"), (0, "e1"), (2, "e2")]), "once");
}

#[test]
fn layout_system_holds_the_slots_and_the_running_turns_text() {
    let mut talk = Talk::new(ConversationLayout::System);
    talk.slots = vec![slot("s", "v1")];
    let one = [prompt("one")];
    assert_eq!(talk.prompt(&one, "e1"), []);
    assert_eq!(talk.system(&one), ["v1", "e1"]);
    talk.slots = vec![slot("s", "v2")];
    let two = [prompt("one"), reply("a", &[]), prompt("two")];
    assert_eq!(talk.prompt(&two, "e2"), []);
    assert_eq!(talk.system(&two), ["v2", "e2"]);
}

/// A conversation whose first answer was made of two legs, and that history.
fn of_two_legs(layout: ConversationLayout) -> (Talk, Vec<ItemFacts>, Arc<[Leg]>) {
    let mut talk = Talk::new(layout);
    talk.prompt(&[prompt("one")], "e1");
    let legs: Arc<[Leg]> =
        [Leg { id: None, answer: vec!["{}".into()], reply: LegReply::Message("go on".into()) }].into();
    let whole = reply("whole", &[]);
    let anchor = Anchor::Prompt { digest: digest("one"), nth: 0 };
    talk.state
        .ledger
        .push(Entry { anchor, what: What::Joined { legs: legs.clone(), answer: whole.link, messages: Vec::new() } });
    (talk, vec![prompt("one"), whole, prompt("two")], legs)
}

#[test]
fn legs_stand_in_every_layout() {
    for layout in [ConversationLayout::Stable, ConversationLayout::System] {
        let (mut talk, history, legs) = of_two_legs(layout);
        let scene = talk.request(&view(history), |scenery, state| scenery.scene(state));
        assert_eq!(scene.splits, [(1, legs)], "{layout:?}");
    }
}

#[test]
fn a_request_in_which_something_is_not_found_again_is_counted_once() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let lost =
        || handle.render().lines().find_map(|line| line.strip_prefix("hookgate_replay_lost_total ")?.parse().ok());
    let (mut talk, history, _) = of_two_legs(ConversationLayout::Stable);
    talk.again(&history);
    assert_eq!(lost(), None::<u64>);
    talk.again(&[prompt("rewritten"), reply("whole", &[])]);
    assert_eq!(lost(), Some(1), "the prompt's text and its legs");
    let mut delta = view(vec![prompt("three")]);
    delta.delta = Some(Delta::PreviousResponse("resp_2".into()));
    talk.request(&delta, |scenery, state| scenery.scene(state));
    assert_eq!(lost(), Some(1), "the provider holds what a delta does not show");
}
