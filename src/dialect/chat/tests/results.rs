use super::{CALL, CHAT, body};
use crate::dialect::ToolResult;
use crate::dialect::testing::{result, results, tail};

fn with(tool: &str) -> String {
    body(&format!(r#"{{"role":"user","content":"u"}},{CALL},{tool}"#))
}

fn tool(content: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"c","content":{content}}}"#)
}

#[test]
fn text_goes_in_the_place_of_the_tools_own_and_behind_it() {
    let cases: &[(&str, Option<&str>, &[&str], &str)] = &[
        (r#""1""#, Some("R\n"), &[], r#""R\n""#),
        (r#""1""#, Some("R"), &["A", " ", "B"], r#""R\n\nA\n\nB""#),
        (r#""1""#, None, &["A"], r#""1\n\nA""#),
        (r#"null"#, Some("R"), &[], r#""R""#),
        (r#""1""#, Some(""), &[], r#""""#),
        (r#""1""#, Some(""), &["A"], r#""A""#),
        (
            r#"[{"type":"text","text":"1"},{"type":"text","text":"2"}]"#,
            Some("R"),
            &["A"],
            r#"[{"type":"text","text":"R"},{"type":"text","text":"A"}]"#,
        ),
        (
            r#"[{"type":"text","text":"1","cache_control":{"type":"ephemeral"}},{"type":"text","text":"2"}]"#,
            Some("R}"),
            &[],
            r#"[{"type":"text","text":"R}","cache_control":{"type":"ephemeral"}}]"#,
        ),
        (r#"[]"#, Some("R"), &[], r#"[{"type":"text","text":"R"}]"#),
        (r#"[{"type":"text","text":"1"}]"#, Some(""), &[], r#""""#),
        (r#"[{"type":"text","text":"1"}]"#, None, &["A"], r#"[{"type":"text","text":"1"},{"type":"text","text":"A"}]"#),
    ];
    for (before, replace, append, after) in cases {
        let lowered = CHAT.lowered(&with(&tool(before)), &[result(2, 0, *replace, append)]);
        assert_eq!(lowered, with(&tool(after)), "{before}");
    }
    let both = [result(2, 0, Some("R"), &["A"]), tail(2, "T")];
    assert_eq!(CHAT.lowered(&with(&tool(r#""1""#)), &both), with(&tool(r#""R\n\nA\n\nT""#)));
}

#[test]
fn only_a_tool_message_has_a_result() {
    let body = with(&tool(r#""1""#));
    for (item, index) in [(0, 0), (1, 0), (2, 1), (9, 0)] {
        assert_eq!(CHAT.lowered_or_refused(&body, &[result(item, index, Some("R"), &[])]), None, "{item} {index}");
    }
}

#[test]
fn results_are_read_with_their_ids_or_functions() {
    let read =
        |id: &str, name: &str| ToolResult { id: id.into(), name: name.into(), text: "1".into(), is_error: false };
    assert_eq!(results(CHAT.path, &with(&tool(r#""1""#)), 2), [read("c", "")]);
    assert_eq!(results(CHAT.path, &with(r#"{"role":"function","name":"f","content":"1"}"#), 2), [read("", "f")]);
    assert_eq!(results(CHAT.path, &with(&tool(r#""1""#)), 0), []);
}
