use super::*;

/// Turns, each with the body's items.
fn items(cases: &[(&[&str], Value, &[&str])]) {
    for (before, edit, after) in cases {
        assert_eq!(RESPONSES.edited(&body(before), edit), Ok(body(after)), "{edit}: {before:?}");
    }
}

fn remove(which: Value) -> Value {
    json!({"op": "messages.remove", "match": which})
}

fn replace(which: Value) -> Value {
    json!({"op": "messages.replace", "match": which, "text": "n"})
}

const CALL2: &str = r#"{"type":"custom_tool_call","call_id":"c2","name":"g","input":"i"}"#;
const OUTPUT2: &str = r#"{"type":"custom_tool_call_output","call_id":"c2","output":"r2"}"#;
/// Reasoning that is kept by the provider.
const STORED: &str = r#"{"type":"reasoning","id":"rs_2","summary":[]}"#;

#[test]
fn system_text_goes_where_the_clients_own_is() {
    let op = |op: &str| json!({"op": op, "text": "x"});
    table(&[
        (r#"{"instructions":"s","input":"u"}"#, op("system.prepend"), r#"{"instructions":"x\n\ns","input":"u"}"#),
        (r#"{"input":"u"}"#, op("system.append"), r#"{"instructions":"x","input":"u"}"#),
        (r#"{"input":"u"}"#, op("system.replace"), r#"{"instructions":"x","input":"u"}"#),
        (
            r#"{"input":"u"}"#,
            op("messages.append"),
            r#"{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_text","text":"x"}]}]}"#,
        ),
        (
            &body(&[USER, CALL, OUTPUT]),
            op("messages.append"),
            &body(&[USER, CALL, r#"{"type":"function_call_output","call_id":"c1","output":"r\n\nx"}"#]),
        ),
    ]);
}

#[test]
fn one_text_stands_in_the_place_of_the_instructions() {
    let all = json!({"op": "system.replace", "text": "x"});
    let some = json!({"op": "system.replace", "text": "x", "match": "^d$"});
    let replaced = r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"x"}]}"#;
    table(&[
        (&body(&[DEVELOPER, TOOLS, DEVELOPER, USER]), all.clone(), &body(&[replaced, TOOLS, USER])),
        (
            &format!(r#"{{"input":[{DEVELOPER},{USER}],"instructions":"s"}}"#),
            all.clone(),
            &format!(r#"{{"input":[{USER}],"instructions":"x"}}"#),
        ),
        // An input without items is none.
        (&format!(r#"{{"input":[{DEVELOPER}],"instructions":"s"}}"#), all, &format!(r#"{{"input":[{replaced}]}}"#)),
        (
            &format!(r#"{{"input":[{DEVELOPER},{USER}],"instructions":"s"}}"#),
            some,
            &format!(r#"{{"input":[{replaced},{USER}],"instructions":"s"}}"#),
        ),
    ]);
}

#[test]
fn texts_of_the_user_and_of_tools_are_redacted() {
    let redact = json!({"op": "messages.redact", "pattern": "sk-\\w+", "with": "***"});
    table(&[(
        r#"{"input":"a sk-abc","instructions":"sk-abc"}"#,
        redact.clone(),
        r#"{"input":"a ***","instructions":"sk-abc"}"#,
    )]);
    let output = |kind: &str, output: &str| format!(r#"{{"type":"{kind}","call_id":"c1","output":{output}}}"#);
    for (kind, secret, clean) in [
        ("function_call_output", r#""\u0073k-abc""#, r#""***""#),
        (
            "function_call_output",
            r#"[{"type":"input_text","text":"sk-abc"}]"#,
            r#"[{"type":"input_text","text":"***"}]"#,
        ),
        ("custom_tool_call_output", r#""sk-abc""#, r#""***""#),
        ("local_shell_call_output", r#""{\"out\":\"sk-abc\"}""#, r#""{\"out\":\"***\"}""#),
        (
            "shell_call_output",
            r#"[{"stdout":"sk-abc","stderr":"sk-abc","outcome":{"type":"exit"}}]"#,
            r#"[{"stdout":"***","stderr":"***","outcome":{"type":"exit"}}]"#,
        ),
    ] {
        let (before, after) = (output(kind, secret), output(kind, clean));
        items(&[(&[CALL, &before], redact.clone(), &[CALL, &after])]);
    }
    let answer = ANSWER.replace(r#""a""#, r#""sk-abc""#);
    let reminder = r#"{"role":"user","content":[{"type":"input_text","text":"<reminder> sk-abc"}]}"#;
    let clean = r#"{"role":"user","content":[{"type":"input_text","text":"<reminder> ***"}]}"#;
    let reasoning = r#"{"type":"reasoning","encrypted_content":"sk-abc","summary":[]}"#;
    items(&[(&[reminder, reasoning, &answer], redact, &[clean, reasoning, &answer])]);
}

#[test]
fn calls_and_results_go_together() {
    items(&[
        (&[USER, CALL, OUTPUT, ANSWER, USER], remove(json!({"role": "tool"})), &[USER, ANSWER, USER]),
        (&[USER, CALL, CALL2, OUTPUT, OUTPUT2], remove(json!({"regex": "r2"})), &[USER, CALL, OUTPUT]),
        (&[USER, CALL, CALL2, OUTPUT, OUTPUT2], remove(json!({"role": "assistant"})), &[USER]),
        (&[USER, ANSWER, CALL, OUTPUT, USER], remove(json!({"index": 1})), &[USER, ANSWER, USER]),
        (&[TOOLS, DEVELOPER, USER, USER], remove(json!({"index": 1})), &[TOOLS, DEVELOPER, USER]),
        // All of an answer may go with its reasoning where that is not encrypted.
        (&[USER, STORED, CALL, OUTPUT], remove(json!({"role": "assistant"})), &[USER]),
        (
            &[
                USER,
                r#"{"type":"mcp_approval_request","id":"a1","name":"x"}"#,
                r#"{"type":"mcp_approval_response","approval_request_id":"a1","approve":true}"#,
            ],
            remove(json!({"role": "assistant"})),
            &[USER],
        ),
    ]);
}

#[test]
fn what_is_bound_to_what_stands_before_it_refuses() {
    let compaction = r#"{"type":"compaction","encrypted_content":"x"}"#;
    for (history, edit) in [
        (vec![USER, REASONING, CALL, OUTPUT], remove(json!({"role": "assistant"}))),
        (vec![USER, REASONING, CALL, OUTPUT], remove(json!({"role": "tool"}))),
        (vec![USER, REASONING, ANSWER, USER], replace(json!({"role": "assistant"}))),
        (vec![USER, STORED, CALL, OUTPUT], remove(json!({"role": "tool"}))),
        (vec![compaction, USER], remove(json!({"role": "assistant"}))),
    ] {
        let refused = RESPONSES.edited(&body(&history), &edit);
        assert!(matches!(refused, Err(EditError::Signed { .. })), "{edit}: {history:?} {refused:?}");
    }
    for (body, edit) in [
        (body(&[USER]), remove(json!({"role": "user"}))),
        (r#"{"input":"u"}"#.to_owned(), remove(json!({"regex": "u"}))),
        (body(&[USER, ANSWER, USER]), remove(json!({"index": 0}))),
        // The call stands in what the provider holds.
        (format!(r#"{{"previous_response_id":"r","input":[{OUTPUT},{USER}]}}"#), remove(json!({"role": "tool"}))),
    ] {
        let refused = RESPONSES.edited(&body, &edit);
        assert!(matches!(refused, Err(EditError::Missing { .. })), "{edit}: {body} {refused:?}");
    }
}

#[test]
fn a_replaced_text_leaves_calls_and_results() {
    let note =
        r#"{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"b"}]}"#;
    let answer = ANSWER.replace(r#""a""#, r#""n""#);
    let new = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"n"}]}"#;
    let output = OUTPUT.replace(r#""r""#, r#""n""#);
    items(&[
        (&[USER, ANSWER, note, CALL, OUTPUT], replace(json!({"role": "assistant"})), &[USER, &answer, CALL, OUTPUT]),
        (&[USER, CALL, OUTPUT], replace(json!({"role": "assistant"})), &[USER, new, CALL, OUTPUT]),
        (&[USER, CALL, OUTPUT], replace(json!({"role": "tool"})), &[USER, CALL, &output]),
    ]);
    table(&[(r#"{"input":"u"}"#, replace(json!({"index": 0})), r#"{"input":"n"}"#)]);
    let shell = r#"{"type":"shell_call_output","call_id":"c1","output":[{"stdout":"x"}]}"#;
    let refused = RESPONSES.edited(&body(&[USER, CALL, shell]), &replace(json!({"role": "tool"})));
    assert!(matches!(refused, Err(EditError::Unknown { .. })), "{refused:?}");
}
