use super::PATH;
use crate::context::Place;
use crate::dialect::LowerError;
use crate::dialect::testing::{end, front, lower, tail, view};
use proptest::prelude::*;
use serde_json::{Value, json};

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

/// The value at a pointer of the lowered body.
fn lowered(body: &str, places: &[Place], pointer: &str) -> Value {
    let text = lower(PATH, body, places).unwrap();
    serde_json::from_str::<Value>(&text).unwrap().pointer(pointer).cloned().unwrap_or_default()
}

#[test]
fn instructions_keep_the_type_the_client_used() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let cases = [
        (r#""S""#, json!("F\n\nS\n\nE")),
        (r#""""#, json!("F\n\nE")),
        ("null", json!("F\n\nE")),
        ("[]", json!([text("F"), text("E")])),
        (r#"[{"type":"text","text":"S"}]"#, json!([text("F"), text("S"), text("E")])),
    ];
    for (system, expected) in cases {
        let body = format!(r#"{{"system":{system},"messages":[]}}"#);
        assert_eq!(lowered(&body, &[end("E"), front(0, "F")], "/system"), expected, "{system}");
    }
    assert_eq!(lowered(r#"{"messages":[]}"#, &[end("E")], "/system"), json!("E"));
    assert_eq!(lowered("{}", &[end("E")], "/system"), json!("E"));
}

#[test]
fn protected_blocks_stay_first() {
    let body = r#"{"system":[ {"type":"text","text":"billing"} , {"type":"text","text":"identity"}, {"type":"text","text":"rules"} ]}"#;
    let lowered = lower(PATH, body, &[front(2, "F"), end("E")]).unwrap();
    insta::assert_snapshot!(lowered, @r#"{"system":[ {"type":"text","text":"billing"} , {"type":"text","text":"identity"}, {"type":"text","text":"F"},{"type":"text","text":"rules"},{"type":"text","text":"E"} ]}"#);
    let string = lower(PATH, r#"{"system":"S"}"#, &[front(1, "F")]).unwrap();
    insta::assert_snapshot!(string, @r#"{"system":"S\n\nF"}"#);
}

#[test]
fn text_goes_behind_the_clients_blocks() {
    let string = lower(PATH, r#"{"messages":[{"role":"user","content":"\u00e9 \/"}]}"#, &[tail(0, "E")]).unwrap();
    insta::assert_snapshot!(string, @r#"{"messages":[{"role":"user","content":[{"type":"text","text":"\u00e9 \/"},{"type":"text","text":"E"}]}]}"#);
    let array =
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}]}]}"#;
    insta::assert_snapshot!(lower(PATH, array, &[tail(0, "E")]).unwrap(), @r#"{"messages":[{"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral"}},{"type":"text","text":"E"}]}]}"#);
}

#[test]
fn text_goes_inside_the_last_tool_result() {
    let body = |content: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":"q"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"n","input":{{}}}},{{"type":"tool_use","id":"b","name":"n","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"1"}},{{"type":"tool_result","tool_use_id":"b"{content}}},{{"type":"text","text":"wait"}}]}}]}}"#
        )
    };
    let ours = json!({"type": "text", "text": "E"});
    let cases = [
        (r#","content":"2""#, json!([{"type": "text", "text": "2"}, ours])),
        (r#","content":[{"type":"text","text":"2"}]"#, json!([{"type": "text", "text": "2"}, ours])),
        (r#","content":[{"type":"image","source":{}}]"#, json!([{"type": "image", "source": {}}, ours])),
        (r#","content":"""#, json!([ours])),
        (r#","content":[]"#, json!([ours])),
        (r#","content":null"#, json!([ours])),
        ("", json!([ours])),
    ];
    for (content, expected) in cases {
        let content_after = lowered(&body(content), &[tail(2, "E")], "/messages/2/content");
        assert_eq!(content_after[1]["content"], expected, "{content}");
        assert_eq!(content_after[0], json!({"type": "tool_result", "tool_use_id": "a", "content": "1"}));
        assert_eq!(content_after[2], json!({"type": "text", "text": "wait"}));
    }
}

#[test]
fn nothing_is_added_where_the_server_waits_or_the_model_spoke() {
    let body = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"w","input":{}},{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]},{"role":"system","content":"s"}]}"#;
    for item in [1, 2, 3, 9] {
        assert_eq!(lower(PATH, body, &[tail(item, "E")]), Err(LowerError::NoPlace { item }));
    }
}

#[test]
fn blank_texts_add_nothing() {
    let body = r#"{"system":"S","messages":[{"role":"user","content":"q"}]}"#;
    let places = [Place::SystemEnd { texts: texts(&["", " \n"]) }, front(0, ""), tail(0, "  ")];
    assert_eq!(lower(PATH, body, &places).unwrap(), body);
}

/// A blocked prompt with what the client sent around it, its made-up answer, and the next prompt.
const BLOCKED: &str = r#"{"messages":[ {"role":"user","content":[{"type":"text","text":"<system-reminder>git</system-reminder>"},{"type":"text","text":"bad"}]}, {"role":"system","content":"env","output_config":{}}, {"role":"assistant","content":"blocked"}, {"role":"user","content":"good"}, {"role":"assistant","content":"ok"} ]}"#;

#[test]
fn what_is_left_out_leaves_reminders_and_instructions_behind() {
    let omit = Place::Omit { items: 0..3 };
    let lowered = lower(PATH, BLOCKED, &[omit, tail(3, "E")]).unwrap();
    insta::assert_snapshot!(lowered, @r#"{"messages":[ {"role":"user","content":[{"type":"text","text":"<system-reminder>git</system-reminder>"},{"type":"text","text":"good"},{"type":"text","text":"E"}]},{"role":"system","content":"env","output_config":{}}, {"role":"assistant","content":"ok"} ]}"#);
}

#[test]
fn a_system_message_is_never_left_without_its_user_message() {
    let body =
        r#"{"messages":[{"role":"user","content":"a"},{"role":"system","content":"s"},{"role":"user","content":"b"}]}"#;
    let omit = Place::Omit { items: 0..1 };
    assert_eq!(
        lowered(body, &[omit], "/messages"),
        json!([{"role": "user", "content": "b"}, {"role": "system", "content": "s"}])
    );
}

#[test]
fn what_has_nowhere_to_go_is_not_dropped() {
    let body = r#"{"messages":[{"role":"user","content":"a"},{"role":"system","content":"s"},{"role":"assistant","content":"b"}]}"#;
    assert_eq!(lower(PATH, body, &[Place::Omit { items: 0..1 }]), Err(LowerError::NoPlace { item: 0 }));
}

#[test]
fn a_pair_is_not_torn_and_a_history_not_emptied() {
    let body = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]}]}"#;
    assert!(lower(PATH, body, &[Place::Omit { items: 0..2 }]).is_err());
    assert!(lower(PATH, body, &[Place::Omit { items: 0..3 }]).is_err());
}

#[test]
fn two_omissions_go_together() {
    let body = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"A"},{"role":"user","content":"b"},{"role":"assistant","content":"B"},{"role":"user","content":"c"}]}"#;
    let omit = |items| Place::Omit { items };
    let left = lowered(body, &[omit(0..2), omit(2..4)], "/messages");
    assert_eq!(left, json!([{"role": "user", "content": "c"}]));
    let left = lowered(body, &[omit(2..4), omit(0..1)], "/messages");
    assert_eq!(left, json!([{"role": "assistant", "content": "A"}, {"role": "user", "content": "c"}]));
}

fn blocks_of(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(list) => list.clone(),
        text => vec![json!({"type": "text", "text": text})],
    }
}

proptest! {
    /// The same text at the same place is the same to the model, whichever form the client's content has.
    #[test]
    fn the_form_of_the_content_does_not_show(said in "[a-zé\"\\\\\n ]{1,12}", ours in "[a-z\"\n]{1,12}") {
        prop_assume!(!ours.trim().is_empty());
        let string = json!({"messages": [{"role": "user", "content": said}]}).to_string();
        let block = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": said}]}]}).to_string();
        let places = [tail(0, &ours)];
        prop_assert_eq!(lower(PATH, &string, &places).unwrap(), lower(PATH, &block, &places).unwrap());
    }

    /// What is added can be taken out again: everything else keeps its bytes.
    #[test]
    fn only_the_added_spans_differ(system in 0..4usize, ours in "[a-z]{1,9}") {
        let system = ["", r#""system" : "S\u00e9" ,"#, r#""system":[{"type":"text","text":"x" }],"#, r#""system":[ ],"#][system];
        let body = format!(r#"{{{system}"z":1.0,"id":990000000262240065, "messages":[{{"role":"user","content":[{{"text":"q","type":"text"}}]}}] }}"#);
        let changed = lower(PATH, &body, &[end(&ours), tail(0, &ours)]).unwrap();
        let parsed: Value = serde_json::from_str(&changed).unwrap();
        let content = blocks_of(&parsed["messages"][0]["content"]);
        prop_assert_eq!(content.last(), Some(&json!({"type": "text", "text": ours})));
        let kept = r#""z":1.0,"id":990000000262240065, "messages":[{"role":"user","content":[{"text":"q","type":"text"}"#;
        prop_assert!(changed.contains(kept), "{}", changed);
        let again = view(PATH, &changed).unwrap().1;
        prop_assert_eq!(again.items.len(), 1);
    }
}

/// A message of any legal kind: a string or blocks, with results, reminders and instructions among them.
fn message() -> impl Strategy<Value = Value> {
    let reminder = json!({"type": "text", "text": "<system-reminder>r"});
    let result = |content: Value| json!({"type": "tool_result", "tool_use_id": "t", "content": content});
    let content = prop_oneof![
        Just(json!("q")),
        Just(json!("")),
        Just(json!([])),
        Just(json!([reminder, {"type": "text", "text": "q"}])),
        Just(json!([result(json!("1")), {"type": "text", "text": "wait"}])),
        Just(json!([result(json!([])), {"type": "tool_result", "tool_use_id": "u"}, reminder])),
    ];
    let answer = prop_oneof![
        Just(json!("a")),
        Just(json!([{"type": "tool_use", "id": "t", "name": "n", "input": {}}])),
        Just(json!([{"type": "server_tool_use", "id": "s", "name": "n", "input": {}}])),
    ];
    prop_oneof![
        3 => content.prop_map(|content| json!({"role": "user", "content": content})),
        2 => answer.prop_map(|content| json!({"role": "assistant", "content": content})),
        1 => Just(json!({"role": "system", "content": "s"})),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        (0..3usize).prop_map(|after| front(after, "OURS")),
        Just(end("OURS")),
        (0..6usize).prop_map(|item| tail(item, "OURS")),
        (0..6usize, 0..4usize).prop_map(|(start, len)| Place::Omit { items: start..start + len }),
    ]
}

/// Results come first in their message, and no text that was added is empty.
fn assert_legal(message: &Value) {
    let Value::Array(blocks) = &message["content"] else { return };
    let is_result = |block: &Value| block["type"] == "tool_result";
    let results = blocks.iter().filter(|block| is_result(block)).count();
    assert!(blocks.iter().take(results).all(is_result), "{message}");
    assert!(blocks.iter().all(|block| block["text"] != ""), "{message}");
}

proptest! {
    /// Whatever is placed in whatever history: it is refused as a whole, or the body is sound.
    #[test]
    fn placements_never_break_a_body(
        messages in prop::collection::vec(message(), 0..6),
        system in prop_oneof![Just(json!(null)), Just(json!("S")), Just(json!([])), Just(json!([{"type": "text", "text": "S"}]))],
        places in prop::collection::vec(place(), 0..5),
    ) {
        let body = json!({"messages": messages, "system": system}).to_string();
        let Ok(changed) = lower(PATH, &body, &places) else { return Ok(()) };
        let changed: Value = serde_json::from_str(&changed).unwrap();
        let after = changed["messages"].as_array().unwrap();
        after.iter().for_each(assert_legal);
        let omits = places.iter().any(|place| matches!(place, Place::Omit { .. }));
        if omits {
            prop_assert_eq!(messages.is_empty(), after.is_empty());
            if messages[..1.min(messages.len())].iter().all(|m| m["role"] != "system") {
                prop_assert!(after.iter().take(1).all(|message| message["role"] != "system"), "{changed}");
            }
        } else {
            let roles = |list: &[Value]| list.iter().map(|m| m["role"].clone()).collect::<Vec<_>>();
            prop_assert_eq!(roles(after), roles(&messages));
        }
    }
}
