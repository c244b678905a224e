use super::PATH;
use crate::context::{Leg, LegReply, Place, Restored, Stands};
use crate::dialect::binder_testing::told;
use crate::dialect::testing::{lower, tail};

const PROMPT: &str = r#"{"role":"user","parts":[{"text":"Go."}]}"#;
const SIGNED: &str = r#"{"functionCall":{"name":"bash","args":{"x":1}},"thoughtSignature":"S"}"#;
const TOLD: &str = r#"{"functionResponse":{"name":"bash","response":{"error":"no"}}}"#;

fn body(contents: &[&str]) -> String {
    format!(r#"{{"contents":[{}]}}"#, contents.join(","))
}

fn model(parts: &[&str]) -> String {
    format!(r#"{{"role":"model","parts":[{}]}}"#, parts.join(","))
}

fn user(parts: &[&str]) -> String {
    format!(r#"{{"role":"user","parts":[{}]}}"#, parts.join(","))
}

fn call(name: &str, args: &str) -> String {
    format!(r#"{{"functionCall":{{"name":"{name}","args":{args}}}}}"#)
}

fn response(name: &str, output: &str) -> String {
    format!(r#"{{"functionResponse":{{"name":"{name}","response":{{"output":"{output}"}}}}}}"#)
}

fn hidden(stands: Stands) -> Restored {
    Restored { native: SIGNED.to_owned(), stands, result: told("") }
}

fn before(key: &str) -> Stands {
    Stands::Before(key.to_owned())
}

/// The body with these calls in item 1 again.
fn restore(contents: &[&str], calls: &[Restored]) -> String {
    lower(PATH, &body(contents), &[Place::Restore { item: 1, calls: calls.into() }]).unwrap()
}

#[test]
fn hidden_calls_stand_in_later_requests_as_the_model_made_them() {
    let (edit, read) = (call("edit", r#"{"b":2, "a":1}"#), call("read", "{}"));
    let (edited, was_read) = (response("edit", "e"), response("read", "r"));
    let text = r#"{"text":"a"}"#;
    let answer = model(&[text, &edit, &read]);
    let replies = user(&[&edited, &was_read, text]);
    let edit_key = r#"edit:{"a":1,"b":2}"#;
    let cases: [(&[Restored], [&[&str]; 2]); 5] = [
        (&[hidden(before(edit_key))], [&[text, SIGNED, &edit, &read], &[TOLD, &edited, &was_read, text]]),
        (&[hidden(before("read:{}"))], [&[text, &edit, SIGNED, &read], &[&edited, TOLD, &was_read, text]]),
        (&[hidden(Stands::Last)], [&[text, &edit, &read, SIGNED], &[&edited, &was_read, TOLD, text]]),
        (
            &[hidden(before(edit_key)), hidden(before(edit_key)), hidden(Stands::Last)],
            [&[text, SIGNED, SIGNED, &edit, &read, SIGNED], &[TOLD, TOLD, &edited, &was_read, TOLD, text]],
        ),
        (&[hidden(before("other:{}"))], [&[text, &edit, &read], &[&edited, &was_read, text]]),
    ];
    for (calls, [parts, responses]) in cases {
        assert_eq!(
            restore(&[PROMPT, &answer, &replies, PROMPT], calls),
            body(&[PROMPT, &model(parts), &user(responses), PROMPT]),
            "{calls:?}"
        );
    }
}

#[test]
fn a_call_that_the_client_made_otherwise_is_the_models_again() {
    let ours = call("edit", r#"{"c":1}"#);
    let native = r#"{"functionCall":{"name":"edit","args":{"c":2}},"thoughtSignature":"S"}"#;
    let instead =
        Restored { native: native.to_owned(), stands: Stands::Instead(r#"edit:{"c":1}"#.into()), result: None };
    let replies = user(&[&response("edit", "1"), &response("edit", "2")]);
    let answer = model(&[&ours, &ours]);
    let calls = [instead.clone(), hidden(before(r#"edit:{"c":1}"#)), instead.clone()];
    let replied = user(&[&response("edit", "1"), TOLD, &response("edit", "2")]);
    assert_eq!(
        restore(&[PROMPT, &answer, &replies], &calls),
        body(&[PROMPT, &model(&[native, SIGNED, native]), &replied])
    );
    assert_eq!(restore(&[PROMPT, &answer], &[instead]), body(&[PROMPT, &model(&[native, &ours])]), "it has no result");
}

#[test]
fn a_response_names_the_call_where_that_has_an_id() {
    let edit = call("edit", "{}");
    let call = Restored { result: told("f1"), ..hidden(before("edit:{}")) };
    let named = TOLD.replace(r#""name""#, r#""id":"f1","name""#);
    assert_eq!(
        restore(&[PROMPT, &model(&[&edit]), &user(&[&response("edit", "e")])], &[call]),
        body(&[PROMPT, &model(&[SIGNED, &edit]), &user(&[&named, &response("edit", "e")])])
    );
}

#[test]
fn the_copy_may_have_any_shape() {
    let (edit, read) = (call("edit", "{}"), call("read", "{}"));
    let (edited, was_read) = (response("edit", "e"), response("read", "r"));
    let call = [hidden(before("read:{}"))];
    // An answer in two contents, each call with a made-up id, in either spelling.
    let named = r#"{"function_call":{"id":"read_1","name":"read","args":{}}}"#;
    assert_eq!(
        restore(&[PROMPT, &model(&[&edit]), &model(&[named]), &user(&[&edited, &was_read])], &call),
        body(&[PROMPT, &model(&[&edit]), &model(&[SIGNED, named]), &user(&[&edited, TOLD, &was_read])])
    );
    // Responses that are repeated.
    assert_eq!(
        restore(&[PROMPT, &model(&[&edit, &read]), &user(&[&edited, &edited, &was_read, &was_read])], &call),
        body(&[PROMPT, &model(&[&edit, SIGNED, &read]), &user(&[&edited, &edited, TOLD, &was_read, &was_read])])
    );
    // A response without its array, no response at all, and no parts.
    let single = |part: &str| format!(r#"{{"role":"user","parts":{part}}}"#);
    let answer = model(&[&read]);
    let restored = model(&[SIGNED, &read]);
    for (replies, expected) in [
        (single(&was_read), user(&[TOLD, &was_read])),
        (single(r#"{"text":"stop"}"#), user(&[TOLD, r#"{"text":"stop"}"#])),
        (user(&[r#"{"text":"stop"}"#]), user(&[TOLD, r#"{"text":"stop"}"#])),
        (user(&[]), user(&[TOLD])),
    ] {
        assert_eq!(restore(&[PROMPT, &answer, &replies], &call), body(&[PROMPT, &restored, &expected]));
    }
    let behind = [hidden(Stands::Last)];
    assert_eq!(
        restore(&[PROMPT, &answer, &single(&was_read)], &behind),
        body(&[PROMPT, &model(&[&read, SIGNED]), &user(&[&was_read, TOLD])])
    );
}

#[test]
fn a_call_is_not_put_back_where_its_result_has_no_place() {
    let contents = [PROMPT, &model(&[&call("edit", "{}")])];
    assert_eq!(restore(&contents, &[hidden(Stands::Last)]), body(&contents));
}

#[test]
fn other_texts_stand_behind_the_responses() {
    let edit = call("edit", "{}");
    let contents = [PROMPT, &model(&[&edit]), &user(&[&response("edit", "e")])];
    let places = [Place::Restore { item: 1, calls: [hidden(Stands::Last)].into() }, tail(2, "T")];
    assert_eq!(
        lower(PATH, &body(&contents), &places).unwrap(),
        body(&[PROMPT, &model(&[&edit, SIGNED]), &user(&[&response("edit", "e"), TOLD, r#"{"text":"T"}"#])])
    );
}

#[test]
fn an_answer_is_taken_apart_and_its_last_part_gets_its_calls_back() {
    let edit = call("edit", "{}");
    let first = model(&[r#"{"text":"One."}"#, r#"{"functionCall":{"name":"bash","args":{}}}"#]);
    let leg = Leg { id: None, answer: vec![first.clone()], reply: LegReply::Results(told("").into_iter().collect()) };
    let places = |legs: &[Leg]| {
        [
            Place::Split { item: 1, legs: legs.into() },
            Place::Restore { item: 1, calls: [hidden(before("edit:{}"))].into() },
        ]
    };
    let edited = response("edit", "e");
    let copy = model(&[r#"{"text":"One.\n\nTwo."}"#, &edit]);
    let lowered = lower(PATH, &body(&[PROMPT, &copy, &user(&[&edited])]), &places(std::slice::from_ref(&leg))).unwrap();
    let rest = model(&[r#"{"text":"Two."}"#, SIGNED, &edit]);
    assert_eq!(lowered, body(&[PROMPT, &first, &user(&[TOLD]), &rest, &user(&[TOLD, &edited])]));
    // A copy that is not the legs' stays whole, and gets the calls of the last leg all the same.
    let other = model(&[r#"{"text":"Else."}"#, &edit]);
    let lowered = lower(PATH, &body(&[PROMPT, &other, &user(&[&edited])]), &places(&[leg])).unwrap();
    let whole = model(&[r#"{"text":"Else."}"#, SIGNED, &edit]);
    assert_eq!(lowered, body(&[PROMPT, &whole, &user(&[TOLD, &edited])]));
}
