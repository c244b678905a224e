use super::PATH;
use crate::dialect::testing::{lower, result, results, tail};
use crate::dialect::{LowerError, ToolResult};

fn body(blocks: &str) -> String {
    format!(
        r#"{{"messages":[{{"role":"user","content":"q"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"n","input":{{}}}},{{"type":"tool_use","id":"b","name":"n","input":{{}}}}]}},{{"role":"user","content":[{blocks}]}}]}}"#
    )
}

/// A result with these members behind its id.
fn block(id: &str, members: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"{id}"{members}}}"#)
}

#[test]
fn text_goes_in_the_place_of_a_results_own_and_behind_it() {
    let (marker, t) =
        (r#""cache_control":{"type":"ephemeral"}"#, |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#));
    let cases: &[(String, Option<&str>, &[&str], String)] = &[
        (r#","content":"1""#.into(), Some("R"), &[], r#","content":"R""#.into()),
        (r#","content":"1","is_error":true"#.into(), Some("R\n"), &[], r#","content":"R\n","is_error":true"#.into()),
        (r#","content":"1""#.into(), Some("R"), &["A"], format!(r#","content":[{},{}]"#, t("R"), t("A"))),
        (
            r#","content":"1""#.into(),
            None,
            &["A", " ", "B"],
            format!(r#","content":[{},{},{}]"#, t("1"), t("A"), t("B")),
        ),
        (
            format!(r#","content":[{},{{"type":"image","source":{{}}}}]"#, t("1")),
            Some("R"),
            &[],
            format!(r#","content":[{}]"#, t("R")),
        ),
        (
            format!(r#","content":[{{"type":"text","text":"1",{marker}}}]"#),
            Some("R"),
            &[],
            format!(r#","content":[{{"type":"text","text":"R",{marker}}}]"#),
        ),
        (r#","content":null"#.into(), Some("R"), &[], r#","content":"R""#.into()),
        (String::new(), Some("R"), &[], r#","content":"R""#.into()),
        (String::new(), None, &["A"], format!(r#","content":[{}]"#, t("A"))),
        // No empty block; an empty string is a content.
        (format!(r#","content":[{}]"#, t("1")), Some(""), &[], r#","content":"""#.into()),
        (r#","content":"1""#.into(), Some(" "), &["A"], format!(r#","content":[{}]"#, t("A"))),
        (r#","content":"1""#.into(), None, &[], r#","content":"1""#.into()),
    ];
    for (before, replace, append, after) in cases {
        let around = |middle: String| {
            body(&[block("a", r#","content":"0""#), middle, r#"{"type":"text","text":"wait"}"#.into()].join(","))
        };
        let lowered = lower(PATH, &around(block("b", before)), &[result(2, 1, *replace, append)]).unwrap();
        assert_eq!(lowered, around(block("b", after)), "{before}");
    }
}

#[test]
fn each_result_has_its_own_and_the_steps_text_is_behind_the_last() {
    let places = [result(2, 0, Some("R"), &["A"]), result(2, 1, Some("S"), &["B"]), tail(2, "T")];
    let before = body(&[block("a", r#","content":"1""#), block("b", r#","content":"2""#)].join(","));
    insta::assert_snapshot!(lower(PATH, &before, &places).unwrap(), @r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"tool_use","id":"b","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"R"},{"type":"text","text":"A"}]},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"S"},{"type":"text","text":"B"},{"type":"text","text":"T"}]}]}]}"#);
    for (item, index) in [(0, 0), (1, 0), (2, 2), (9, 0)] {
        let refused = lower(PATH, &before, &[result(item, index, Some("R"), &[])]);
        assert_eq!(refused, Err(LowerError::NoPlace { item }), "{item} {index}");
    }
}

/// The reply may hold nothing but results then; what stands inside of one is its own affair.
#[test]
fn a_result_changes_also_where_the_server_waits() {
    let body = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"w","input":{}},{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]}]}"#;
    assert_eq!(lower(PATH, body, &[result(2, 0, Some("R"), &[])]).unwrap(), body.replace(r#""1""#, r#""R""#));
}

#[test]
fn results_are_read_in_order() {
    let texts = r#","content":[{"type":"text","text":"1"},{"type":"image","source":{}},{"type":"text","text":"2"}],"is_error":true"#;
    let before = body(&[block("a", texts), block("b", "")].join(","));
    let read =
        |id: &str, text: &str, is_error| ToolResult { id: id.into(), name: String::new(), text: text.into(), is_error };
    assert_eq!(results(PATH, &before, 2), [read("a", "1\n2", true), read("b", "", false)]);
    assert_eq!(results(PATH, &before, 0), []);
}
