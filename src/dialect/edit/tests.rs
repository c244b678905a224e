//! Instruction blocks that a client needs first: what holds in every dialect.
use crate::dialect::edit_testing::edited_behind;
use serde_json::{Value, json};

const ANTHROPIC: &str = "/v1/messages";
const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const GEMINI: &str = "/v1beta/models/m:generateContent";

/// A body of each dialect with these instruction blocks, a history behind them, and how it shows its instructions.
fn bodies(blocks: &[&str]) -> [(&'static str, Value); 4] {
    let texts = |kind: &str| blocks.iter().map(|text| json!({"type": kind, "text": text})).collect::<Vec<_>>();
    let parts: Vec<Value> = blocks.iter().map(|text| json!({"text": text})).collect();
    [
        (ANTHROPIC, json!({"system": texts("text"), "messages": [{"role": "user", "content": "q"}]})),
        (CHAT, json!({"messages": [{"role": "system", "content": texts("text")}, {"role": "user", "content": "q"}]})),
        (
            RESPONSES,
            json!({"input": [{"role": "developer", "content": texts("input_text")}, {"role": "user", "content": "q"}]}),
        ),
        (
            GEMINI,
            json!({"systemInstruction": {"parts": parts}, "contents": [{"role": "user", "parts": [{"text": "q"}]}]}),
        ),
    ]
}

/// All texts of a value in order, without the prompt.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(elements) => elements.iter().flat_map(texts).collect(),
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| {
                [
                    "system",
                    "systemInstruction",
                    "instructions",
                    "messages",
                    "input",
                    "contents",
                    "content",
                    "parts",
                    "text",
                ]
                .contains(&key.as_str())
            })
            .flat_map(|(_, value)| texts(value))
            .collect(),
        Value::String(text) if text != "q" => vec![text.clone()],
        _ => Vec::new(),
    }
}

#[test]
fn nothing_stands_before_or_in_the_place_of_what_the_client_needs_first() {
    let replace = json!({"op": "system.replace", "text": "N"});
    let matching = |pattern: &str| json!({"op": "system.replace", "text": "N", "match": pattern});
    let prepend = json!({"op": "system.prepend", "text": "N"});
    let cases: [(&[&str], usize, &Value, &[&str]); 8] = [
        (&["id", "rules"], 1, &prepend, &["id", "N", "rules"]),
        (&["id", "who", "rules"], 2, &prepend, &["id", "who", "N", "rules"]),
        (&["id", "rules"], 0, &prepend, &["N", "id", "rules"]),
        (&["id", "rules", "more"], 1, &replace, &["id", "N"]),
        (&["id", "who", "rules"], 2, &replace, &["id", "who", "N"]),
        (&["id"], 1, &replace, &["id", "N"]),
        (&["id", "rules"], 1, &matching("i|r"), &["id", "N"]),
        (&["id"], 1, &matching("i"), &["id"]),
    ];
    for (blocks, protected, edit, expected) in cases {
        for (path, body) in bodies(blocks) {
            let made = edited_behind(protected, path, &body.to_string(), edit).unwrap();
            assert_eq!(texts(&serde_json::from_str(&made).unwrap()), expected, "{path} {edit} {body}");
        }
    }
}

#[test]
fn a_string_that_the_client_needs_keeps_its_words_first() {
    for op in ["system.prepend", "system.append", "system.replace"] {
        let edit = json!({"op": op, "text": "N"});
        for (path, body) in [
            (ANTHROPIC, r#"{"system":"id","messages":[{"role":"user","content":"q"}]}"#),
            (RESPONSES, r#"{"instructions":"id","input":"q"}"#),
        ] {
            let made: Value = serde_json::from_str(&edited_behind(1, path, body, &edit).unwrap()).unwrap();
            let said = made.get("system").or(made.get("instructions")).unwrap();
            assert_eq!(said, "id\n\nN", "{op} {path}");
        }
    }
}
