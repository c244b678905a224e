use super::*;
use crate::context::{Leg, LegReply, LegResult};
use crate::dialect::openai::testing::leg;

const USER: &str = r#"{"role":"user","content":"u"}"#;

fn said(text: &str) -> String {
    json!({"role": "assistant", "content": text}).to_string()
}

fn told(text: &str) -> String {
    json!({"role": "user", "content": text}).to_string()
}

fn history(messages: &[&str]) -> String {
    body(&messages.join(","))
}

fn split(item: usize, legs: &[Leg]) -> Place {
    Place::Split { item, legs: legs.into() }
}

#[test]
fn the_next_leg_has_answer_and_reply_behind_the_history() {
    let one = leg(&[said("One.")], "go \"on\"");
    assert_eq!(CHAT.extended(&history(&[USER]), &one), history(&[USER, &said("One."), &told("go \"on\"")]));
    let silent = leg(&[], "go on");
    assert_eq!(CHAT.extended(&history(&[USER]), &silent), history(&[USER, &told("go on")]));
    let result = LegResult {
        id: "c".to_owned(),
        name: "f".to_owned(),
        kind: String::new(),
        text: "no\n".to_owned(),
        is_error: true,
    };
    let results = Leg { id: None, answer: vec![CALL.to_owned()], reply: LegReply::Results(vec![result]) };
    assert_eq!(
        CHAT.extended(&history(&[USER]), &results),
        history(&[USER, CALL, r#"{"role":"tool","tool_call_id":"c","content":"no\n"}"#])
    );
}

#[test]
fn a_joined_answer_is_taken_apart_whatever_the_client_made_of_it() {
    let legs = [leg(&[said("One. ")], "go on"), leg(&[said("Tw\"o.")], "and on")];
    let apart = [said("One. "), told("go on"), said("Tw\"o."), told("and on")];
    let call = r#"{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}"#;
    // The client's messages, and what is left of them.
    let cases: &[(&[&str], &[&str])] = &[
        (
            &[r#"{"role":"assistant","content":"One. \n\nTw\"o.\n\nThr\u0065e."}"#],
            &[r#"{"role":"assistant","content":"Thr\u0065e."}"#],
        ),
        (
            &[
                r#"{"content":[{"type":"text","text":"One."},{"type":"text","text":"Tw\"o. Th"},{"type":"text","text":"ree.","cache_control":{}}],"role":"assistant"}"#,
            ],
            &[
                r#"{"content":[{"type":"text","text":"Th"},{"type":"text","text":"ree.","cache_control":{}}],"role":"assistant"}"#,
            ],
        ),
        (&[r#"{"role":"assistant","content":"One. Tw\"o."}"#], &[]),
        (
            &[r#"{"role":"assistant","content":"One. Tw\"o.","refusal":"no"}"#],
            &[r#"{"role":"assistant","content":null,"refusal":"no"}"#],
        ),
        (&[r#"{"role":"assistant","content":[{"type":"text","text":"One.Tw\"o."}]}"#], &[]),
        (
            &[r#"{"role":"assistant","content":"One.\n\nTw\"o.","tool_calls":[CALL]}"#],
            &[r#"{"role":"assistant","content":null,"tool_calls":[CALL]}"#],
        ),
        (
            &[
                r#"{"role":"assistant","content":"One."}"#,
                r#"{"role":"assistant","content":"Tw\"o. Three.","tool_calls":[CALL]}"#,
            ],
            &[r#"{"role":"assistant","content":"Three.","tool_calls":[CALL]}"#],
        ),
    ];
    for (copy, rest) in cases {
        let copy: Vec<String> = copy.iter().map(|message| message.replace("CALL", call)).collect();
        let rest: Vec<String> = rest.iter().map(|message| message.replace("CALL", call)).collect();
        let list = |messages: &[&[String]]| {
            let all: Vec<&str> = messages.iter().copied().flatten().map(String::as_str).collect();
            history(&[&[USER], all.as_slice(), &[USER]].concat())
        };
        assert_eq!(CHAT.lowered(&list(&[&copy]), &[split(1, &legs)]), list(&[&apart, &rest]), "{copy:?}");
    }
}

#[test]
fn what_is_not_the_legs_stays_as_it_is() {
    for copy in ["Other.", "One", "", "One. Tw"] {
        let body = history(&[USER, &said(copy), USER]);
        let legs = [leg(&[said("One.")], "go on"), leg(&[said("Two.")], "and on")];
        assert_eq!(CHAT.lowered(&body, &[split(1, &legs)]), body);
    }
    assert_eq!(CHAT.lowered_or_refused(&history(&[USER]), &[split(0, &[leg(&[], "x")])]), None);
}

#[test]
fn calls_of_a_leg_are_not_sent_twice() {
    let call = |id: &str| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#);
    let with = |text: &str, calls: &[&str]| {
        let calls: Vec<String> = calls.iter().map(|id| call(id)).collect();
        format!(r#"{{"role":"assistant","content":{text},"tool_calls":[{}]}}"#, calls.join(","))
    };
    let result = LegResult {
        id: "c1".to_owned(),
        name: "f".to_owned(),
        kind: String::new(),
        text: "no".to_owned(),
        is_error: true,
    };
    let legs = [Leg { id: None, answer: vec![with("null", &["c1"])], reply: LegReply::Results(vec![result]) }];
    let tool = r#"{"role":"tool","tool_call_id":"c1","content":"no"}"#;
    let first = with("null", &["c1"]);
    let cases = [
        (with("\"Two.\"", &["c1"]), Some(said("Two."))),
        (with("\"Two.\"", &["c1", "c2"]), Some(with("\"Two.\"", &["c2"]))),
        (with("null", &["c1", "c2"]), Some(with("null", &["c2"]))),
        (with("null", &["c1"]), None),
        (said("Two."), Some(said("Two."))),
    ];
    for (copy, rest) in cases {
        let expected: Vec<&str> = [USER, &first, tool].into_iter().chain(rest.as_deref()).collect();
        assert_eq!(CHAT.lowered(&history(&[USER, &copy]), &[split(1, &legs)]), history(&expected), "{copy}");
    }
}

#[test]
fn splits_go_with_all_other_placements() {
    let legs = [leg(&[said("One.")], "go on")];
    let body = history(&[USER, &said("One. Two."), USER, &said("x"), USER, &said("One. Three."), USER]);
    let places =
        [back(&["s"]), end(0, &["e"]), split(1, &legs), Place::Omit { items: 2..4 }, split(5, &legs), end(6, &["z"])];
    let system = r#"{"role":"system","content":"s"}"#;
    let (first, last) = (told("u\n\ne"), told("u\n\nz"));
    let (one, on, two, three) = (said("One."), told("go on"), said("Two."), said("Three."));
    assert_eq!(
        CHAT.lowered(&body, &places),
        history(&[system, &first, &one, &on, &two, USER, &one, &on, &three, &last])
    );
    assert_eq!(CHAT.lowered(&body, &[split(1, &legs), Place::Omit { items: 1..3 }]).matches("go on").count(), 0);
}

proptest! {
    /// What goes up behind an answer stands there, byte for byte, in every later request (invariant I6).
    #[test]
    fn a_leg_is_sent_the_same_way_now_and_later(
        texts in proptest::collection::vec("[a-z\"\\\\é\n ]{0,6}[a-z]", 1..4),
        last in "[a-z][a-z\" \n]{0,9}",
        shape in 0usize..4,
    ) {
        let legs: Vec<Leg> = texts.iter().enumerate().map(|(n, text)| leg(&[said(text)], &format!("go on {n}"))).collect();
        let mut extended = history(&[USER]);
        for leg in &legs {
            extended = CHAT.extended(&extended, leg);
        }
        let all: Vec<&str> = texts.iter().map(String::as_str).chain([last.as_str()]).collect();
        let parts: Vec<Value> = all.iter().map(|text| json!({"type": "text", "text": text.trim()})).collect();
        let copy = match shape {
            0 => said(&all.join("\n\n")),
            1 => said(all.concat().trim()),
            2 => json!({"role": "assistant", "content": parts}).to_string(),
            _ => all.iter().map(|text| said(text.trim())).collect::<Vec<_>>().join(","),
        };
        let later = CHAT.lowered(&history(&[USER, &copy, USER]), &[split(1, &legs)]);
        prop_assert!(later.starts_with(extended.strip_suffix("]}").unwrap()), "{} {}", later, extended);
        let rest = &later[extended.len() - 2..];
        prop_assert!(rest.contains(&format!("\"{}", crate::json::raw::escape(last.trim()))), "{}", rest);
    }
}
