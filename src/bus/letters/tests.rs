use super::*;
use crate::bus::message::{Origin, Written};
use crate::session::record::Tenant;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn key() -> SessionKey {
    SessionKey { tenant: Tenant("t".into()), id: "s".into(), agent: "main".into() }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn message(id: &str, kind: Kind) -> Message {
    let written = Written { text: id.into(), id: Some(id.into()), kind, ..Written::default() };
    written.checked(&Origin::Api, at(0)).unwrap()
}

fn with(messages: &[(&str, Kind)]) -> Letters {
    let mut letters = Letters::default();
    for (id, kind) in messages {
        assert_eq!(letters.accept(&key(), message(id, *kind), at(0)), Ok(Accepted::New));
    }
    letters
}

fn claim<'a>(conversation: &'a str, standing: &'a [String], room: usize) -> Claim<'a> {
    Claim { conversation, turn_id: "turn", by: None, standing, room, urgent: false, only_new: false }
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

const NOBODY: fn(&Message) -> bool = |_| false;

#[test]
fn the_stored_form_is_fixed() {
    let mut letters = with(&[("a", Kind::Halt)]);
    letters.claim(&claim("c", &[], 3), at(1), NOBODY);
    let stored = String::from_utf8(letters.encode().unwrap()).unwrap();
    insta::assert_snapshot!(stored, @r#"{"v":1,"label":null,"hops":0,"messages":[{"id":"a","kind":"halt","text":"a","from":"operator","verified":true,"hops":0,"queued_at":0,"expires_at":900000,"state":"claimed","conversation":"c","turn_id":"turn"}],"gone":[]}"#);
    assert_eq!(Letters::decode(stored.as_bytes()), Ok(letters));
    assert!(Letters::decode(br#"{"v":2,"messages":[]}"#).unwrap_err().contains("version 2"));
}

#[test]
fn the_same_id_is_the_same_message_until_it_is_forgotten() {
    let mut letters = with(&[("a", Kind::Note)]);
    let again = letters.accept(&key(), message("a", Kind::Halt), at(0)).unwrap();
    assert!(matches!(again, Accepted::Known(Some(known)) if known.kind == Kind::Note));
    letters.deliver(&["a".into()], (1, "turn"), at(1));
    for n in 0..HISTORY {
        let id = n.to_string();
        letters.accept(&key(), message(&id, Kind::Note), at(1)).unwrap();
        letters.deliver(&[id], (1, "turn"), at(1));
    }
    assert!(!ids(&letters.messages).contains(&"a"));
    assert_eq!(letters.accept(&key(), message("a", Kind::Note), at(1)), Ok(Accepted::Known(None)));
}

#[test]
fn a_full_mailbox_takes_no_more_until_one_is_over() {
    let mut letters = Letters::default();
    for n in 0..MAX_QUEUED {
        letters.accept(&key(), message(&n.to_string(), Kind::Note), at(0)).unwrap();
    }
    let full = letters.accept(&key(), message("more", Kind::Halt), at(0));
    assert_eq!(full, Err(Refusal::Full(key())));
    assert_eq!(letters.accept(&key(), message("more", Kind::Halt), at(900)), Ok(Accepted::New), "the others are late");
}

#[test]
fn at_most_three_go_at_once_and_what_is_urgent_goes_first() {
    let mut letters =
        with(&[("n1", Kind::Note), ("n2", Kind::Note), ("c", Kind::Correction), ("n3", Kind::Note), ("h", Kind::Halt)]);
    assert_eq!(ids(&letters.claim(&claim("c", &[], 9), at(1), NOBODY).fresh), ["n1", "c", "h"]);
    let mut letters = with(&[("n", Kind::Note), ("c", Kind::Correction)]);
    let urgent = Claim { urgent: true, ..claim("c", &[], 9) };
    assert_eq!(ids(&letters.claim(&urgent, at(1), NOBODY).fresh), ["c"]);
}

#[test]
fn what_a_request_shows_already_is_not_placed_again() {
    let mut letters = with(&[("a", Kind::Note), ("b", Kind::Note)]);
    letters.claim(&claim("c", &[], 1), at(1), NOBODY);
    let standing = ["a".to_owned()];
    let claimed = letters.claim(&claim("c", &standing, 3), at(1), NOBODY);
    assert_eq!((ids(&claimed.standing), ids(&claimed.fresh)), (vec!["a"], vec!["b"]));
    assert_eq!(letters.void(&claim("c", &standing, 3), NOBODY), [("b".to_owned(), "c".to_owned())]);
    assert_eq!(letters.void(&claim("c", &standing, 3), |_| true), []);
}

#[test]
fn what_another_request_carries_stays_with_it() {
    let mut letters = with(&[("a", Kind::Note)]);
    assert_eq!(letters.claim(&claim("c", &[], 3), at(1), |message| message.id == "a"), Claimed::default());
}

#[test]
fn a_late_message_expires_but_one_that_was_shown_is_delivered() {
    let mut letters = with(&[("a", Kind::Halt), ("b", Kind::Note)]);
    letters.claim(&claim("c", &[], 1), at(1), NOBODY);
    letters.expire(at(900));
    assert_eq!(letters.waiting().count(), 0);
    letters.deliver(&["a".into()], (2, "turn"), at(901));
    let states: Vec<_> = letters.messages.iter().map(|message| message.state.name()).collect();
    assert_eq!(states, ["delivered", "expired"]);
    assert_eq!(letters.halted(), Some("turn"), "it ends the turn that it was said in");
}

/// What may happen to a mailbox.
#[derive(Debug, Clone)]
enum Step {
    Send(u8),
    /// A request of this conversation, which the upstream accepts or not.
    Request(u8, bool),
    /// Claims are kept, requests under way are not.
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..8_u8).prop_map(Step::Send),
        (0..3_u8, any::<bool>()).prop_map(|(conversation, accepted)| Step::Request(conversation, accepted)),
        Just(Step::Crash),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    /// Every message is shown in at most one history, at most once in it, and in the end in exactly one.
    #[test]
    fn each_message_is_delivered_once(steps in steps()) {
        let mut letters = Letters::default();
        let mut sent = BTreeSet::new();
        // Conversations with the messages that stand in their histories.
        let mut histories: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let request = |letters: &mut Letters, histories: &mut BTreeMap<String, Vec<String>>, name: &str, accepted: bool| {
            let standing = histories.get(name).cloned().unwrap_or_default();
            for (id, conversation) in letters.void(&claim(name, &standing, 3), NOBODY) {
                histories.entry(conversation).or_default().retain(|known| *known != id);
            }
            let claimed = letters.claim(&claim(name, &standing, 3), at(1), NOBODY);
            let fresh: Vec<String> = claimed.fresh.iter().map(|message| message.id.clone()).collect();
            histories.entry(name.to_owned()).or_default().extend(fresh.clone());
            if accepted {
                let standing = claimed.standing.iter().map(|message| message.id.clone());
                letters.deliver(&standing.chain(fresh).collect::<Vec<_>>(), (1, "turn"), at(1));
            }
        };
        for step in &steps {
            match step {
                Step::Send(id) => {
                    sent.insert(id.to_string());
                    letters.accept(&key(), message(&id.to_string(), Kind::Note), at(1)).unwrap();
                }
                Step::Request(conversation, accepted) => {
                    request(&mut letters, &mut histories, &conversation.to_string(), *accepted);
                }
                Step::Crash => letters = Letters::decode(&letters.encode().unwrap()).unwrap(),
            }
        }
        for _ in 0..sent.len() {
            request(&mut letters, &mut histories, "last", true);
        }
        let shown: Vec<String> = histories.into_values().flatten().collect();
        prop_assert_eq!(shown.len(), sent.len());
        prop_assert_eq!(shown.into_iter().collect::<BTreeSet<_>>(), sent);
    }
}
