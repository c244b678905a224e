use super::*;
use crate::context::{Leg, LegReply, Restored, Stands};
use crate::dialect::binder_testing::told;

fn tool(id: &str) -> String {
    format!(r#"{{"id":"{id}","type":"function","function":{{"name":"bash","arguments":"{{}}"}}}}"#)
}

fn hidden(id: &str, stands: Stands) -> Restored {
    Restored { native: tool(id), stands, result: told(id) }
}

fn before(id: &str) -> Stands {
    Stands::Before(id.to_owned())
}

fn restore(item: usize, calls: &[Restored]) -> Place {
    Place::Restore { item, calls: calls.to_vec().into() }
}

fn answer(calls: &[&str]) -> String {
    let calls: Vec<String> = calls.iter().map(|id| tool(id)).collect();
    format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, calls.join(","))
}

fn result(id: &str, text: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#)
}

const GO: &str = r#"{"role":"user","content":"go"}"#;

fn history(messages: &[&str]) -> String {
    body(&messages.join(","))
}

#[test]
fn hidden_calls_stand_in_later_requests_as_the_model_made_them() {
    let request = history(&[GO, &answer(&["u", "w"]), &result("u", "done"), &result("w", "done"), GO]);
    let instead = Restored {
        native: tool("w").replace("{}", r#"{\"y\":1}"#),
        stands: Stands::Instead("w".to_owned()),
        result: None,
    };
    let calls = [hidden("t", before("u")), hidden("v", before("w")), instead.clone(), hidden("x", Stands::Last)];
    let expected = history(&[
        GO,
        &answer(&["t", "u", "v", "w", "x"]).replace(&tool("w"), &instead.native),
        &result("t", "no"),
        &result("u", "done"),
        &result("v", "no"),
        &result("w", "done"),
        &result("x", "no"),
        GO,
    ]);
    assert_eq!(CHAT.lowered(&request, &[restore(1, &calls)]), expected);
}

#[test]
fn an_answer_that_the_client_spread_is_one() {
    let request = history(&[GO, &answer(&["u"]), &answer(&["w"]), &result("u", "done"), &result("w", "done")]);
    let expected = history(&[
        GO,
        &answer(&["u"]),
        &answer(&["t", "w", "x"]),
        &result("u", "done"),
        &result("t", "no"),
        &result("w", "done"),
        &result("x", "no"),
    ]);
    let calls = [hidden("t", before("w")), hidden("x", Stands::Last)];
    assert_eq!(CHAT.lowered(&request, &[restore(1, &calls)]), expected);
}

#[test]
fn a_call_is_not_put_back_where_it_or_its_result_has_no_place() {
    let system = r#"{"role":"system","content":"s"}"#;
    let old = r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#;
    for (messages, stands) in [
        (vec![GO, &answer(&["u"])], Stands::Last),
        (vec![GO, &answer(&["u"]), system], Stands::Last),
        (vec![GO, &answer(&["u"]), &result("u", "done")], before("w")),
        (vec![GO, &answer(&["u"]), &result("u", "done")], Stands::Instead("w".to_owned())),
        (vec![GO, old, r#"{"role":"function","name":"f","content":"x"}"#], Stands::Last),
    ] {
        let request = history(&messages);
        assert_eq!(CHAT.lowered(&request, &[restore(1, &[hidden("t", stands)])]), request);
    }
}

#[test]
fn other_places_of_the_same_request_stay_what_they_are() {
    let request = history(&[GO, &answer(&["u"]), &result("u", "done"), r#"{"role":"user","content":"more"}"#]);
    let calls = [hidden("t", before("u"))];
    let places = [end(2, &["and this"]), restore(1, &calls), end(3, &["and that"]), back(&["sys"])];
    let expected = history(&[
        r#"{"role":"system","content":"sys"}"#,
        GO,
        &answer(&["t", "u"]),
        &result("t", "no"),
        &result("u", "done\\n\\nand this"),
        r#"{"role":"user","content":"more\n\nand that"}"#,
    ]);
    assert_eq!(CHAT.lowered(&request, &places), expected);
    let gone = [Place::Omit { items: 0..3 }, restore(1, &calls)];
    assert_eq!(CHAT.lowered(&request, &gone), history(&[r#"{"role":"user","content":"more"}"#]));
}

#[test]
fn an_answer_is_taken_apart_and_its_last_part_gets_its_calls_back() {
    let copy = answer(&["u"]).replace("null", r#""one\n\ntwo""#);
    let request = history(&[GO, &copy, &result("u", "done")]);
    let first = answer(&["t1"]).replace("null", r#""one""#);
    let leg = Leg { id: None, answer: vec![first.clone()], reply: LegReply::Results(told("t1").into_iter().collect()) };
    let split = Place::Split { item: 1, legs: vec![leg].into() };
    let expected = history(&[
        GO,
        &first,
        &result("t1", "no"),
        &answer(&["t2", "u"]).replace("null", r#""two""#),
        &result("t2", "no"),
        &result("u", "done"),
    ]);
    let calls = [hidden("t2", before("u"))];
    assert_eq!(CHAT.lowered(&request, &[split.clone(), restore(1, &calls)]), expected);
    assert_eq!(CHAT.lowered(&request, &[restore(1, &calls), split.clone()]), expected);
    let unknown = CHAT.lowered(&request, &[split.clone(), restore(1, &[hidden("t2", before("z"))])]);
    assert_eq!(unknown, CHAT.lowered(&request, &[split]));
}
