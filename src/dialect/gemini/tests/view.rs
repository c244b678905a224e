use super::PATH;
use crate::context::{AnswerForm, Operation, RequestView, Role, Step};
use crate::dialect::gemini::Gemini;
use crate::dialect::testing::{any_json, neutral_lines, reading, view};
use crate::dialect::{Dialect, ViewError};
use crate::json::ScanError;
use proptest::prelude::*;
use serde_json::json;

fn contents(contents: &str) -> RequestView {
    view(PATH, &format!(r#"{{"contents":{contents}}}"#)).unwrap().1
}

#[test]
fn endpoints_are_known_by_their_method() {
    use AnswerForm::{Json, JsonArray, Sse};
    use Operation::{Batch, Count, Generate};
    let cases = [
        ("/v1beta/models/g-3:generateContent", None, Some(("g-3", Generate, Json))),
        ("/v1/models/g-3:generateContent", None, Some(("g-3", Generate, Json))),
        ("/p/v1beta/models/g-3:streamGenerateContent", Some("alt=sse&key=k"), Some(("g-3", Generate, Sse))),
        ("/v1beta/models/g-3:streamGenerateContent", Some("key=k"), Some(("g-3", Generate, JsonArray))),
        (
            "/v1beta1/projects/p/locations/l/publishers/google/models/g%2D3:countTokens",
            None,
            Some(("g-3", Count, Json)),
        ),
        ("/v1beta/models/g-3%3AbatchGenerateContent", None, Some(("g-3", Batch, Json))),
        ("/v1beta/models/g-3:embedContent", None, None),
        ("/v1beta/models/:generateContent", None, None),
        ("/v1beta/models/g-3", None, None),
    ];
    for (path, query, expected) in cases {
        let found = Gemini.endpoint(&http::Method::POST, path, query);
        let found = found.map(|e| (e.model.unwrap_or_default(), e.operation, e.form.unwrap_or(Json)));
        assert_eq!(found, expected.map(|(model, operation, form)| (model.to_owned(), operation, form)), "{path}");
    }
}

#[test]
fn a_request_is_seen_as_a_whole() {
    let body = r#"{"system_instruction":{"parts":[{"text":"a"},{"text":"b"}]},"contents":[{"parts":[{"text":"hi"}]}],
        "tools":[{"functionDeclarations":[]}],
        "generationConfig":{"maxOutputTokens":9,"candidate_count":2,"responseMimeType":"application/json","thinkingConfig":{"thinkingLevel":"low"}}}"#;
    let (doc, view) = view(PATH, body).unwrap();
    assert_eq!((view.model.as_deref(), view.max_tokens, view.choices), (Some("gemini-3"), Some(9), 2));
    assert!(view.has_tools && view.asks_reasoning && view.structured && view.system_open);
    assert_eq!(view.system.iter().map(|span| doc.text(*span)).collect::<Vec<_>>(), [r#""a""#, r#""b""#]);
    assert_eq!(view.step, Step::Prompt { item: 0 });
}

#[test]
fn single_values_stand_for_lists() {
    let body = r#"{"system_instruction":{"parts":{"text":"s"}},"contents":{"parts":{"text":"hi"}}}"#;
    let (doc, view) = view(PATH, body).unwrap();
    assert_eq!(view.system.iter().map(|span| doc.text(*span)).collect::<Vec<_>>(), [r#""s""#]);
    assert_eq!((view.items.len(), view.items[0].role()), (1, Role::User));
    assert_eq!(Gemini.prompt_text(&doc, &view, 0, &reading()), "hi");
}

#[test]
fn cached_content_takes_no_instructions() {
    let open = |body: &str, path: &str| view(path, body).unwrap().1.system_open;
    assert!(!open(r#"{"cachedContent":"cachedContents/x"}"#, PATH));
    assert!(!open(r#"{"cached_content":"cachedContents/x"}"#, PATH));
    assert!(open(r#"{"cachedContent":null}"#, PATH));
    assert!(!open("{}", "/v1beta/models/g:countTokens"));
    assert!(!open("{}", "/v1beta/models/g:batchGenerateContent"));
}

#[test]
fn a_budget_of_zero_asks_for_no_reasoning() {
    let asks = |thinking: &str| {
        view(PATH, &format!(r#"{{"generationConfig":{{"thinkingConfig":{thinking}}}}}"#)).unwrap().1.asks_reasoning
    };
    assert!(asks("{}") && asks(r#"{"thinkingBudget":-1}"#) && !asks(r#"{"thinking_budget":0}"#) && !asks("null"));
}

#[test]
fn the_end_of_the_request_says_what_it_is() {
    const CALL: &str = r#"{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}}]}"#;
    const RESULT: &str = r#"{"functionResponse":{"name":"ls","response":{"output":"a"}}}"#;
    let user = |parts: &str| format!(r#"{{"role":"user","parts":[{parts}]}}"#);
    let prompt = user(r#"{"text":"hi"}"#);
    let cases = [
        ("nothing", String::new(), Step::Empty),
        ("a prompt", prompt.clone(), Step::Prompt { item: 0 }),
        ("an image", user(r#"{"inlineData":{"mimeType":"image/png","data":"AA"}}"#), Step::Prompt { item: 0 }),
        ("a result", format!("{prompt},{CALL},{}", user(RESULT)), Step::Tool { item: 2 }),
        (
            "text behind a result",
            format!("{prompt},{CALL},{}", user(&format!(r#"{RESULT},{{"text":"wait"}}"#))),
            Step::Tool { item: 2 },
        ),
        (
            "a result of the older role",
            format!(r#"{prompt},{CALL},{{"role":"function","parts":[{RESULT}]}}"#),
            Step::Tool { item: 2 },
        ),
        ("an answer", format!("{prompt},{CALL}"), Step::Resume),
        (
            "only reminders behind an answer",
            format!("{prompt},{CALL},{}", user(r#"{"text":"<system-reminder>"}"#)),
            Step::Resume,
        ),
    ];
    for (name, list, expected) in cases {
        assert_eq!(contents(&format!("[{list}]")).step, expected, "{name}");
    }
}

#[test]
fn facts_of_a_model_content() {
    let view = contents(
        r#"[{"role":"model","parts":[{"text":"hm","thought":true},{"text":"o"},{"text":"k"},
            {"functionCall":{"id":"fc-1","name":"ls"},"thought_signature":"c2ln"},{"functionCall":{"name":"cat","args":{"b":1,"a":2}}}]}]"#,
    );
    let facts = &view.items[0].facts;
    assert!(facts.signed);
    assert_eq!(facts.calls, ["ls:{}", r#"cat:{"a":2,"b":1}"#]);
    let plain = contents(
        r#"[{"role":"model","parts":[{"text":"ok"},{"functionCall":{"name":"ls"}},{"functionCall":{"id":"cat_1796063343783_0","name":"cat","args":{"a":2,"b":1}}}]}]"#,
    );
    assert_eq!(plain.items[0].facts.link, facts.link);
    assert!(!plain.items[0].facts.signed);
}

/// Gemini CLI sends one, two, three of them, from resume to resume: the history stays the same.
#[test]
fn a_repeated_response_is_one_result() {
    let facts = |responses: &[&str]| {
        let response =
            |text| format!(r#"{{"functionResponse":{{"id":"fc-1","name":"ls","response":{{"output":"{text}"}}}}}}"#);
        let parts: Vec<_> = responses.iter().map(response).collect();
        contents(&format!(r#"[{{"role":"user","parts":[{}]}}]"#, parts.join(","))).items[0].facts.clone()
    };
    let once = facts(&["a"]);
    assert_eq!(once.results, ["fc-1"]);
    for copies in [&["a", "a"][..], &["a", "a", "a"]] {
        assert_eq!((facts(copies).link, &facts(copies).results), (once.link, &once.results));
    }
    assert_ne!(facts(&["a", "b"]).link, once.link, "another result of the same call");
}

#[test]
fn both_spellings_of_one_key_are_refused() {
    let cases = [
        r#"{"systemInstruction":{"parts":[]},"system_instruction":{"parts":[]}}"#,
        r#"{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":2}}"#,
        r#"{"contents":[{"parts":[{"functionCall":{"name":"a"},"function_call":{"name":"b"}}]}]}"#,
        r#"{"contents":[{"parts":[{"text":"a","text":"b"}]}]}"#,
        r#"{"systemInstruction":{"parts":[{"text":"a","te\u0078t":"b"}]}}"#,
        r#"{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{"output":"a","output":"b"}}}]}]}"#,
    ];
    for body in cases {
        let error = view(PATH, body).map(|_| ()).unwrap_err();
        assert!(matches!(error, ViewError::Scan(ScanError::DuplicateKey { .. })), "{body}: {error:?}");
    }
    let own = r#"{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{"filePath":1,"file_path":2}}}]}],"labels":{"a_b":"1","aB":"2"}}"#;
    assert!(view(PATH, own).is_ok(), "the keys of a function and of labels are not the protocol's");
}

#[test]
fn a_shape_that_only_the_provider_knows_is_no_error_of_the_scan() {
    for body in [r#"{"contents":"hi"}"#, r#"{"contents":["hi"]}"#, r#"{"systemInstruction":"s"}"#] {
        assert!(matches!(view(PATH, body), Err(ViewError::Shape { .. })), "{body}");
    }
}

#[test]
fn hooks_read_neutral_words() {
    let body = json!({
        "systemInstruction": {"parts": [{"text": "be kind"}]},
        "generationConfig": {"maxOutputTokens": 5, "stopSequences": ["x"], "thinkingConfig": {"thinkingLevel": "low"}},
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "tools": [
            {"functionDeclarations": [{"name": "ls", "description": "lists", "parameters_json_schema": {"type": "object"}}]},
            {"googleSearch": {}},
        ],
        "contents": [
            {"role": "user", "parts": [{"text": "do"}, {"text": "it"}]},
            {"role": "model", "parts": [{"text": "hm", "thought": true}, {"functionCall": {"id": "f1", "name": "ls", "args": {"b": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "f1", "name": "ls", "response": {"error": "none"}}}]},
        ],
    });
    let (doc, view) = view(PATH, &body.to_string()).unwrap();
    insta::assert_snapshot!(neutral_lines(&Gemini.neutral(&doc, &view)), @r#"
    "be kind"
    {"role":"user","text":"do\nit","tool_calls":[],"tool_results":[]}
    {"role":"assistant","text":"","tool_calls":[{"id":"f1","name":"ls","input":{"b":1}}],"tool_results":[]}
    {"role":"tool","text":"","tool_calls":[],"tool_results":[{"id":"f1","text":"{\"error\":\"none\"}","is_error":true}]}
    {"name":"ls","description":"lists","input_schema":{"type":"object"}}
    {"name":"googleSearch","description":"","input_schema":null}
    {"functionCallingConfig":{"mode":"AUTO"}}
    {"max_tokens":5,"temperature":null,"top_p":null,"stop":["x"],"reasoning_effort":"low","response_format":null}
    "#);
}

proptest! {
    /// Any JSON at the places that are read: an error or a view, and then neutral words for it.
    #[test]
    fn any_json_is_read_or_refused(contents in any_json(), system in any_json(), tools in any_json(), parts in any_json()) {
        let nested = json!([{"role": "user", "parts": parts}, {"role": "model", "parts": [parts]}]);
        for contents in [&contents, &nested] {
            let body = json!({"contents": contents, "systemInstruction": system, "tools": tools, "generationConfig": parts});
            if let Ok((doc, view)) = view(PATH, &body.to_string()) {
                let neutral = Gemini.neutral(&doc, &view);
                prop_assert_eq!(neutral.messages.len(), view.items.len());
            }
        }
    }
}
