use super::PATH;
use crate::context::{Leg, Place};
use crate::dialect::leg_testing::{answered, extend, split, told};
use crate::dialect::testing::{any_json, lower, tail};
use proptest::prelude::*;
use serde_json::{Value, json};

const PROMPT: &str = r#"{"role":"user","parts":[{"text":"Go."}]}"#;
const ONE: &str = r#"{"role":"model","parts":[{"text":"One."},{"text":"","thoughtSignature":"S1"}]}"#;
const REPLY: &str = r#"{"role":"user","parts":[{"text":"More."}]}"#;

fn body(contents: &[&str]) -> String {
    format!(r#"{{"contents":[{}]}}"#, contents.join(","))
}

fn contents(body: &str) -> Vec<Value> {
    serde_json::from_str::<Value>(body).unwrap()["contents"].as_array().unwrap().clone()
}

/// Roles take turns, no part is missing, no text is empty, and every call is answered at once.
fn assert_legal(body: &str) {
    let contents = contents(body);
    for pair in contents.windows(2) {
        assert_ne!(pair[0]["role"], pair[1]["role"], "{body}");
        let count = |content: &Value, key: &str| {
            content["parts"].as_array().unwrap().iter().filter(|part| part.get(key).is_some()).count()
        };
        assert_eq!(count(&pair[0], "functionCall"), count(&pair[1], "functionResponse"), "{body}");
    }
    for part in contents.iter().flat_map(|content| content["parts"].as_array().unwrap()) {
        assert_ne!(part, &json!({"text": ""}), "{body}");
    }
}

#[test]
fn a_leg_goes_behind_the_history() {
    let call = r#"{"role":"model","parts":[{"functionCall":{"name":"rm","args":{}}}]}"#;
    let response = r#"{"role":"user","parts":[{"functionResponse":{"name":"rm","response":{"error":"No."}}}]}"#;
    let named = r#"{"role":"user","parts":[{"functionResponse":{"id":"f1","name":"rm","response":{"error":"No."}}}]}"#;
    assert_eq!(extend(PATH, &body(&[PROMPT]), &told(&[ONE], "More.")), body(&[PROMPT, ONE, REPLY]));
    assert_eq!(extend(PATH, &body(&[PROMPT]), &answered(&[call], "", "rm", "No.")), body(&[PROMPT, call, response]));
    assert_eq!(extend(PATH, &body(&[PROMPT]), &answered(&[call], "f1", "rm", "No.")), body(&[PROMPT, call, named]));
    let single = format!(r#"{{"contents":{PROMPT},"x":1}}"#);
    assert_eq!(
        extend(PATH, &single, &told(&[ONE], "More.")),
        format!(r#"{{"contents":[{PROMPT},{ONE},{REPLY}],"x":1}}"#)
    );
}

#[test]
fn a_reply_to_silence_joins_the_content_before_it() {
    let asked = r#"{"role":"user","parts":[{"text":"Go."},{"text":"More."}]}"#;
    let copy = r#"{"role":"model","parts":[{"text":"Two."}]}"#;
    let silent = told(&[], "More.");
    assert_eq!(extend(PATH, &body(&[PROMPT]), &silent), body(&[asked]));
    assert_eq!(
        split(PATH, &body(&[PROMPT, copy, PROMPT]), 1, std::slice::from_ref(&silent)),
        body(&[asked, copy, PROMPT])
    );
    let twice = [told(&[ONE], "More."), told(&[], "Still more.")];
    let sent = twice.iter().fold(body(&[PROMPT]), |body, leg| extend(PATH, &body, leg));
    let merged = r#"{"role":"model","parts":[{"text":"One.\n\nTwo."}]}"#;
    let taken = split(PATH, &body(&[PROMPT, merged, PROMPT]), 1, &twice);
    assert_eq!(taken, format!("{},{copy},{PROMPT}]}}", sent.strip_suffix("]}").unwrap()));
    assert_legal(&taken);
}

#[test]
fn a_reply_that_nothing_follows_joins_the_content_behind_it() {
    let copy = r#"{"role":"model","parts":[{"text":"One."}]}"#;
    let leg = [told(&[ONE], "More.")];
    let joined = r#"{"role":"user","parts":[{"text":"More."},{"text":"Go."}]}"#;
    assert_eq!(split(PATH, &body(&[PROMPT, copy, PROMPT]), 1, &leg), body(&[PROMPT, ONE, joined]));
    assert_eq!(split(PATH, &body(&[PROMPT, copy]), 1, &leg), body(&[PROMPT, ONE, REPLY]));
}

/// What is left of the copy's parts.
fn left(copy: Value, legs: &[Leg]) -> Value {
    let copy = json!({"role": "model", "parts": copy}).to_string();
    let whole = body(&[PROMPT, &copy]);
    let taken = split(PATH, &whole, 1, legs);
    if taken == whole {
        return json!("as it was");
    }
    let expected = legs.iter().fold(body(&[PROMPT]), |body, leg| extend(PATH, &body, leg));
    assert!(taken.starts_with(expected.strip_suffix("]}").unwrap()), "{taken}\n{expected}");
    contents(&taken).get(contents(&expected).len()).map_or(Value::Null, |rest| rest["parts"].clone())
}

#[test]
fn the_copy_loses_what_the_legs_said() {
    let text = |text: &str| json!({"text": text});
    let signed = |text: &str, signature: &str| json!({"text": text, "thoughtSignature": signature});
    let call = json!({"functionCall": {"name": "n", "args": {"b": 1, "a": 2}}, "thoughtSignature": "S2"});
    let legs = [told(&[ONE], "More.")];
    let cases = [
        (json!([text("One."), signed("", "S1"), text("\n\nTwo."), call]), json!([text("Two."), call])),
        (json!([text("One.\n\nTwo."), call]), json!([text("Two."), call])),
        (json!([signed("One.\n\nTwo.", "S1")]), json!([text("Two.")])),
        (json!([signed("One.\n\nTwo.", "S2")]), json!([signed("Two.", "S2")])),
        (json!([text("One."), text("\n\n  Two."), text("\n\nThree.")]), json!([text("  Two."), text("\n\nThree.")])),
        (json!([{"text": "h", "thought": true}, text("One."), text("Two.")]), json!([text("Two.")])),
        (json!([text("One."), call]), json!([call])),
        (json!([text("One.")]), Value::Null),
        (json!([text("Another.")]), json!("as it was")),
        (json!([text("On")]), json!("as it was")),
    ];
    for (copy, expected) in cases {
        assert_eq!(left(copy.clone(), &legs), expected, "{copy}");
    }
}

#[test]
fn a_copy_in_several_contents_is_one_answer() {
    // The Python SDK's chat keeps a content per chunk.
    let chunk = |text: &str| json!({"parts": [{"text": text}], "role": "model"}).to_string();
    let copy = ["On", "e.", "", "\n\nTw", "o.", ""].map(chunk);
    let mut whole: Vec<&str> = copy.iter().map(String::as_str).collect();
    whole.insert(0, PROMPT);
    whole.push(PROMPT);
    let taken = split(PATH, &body(&whole), 1, &[told(&[ONE], "More.")]);
    let rest = [chunk("Tw"), chunk("o."), chunk("")].join(",");
    assert_eq!(taken, body(&[PROMPT, ONE, REPLY, &rest, PROMPT]));
}

#[test]
fn other_places_on_the_same_request_are_kept() {
    let copy = r#"{"role":"model","parts":[{"text":"One.\n\nTwo."}]}"#;
    let rest = r#"{"role":"model","parts":[{"text":"Two."}]}"#;
    let whole = body(&[PROMPT, copy, PROMPT, copy, PROMPT, copy, PROMPT]);
    let split = |item| Place::Split { item, legs: [told(&[ONE], "More.")].into() };
    let places =
        [split(1), Place::Omit { items: 2..4 }, split(5), tail(6, "E"), Place::SystemEnd { texts: vec!["S".into()] }];
    let last = r#"{"role":"user","parts":[{"text":"Go."},{"text":"E"}]}"#;
    let expected = body(&[PROMPT, ONE, REPLY, rest, PROMPT, ONE, REPLY, rest, last]);
    let system = r#","systemInstruction":{"parts":[{"text":"S"}]}}"#;
    assert_eq!(lower(PATH, &whole, &places).unwrap(), format!("{}{system}", expected.strip_suffix('}').unwrap()));
}

proptest! {
    #[test]
    fn what_was_sent_stands_in_later_requests_whatever_the_shape_of_the_copy(
        legs in prop::collection::vec(("[A-Z][a-z]{0,5}[. ]{1,3}", "[a-z]{1,5}"), 1..4),
        last in "[A-Z][a-z]{0,5}",
        shape in 0..4,
    ) {
        let made: Vec<Leg> = legs.iter().enumerate().map(|(index, (words, reply))| {
            let signature = json!({"text": "", "thoughtSignature": format!("S{index}")});
            told(&[&json!({"role": "model", "parts": [{"text": words}, signature]}).to_string()], reply)
        }).collect();
        let sent = made.iter().fold(body(&[PROMPT]), |body, leg| extend(PATH, &body, leg));
        let words: Vec<&str> = legs.iter().map(|(words, _)| words.as_str()).chain([last.as_str()]).collect();
        let apart: Vec<Value> = words.iter().enumerate().map(|(index, words)| {
            json!({"text": if index == 0 { (*words).to_owned() } else { format!("\n\n{words}") }})
        }).collect();
        let copy = match shape {
            0 => json!([{"text": words.join("\n\n")}]),
            1 => json!(apart),
            2 => json!(words.iter().map(|words| json!({"text": words.trim()})).collect::<Vec<_>>()),
            _ => json!([{"text": words.join("\n\n"), "thoughtSignature": "S0"}]),
        };
        let whole = body(&[PROMPT, &json!({"role": "model", "parts": copy}).to_string(), PROMPT]);
        let taken = split(PATH, &whole, 1, &made);
        prop_assert!(taken.starts_with(sent.strip_suffix("]}").unwrap()), "{}\n{}", taken, sent);
        assert_legal(&taken);
        let rest = &contents(&taken)[contents(&sent).len()];
        prop_assert_eq!(&rest["parts"], &json!([{"text": last}]));
    }

    #[test]
    fn strange_copies_do_no_harm(parts in any_json(), answer in any_json()) {
        let copy = json!({"role": "model", "parts": parts}).to_string();
        let leg = told(&[&answer.to_string(), ONE], "More.");
        let whole = body(&[PROMPT, &copy]);
        if crate::dialect::testing::view(PATH, &whole).is_ok() {
            let _: Value = serde_json::from_str(&split(PATH, &whole, 1, &[leg])).unwrap();
        }
    }
}
