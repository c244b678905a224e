use super::PATH;
use crate::dialect::testing::{lower, result, results, tail};
use crate::dialect::{LowerError, ToolResult};

fn body(parts: &str) -> String {
    format!(
        r#"{{"contents":[{{"role":"user","parts":[{{"text":"q"}}]}},{{"role":"model","parts":[{{"functionCall":{{"name":"f"}},"thoughtSignature":"c2ln"}}]}},{{"role":"user","parts":{parts}}}]}}"#
    )
}

/// A list of one response with these members behind its name.
fn part(members: &str) -> String {
    format!(r#"[{{"functionResponse":{{"name":"f"{members}}}}}]"#)
}

#[test]
fn text_goes_into_the_functions_own_object() {
    let cases: &[(&str, Option<&str>, &[&str], &str)] = &[
        (r#","response":{"output":"1"}"#, Some("R"), &[], r#","response":{"output":"R"}"#),
        (r#","response":{"output":"1"}"#, Some("R"), &["A", "B"], r#","response":{"output":"R\n\nA\n\nB"}"#),
        (r#","response":{"error":"no","code":1}"#, Some("R"), &[], r#","response":{"error":"R"}"#),
        (r#","response":{"rows":[1.0]}"#, Some("R"), &[], r#","response":{"output":"R"}"#),
        (r#","response":{"output":"1"},"parts":[{"inlineData":{}}]"#, Some("R"), &[], r#","response":{"output":"R"}"#),
        (r#","parts":[{"inlineData":{}}],"response":{"output":"1"}"#, Some("R"), &[], r#","response":{"output":"R"}"#),
        ("", Some("R"), &[], r#","response":{"output":"R"}"#),
        (r#","response":null"#, None, &["A"], r#","response":{"output":"A"}"#),
        (r#","response":{"output":"1\n"}"#, None, &["A\"", " "], r#","response":{"output":"1\n\n\nA\""}"#),
        (r#","response":{"result":"","x":1}"#, None, &["A"], r#","response":{"result":"A","x":1}"#),
        (r#","response":{"error":"no"}"#, None, &["A"], r#","response":{"error":"no\n\nA"}"#),
        (
            r#","response":{"output":{"rows":[1.0]}}"#,
            None,
            &["A"],
            r#","response":{"output":{"rows":[1.0]},"context":"A"}"#,
        ),
        (r#","response":{"context":1}"#, None, &["A"], r#","response":{"context":1,"context_":"A"}"#),
        (r#","response":{}"#, None, &["A"], r#","response":{"context":"A"}"#),
        (r#","response":{"output":"1"}"#, Some(""), &[], r#","response":{"output":""}"#),
        (r#","response":{"output":"1"}"#, None, &[], r#","response":{"output":"1"}"#),
    ];
    for (before, replace, append, after) in cases {
        let lowered = lower(PATH, &body(&part(before)), &[result(2, 0, *replace, append)]).unwrap();
        assert_eq!(lowered, body(&part(after)), "{before}");
    }
}

#[test]
fn each_response_has_its_own_and_repeated_ones_stay_alike() {
    let one = |text: &str| format!(r#"{{"functionResponse":{{"name":"f","response":{{"output":"{text}"}}}}}}"#);
    let parts = |list: &[String]| body(&format!("[{}]", list.join(",")));
    let before = parts(&[one("1"), one("2"), one("1"), r#"{"inlineData":{}}"#.into(), one("3")]);
    let places = [result(2, 0, Some("R"), &[]), result(2, 2, None, &["A"]), tail(2, "T")];
    let after = parts(&[
        one("R"),
        one("2"),
        one("R"),
        r#"{"inlineData":{}}"#.into(),
        one("3\\n\\nA"),
        r#"{"text":"T"}"#.into(),
    ]);
    assert_eq!(lower(PATH, &before, &places).unwrap(), after);
    assert_eq!(results(PATH, &before, 2).iter().map(|r| r.text.as_str()).collect::<Vec<_>>(), ["1", "2", "3"]);
    for (item, index) in [(0, 0), (1, 0), (2, 3), (9, 0)] {
        let refused = lower(PATH, &before, &[result(item, index, Some("R"), &[])]);
        assert_eq!(refused, Err(LowerError::NoPlace { item }), "{item} {index}");
    }
    let strange = body(&part(r#","response":[1]"#));
    assert_eq!(lower(PATH, &strange, &[result(2, 0, None, &["A"])]), Err(LowerError::NoPlace { item: 2 }));
}

#[test]
fn other_spellings_and_single_parts_are_read_alike() {
    let single = r#"{"function_response":{"id":"c","name":"f","response":{"output":"1"}}}"#;
    let lowered = lower(PATH, &body(single), &[result(2, 0, Some("R"), &[])]).unwrap();
    assert_eq!(lowered, body(&single.replace(r#""1""#, r#""R""#)));
    let read = ToolResult { id: "c".into(), name: "f".into(), text: "1".into(), is_error: false };
    assert_eq!(results(PATH, &body(single), 2), [read]);
    let failed = body(&part(r#","response":{"error":"no"}"#));
    let read = ToolResult { id: String::new(), name: "f".into(), text: r#"{"error":"no"}"#.into(), is_error: true };
    assert_eq!(results(PATH, &failed, 2), [read]);
}
