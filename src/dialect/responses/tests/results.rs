use super::{CALL, OUTPUT, RESPONSES, USER, body};
use crate::dialect::testing::{result, results, tail};

fn output(kind: &str, output: &str) -> String {
    format!(r#"{{"type":"{kind}","call_id":"c1","output":{output},"status":"completed"}}"#)
}

const MESSAGE: &str = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"A"}]}"#;

/// Kind and output; the text in its place, texts behind it; the output then, and whether a message follows.
type Case<'a> = (&'a str, &'a str, Option<&'a str>, &'a [&'a str], &'a str, bool);

#[test]
fn text_goes_in_the_place_of_the_output_and_behind_it() {
    let cases: &[Case<'_>] = &[
        ("function_call_output", r#""1""#, Some("R"), &[], r#""R""#, false),
        ("function_call_output", r#""1""#, Some("R"), &["A"], r#""R\n\nA""#, false),
        ("custom_tool_call_output", r#""1""#, None, &["A"], r#""1\n\nA""#, false),
        (
            "function_call_output",
            r#"[{"type":"input_text","text":"1"},{"type":"input_image","image_url":"d"}]"#,
            Some("R"),
            &["A"],
            r#"[{"type":"input_text","text":"R"},{"type":"input_text","text":"A"}]"#,
            false,
        ),
        // Outputs that are more than a text: what is said of them is a message behind the results.
        ("local_shell_call_output", r#""{\"stdout\":\"1\"}""#, Some("R"), &[], r#""R""#, false),
        (
            "shell_call_output",
            r#"[{"stdout":"1","stderr":"","outcome":{"type":"timeout"}}]"#,
            Some("R"),
            &["A"],
            r#"[{"stdout":"R","stderr":"","outcome":{"type":"timeout"}}]"#,
            true,
        ),
        (
            "shell_call_output",
            "[]",
            Some("R"),
            &[],
            r#"[{"stdout":"R","stderr":"","outcome":{"type":"exit","exit_code":0}}]"#,
            false,
        ),
        (
            "computer_call_output",
            r#"{"type":"computer_screenshot","image_url":"d"}"#,
            None,
            &["A"],
            r#"{"type":"computer_screenshot","image_url":"d"}"#,
            true,
        ),
    ];
    for (kind, before, replace, append, after, message) in cases {
        let lowered = RESPONSES.lowered(&body(&[USER, CALL, &output(kind, before)]), &[result(2, 0, *replace, append)]);
        let after = output(kind, after);
        let expected = [&[USER, CALL, &after][..], if *message { &[MESSAGE] } else { &[] }].concat();
        assert_eq!(lowered, body(&expected), "{kind} {before}");
    }
    let patch = r#"{"type":"apply_patch_call_output","call_id":"c1","status":"failed"}"#;
    let patched = r#"{"type":"apply_patch_call_output","call_id":"c1","status":"failed","output":"R"}"#;
    assert_eq!(RESPONSES.lowered(&body(&[patch]), &[result(0, 0, Some("R"), &[])]), body(&[patched]));
    let both = [result(2, 0, Some("R"), &["A"]), tail(2, "T")];
    let after = r#"{"type":"function_call_output","call_id":"c1","output":"R\n\nA\n\nT"}"#;
    assert_eq!(RESPONSES.lowered(&body(&[USER, CALL, OUTPUT]), &both), body(&[USER, CALL, after]));
}

#[test]
fn a_picture_is_not_replaced_by_a_text() {
    let screenshot = output("computer_call_output", r#"{"type":"computer_screenshot","image_url":"d"}"#);
    for (item, index) in [(0, 0), (1, 0), (2, 0), (3, 1), (9, 0)] {
        let body = body(&[USER, CALL, &screenshot, OUTPUT]);
        let place = result(item, index, Some("R"), &[]);
        assert_eq!(RESPONSES.lowered_or_refused(&body, &[place]), None, "{item} {index}");
    }
}

#[test]
fn outputs_are_read_and_an_approval_is_none() {
    let said =
        |item: &str| results(RESPONSES.path, &body(&[item]), 0).into_iter().map(|r| (r.id, r.text)).collect::<Vec<_>>();
    let c1 = |text: &str| vec![("c1".to_owned(), text.to_owned())];
    assert_eq!(said(OUTPUT), c1("r"));
    let shell = r#"[{"stdout":"1","stderr":"e","outcome":{}},{"stdout":"2","stderr":""}]"#;
    assert_eq!(said(&output("shell_call_output", shell)), c1("1\ne\n2"));
    assert_eq!(said(&output("local_shell_call_output", r#""{}""#)), c1("{}"));
    assert_eq!(said(&output("computer_call_output", "{}")), c1(""));
    assert_eq!(said(r#"{"type":"mcp_approval_response","approval_request_id":"a","approve":true}"#), []);
    assert_eq!(said(USER), []);
}
