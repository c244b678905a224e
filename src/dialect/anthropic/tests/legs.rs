use super::PATH;
use crate::context::{Leg, Place};
use crate::dialect::leg_testing::{answered, extend, split, told};
use crate::dialect::testing::{lower, tail};
use proptest::prelude::*;
use serde_json::{Value, json};

const PROMPT: &str = r#"{"role":"user","content":"Go."}"#;
const ONE: &str = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"S1"},{"type":"text","text":"One."}]}"#;

fn body(messages: &[&str]) -> String {
    format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","))
}

fn messages(body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).unwrap();
    body["messages"].as_array().unwrap().iter().map(Value::to_string).collect()
}

#[test]
fn a_leg_goes_behind_the_history() {
    let answer = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"rm","input":{}}]}"#;
    insta::assert_snapshot!(extend(PATH, &body(&[PROMPT]), &told(&[ONE], "Test \"it\".")), @r#"{"model":"m","messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"S1"},{"type":"text","text":"One."}]},{"role":"user","content":"Test \"it\"."}]}"#);
    insta::assert_snapshot!(extend(PATH, &body(&[PROMPT]), &answered(&[answer], "t", "rm", "No such tool.")), @r#"{"model":"m","messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"rm","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"No such tool.","is_error":true}]}]}"#);
    insta::assert_snapshot!(extend(PATH, &body(&[PROMPT]), &told(&[], "More.")), @r#"{"model":"m","messages":[{"role":"user","content":"Go."},{"role":"user","content":"More."}]}"#);
}

#[test]
fn a_reply_to_silence_stands_before_instructions() {
    let system = r#"{"role":"system","content":"S"}"#;
    let copy = r#"{"role":"assistant","content":"Two."}"#;
    let reply = r#"{"role":"user","content":"More."}"#;
    let leg = told(&[], "More.");
    assert_eq!(extend(PATH, &body(&[PROMPT, system]), &leg), body(&[PROMPT, reply, system]));
    assert_eq!(split(PATH, &body(&[PROMPT, system, copy]), 2, &[leg]), body(&[PROMPT, reply, system, copy]));
}

#[test]
fn a_thread_goes_on_behind_the_leg() {
    let thread =
        r#"{"messages":[{"role":"user","content":"a"}], "thread": {"type":"continue","previous_message_id": "msg_0"}}"#;
    assert_eq!(
        extend(PATH, thread, &told(&[ONE], "b")),
        r#"{"messages":[{"role":"user","content":"b"}], "thread": {"type":"continue","previous_message_id": "id_leg"}}"#
    );
    let behind = Place::GoesOnBehind { id: "msg_9".to_owned() };
    assert_eq!(lower(PATH, thread, &[behind]).unwrap(), thread.replace("msg_0", "msg_9"));
    let created = r#"{"messages":[{"role":"user","content":"a"}],"thread":{"type":"create"}}"#;
    assert_eq!(messages(&extend(PATH, created, &told(&[ONE], "b"))).len(), 3);
}

/// What is left of the copy's content.
fn left(copy: Value, legs: &[Leg]) -> Value {
    let copy = json!({"role": "assistant", "content": copy}).to_string();
    let whole = body(&[PROMPT, &copy]);
    let taken = split(PATH, &whole, 1, legs);
    if taken == whole {
        return json!("as it was");
    }
    let expected = legs.iter().fold(body(&[PROMPT]), |body, leg| extend(PATH, &body, leg));
    assert!(taken.starts_with(expected.strip_suffix("]}").unwrap()), "{taken}\n{expected}");
    match messages(&taken).get(messages(&expected).len()) {
        Some(rest) => serde_json::from_str::<Value>(rest).unwrap()["content"].clone(),
        None => Value::Null,
    }
}

#[test]
fn the_copy_loses_what_the_legs_said() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let marked = json!({"type": "text", "text": "Two.", "cache_control": {"type": "ephemeral"}});
    let thinking = |signature: &str| json!({"type": "thinking", "thinking": "h", "signature": signature});
    let tool = json!({"type": "tool_use", "id": "t2", "name": "n", "input": {"b": 1, "a": 2}});
    let legs = [told(&[ONE], "More.")];
    let cases = [
        (json!("One.\n\nTwo."), json!("Two.")),
        (json!([text("One."), text("Two.")]), json!([text("Two.")])),
        (json!([text("One. Two.")]), json!([text("Two.")])),
        (
            json!([thinking("S1"), text("One."), thinking("S2"), text("Two."), tool]),
            json!([thinking("S2"), text("Two."), tool]),
        ),
        (json!([text("One.Two."), tool]), json!([text("Two."), tool])),
        (json!([text("One."), marked]), json!([marked])),
        (json!([{"type": "thinking", "thinking": "unsigned"}, text("One."), text("Two.")]), json!([text("Two.")])),
        (json!([text("One."), tool]), json!([tool])),
        (json!([text("One.")]), Value::Null),
        (json!("One."), Value::Null),
        (json!("Another."), json!("as it was")),
        (json!([text("On")]), json!("as it was")),
    ];
    for (copy, expected) in cases {
        assert_eq!(left(copy.clone(), &legs), expected, "{copy}");
    }
    let call = r#"{"role":"assistant","content":[{"type":"text","text":"Hm."},{"type":"tool_use","id":"t1","name":"rm","input":{}}]}"#;
    let two = [told(&[ONE], "More."), answered(&[call], "t1", "rm", "No.")];
    let hidden = json!({"type": "tool_use", "id": "t1", "name": "rm", "input": {}});
    assert_eq!(left(json!([text("One.Hm.Two."), hidden, tool]), &two), json!([text("Two."), tool]));
}

#[test]
fn a_copy_in_several_messages_is_one_answer() {
    let copy = [
        r#"{"role":"assistant","content":"One."}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"Two.","x":1.0}]}"#,
    ];
    let taken = split(PATH, &body(&[PROMPT, copy[0], copy[1], PROMPT]), 1, &[told(&[ONE], "More.")]);
    assert_eq!(taken, body(&[PROMPT, ONE, r#"{"role":"user","content":"More."}"#, copy[1], PROMPT]));
}

#[test]
fn other_places_on_the_same_request_are_kept() {
    let copy = r#"{"role":"assistant","content":"One. Two."}"#;
    let whole = body(&[PROMPT, copy, PROMPT, copy, PROMPT, copy, PROMPT]);
    let split = |item| Place::Split { item, legs: [told(&[ONE], "More.")].into() };
    let places =
        [split(1), Place::Omit { items: 2..4 }, split(5), tail(6, "E"), Place::SystemEnd { texts: vec!["S".into()] }];
    let taken = lower(PATH, &whole, &places).unwrap();
    let (reply, rest) = (r#"{"role":"user","content":"More."}"#, r#"{"role":"assistant","content":"Two."}"#);
    let last = r#"{"role":"user","content":[{"type":"text","text":"Go."},{"type":"text","text":"E"}]}"#;
    let expected = body(&[PROMPT, ONE, reply, rest, PROMPT, ONE, reply, rest, last]);
    assert_eq!(taken, expected.replace("]}]}", r#"]}],"system":"S"}"#));
}

/// A leg's words and the reply to them.
fn any_leg() -> impl Strategy<Value = (String, String)> {
    ("[A-Z][a-z]{0,5}[.\n ]{1,3}", "[a-z]{1,5}")
}

proptest! {
    #[test]
    fn what_was_sent_stands_in_later_requests_whatever_the_shape_of_the_copy(
        legs in prop::collection::vec(any_leg(), 1..4),
        last in "[A-Z][a-z]{0,5}",
        shape in 0..4,
    ) {
        let made: Vec<Leg> = legs.iter().enumerate().map(|(index, (words, reply))| {
            let thinking = json!({"type": "thinking", "thinking": "h", "signature": format!("S{index}")});
            let answer = json!({"role": "assistant", "content": [thinking, {"type": "text", "text": words}]});
            told(&[&answer.to_string()], reply)
        }).collect();
        let sent = made.iter().fold(body(&[PROMPT]), |body, leg| extend(PATH, &body, leg));
        let words: Vec<&str> = legs.iter().map(|(words, _)| words.as_str()).chain([last.as_str()]).collect();
        let text = |text: &str| json!({"type": "text", "text": text});
        let copy = match shape {
            0 => json!(words.concat()),
            1 => json!(words.iter().map(|words| text(words)).collect::<Vec<_>>()),
            2 => json!(words.iter().map(|words| text(words.trim())).collect::<Vec<_>>()),
            _ => json!([{"type": "thinking", "thinking": "h", "signature": "S0"}, text(&words.join("\n\n"))]),
        };
        let whole = body(&[PROMPT, &json!({"role": "assistant", "content": copy}).to_string(), PROMPT]);
        let taken = split(PATH, &whole, 1, &made);
        prop_assert!(taken.starts_with(sent.strip_suffix("]}").unwrap()), "{}\n{}", taken, sent);
        let rest = messages(&taken)[messages(&sent).len()].clone();
        prop_assert!(rest.contains(&format!(r#""{last}""#)), "{}", rest);
    }

    #[test]
    fn strange_copies_do_no_harm(content in crate::dialect::testing::any_json(), answer in crate::dialect::testing::any_json()) {
        let copy = json!({"role": "assistant", "content": content}).to_string();
        let leg = told(&[&answer.to_string(), ONE], "More.");
        let whole = body(&[PROMPT, &copy]);
        if crate::dialect::testing::view(PATH, &whole).is_ok() {
            let _: Value = serde_json::from_str(&split(PATH, &whole, 1, &[leg])).unwrap();
        }
    }
}
