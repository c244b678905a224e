use super::PATH;
use crate::context::Place;
use crate::dialect::LowerError;
use crate::dialect::testing::{end, front, lower, tail};
use proptest::prelude::*;
use serde_json::{Value, json};

fn lowered(body: &str, places: &[Place], pointer: &str) -> Value {
    let text = lower(PATH, body, places).unwrap();
    serde_json::from_str::<Value>(&text).unwrap().pointer(pointer).cloned().unwrap_or_default()
}

#[test]
fn instructions_become_parts() {
    let all = json!([{"text": "F"}, {"text": "S"}, {"text": "E"}]);
    let ours = json!([{"text": "F"}, {"text": "E"}]);
    let cases = [
        (r#""systemInstruction":{"role":"system","parts":[{"text":"S"}]}"#, &all),
        (r#""systemInstruction":{"parts":{"text":"S"}}"#, &all),
        (r#""systemInstruction":{"parts":[]}"#, &ours),
        (r#""systemInstruction":{"parts":null}"#, &ours),
        (r#""systemInstruction":{}"#, &ours),
        (r#""systemInstruction":null"#, &ours),
        (r#""contents":[]"#, &ours),
        ("", &ours),
    ];
    for (member, expected) in cases {
        let after = lowered(&format!("{{{member}}}"), &[end("E"), front(0, "F")], "/systemInstruction/parts");
        assert_eq!(after, *expected, "{member}");
    }
    let snake = lowered(r#"{"system_instruction":{"parts":[{"text":"S"}]}}"#, &[end("E")], "/system_instruction/parts");
    assert_eq!(snake, json!([{"text": "S"}, {"text": "E"}]));
}

#[test]
fn protected_parts_stay_first() {
    let list = r#"{"systemInstruction":{"parts":[{"text":"A"}, {"text":"B"}]}}"#;
    insta::assert_snapshot!(lower(PATH, list, &[front(1, "F"), end("E")]).unwrap(), @r#"{"systemInstruction":{"parts":[{"text":"A"}, {"text":"F"},{"text":"B"},{"text":"E"}]}}"#);
    let single = r#"{"systemInstruction":{"parts":{"text":"A"}}}"#;
    insta::assert_snapshot!(lower(PATH, single, &[front(1, "F"), end("E")]).unwrap(), @r#"{"systemInstruction":{"parts":[{"text":"A"},{"text":"F"},{"text":"E"}]}}"#);
}

#[test]
fn cached_content_refuses_instructions() {
    let body = r#"{"cachedContent":"c","contents":[{"parts":[{"text":"q"}]}]}"#;
    assert_eq!(lower(PATH, body, &[end("E")]), Err(LowerError::NoSystem));
    assert!(lower(PATH, body, &[tail(0, "E")]).is_ok());
}

const STEP: &str = r#"{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"1"}}}]}]}"#;

#[test]
fn text_is_the_last_part_of_a_content() {
    insta::assert_snapshot!(lower(PATH, STEP, &[tail(0, "P"), tail(2, "T")]).unwrap(), @r#"{"contents":[{"role":"user","parts":[{"text":"q"},{"text":"P"}]},{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"1"}}},{"text":"T"}]}]}"#);
    assert_eq!(lower(PATH, STEP, &[tail(1, "E")]), Err(LowerError::NoPlace { item: 1 }));
    let single = lower(PATH, r#"{"contents":{"parts":{"text":"q"}}}"#, &[tail(0, "E")]).unwrap();
    insta::assert_snapshot!(single, @r#"{"contents":{"parts":[{"text":"q"},{"text":"E"}]}}"#);
}

#[test]
fn what_is_left_out_leaves_reminders_behind() {
    let body = r#"{"contents":[{"role":"user","parts":[{"text":"<system-reminder>cwd"},{"text":"bad"}]}, {"role":"model","parts":[{"text":"blocked"}]}, {"role":"user","parts":[{"text":"good"}]}]}"#;
    let places = [Place::Omit { items: 0..2 }, tail(2, "E")];
    insta::assert_snapshot!(lower(PATH, body, &places).unwrap(), @r#"{"contents":[{"role":"user","parts":[{"text":"<system-reminder>cwd"},{"text":"good"},{"text":"E"}]}]}"#);
    assert!(lower(PATH, body, &[Place::Omit { items: 0..3 }]).is_err());
    assert!(lower(PATH, STEP, &[Place::Omit { items: 0..2 }]).is_err(), "a call without its result");
}

proptest! {
    #[test]
    fn a_single_part_and_a_list_of_one_look_alike(said in "[a-zé\"\\\\ ]{1,9}", ours in "[a-z]{1,9}") {
        let single = json!({"contents": [{"parts": {"text": said}}]}).to_string();
        let list = json!({"contents": [{"parts": [{"text": said}]}]}).to_string();
        prop_assert_eq!(lower(PATH, &single, &[tail(0, &ours)]), lower(PATH, &list, &[tail(0, &ours)]));
    }
}
