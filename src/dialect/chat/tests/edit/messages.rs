use super::*;

/// Turns, each with the body's messages in front.
fn messages(cases: &[(&str, Value, &str)]) {
    for (before, edit, after) in cases {
        assert_eq!(CHAT.edited(&body(before), edit), Ok(body(after)), "{edit}: {before}");
    }
}

fn remove(which: Value) -> Value {
    json!({"op": "messages.remove", "match": which})
}

fn replace(which: Value) -> Value {
    json!({"op": "messages.replace", "match": which, "text": "n\""})
}

const SYSTEM: &str = r#"{"role":"system","content":"s"}"#;
const USER: &str = r#"{"role":"user","content":"u"}"#;
const RESULT: &str = r#"{"role":"tool","tool_call_id":"c","content":"r"}"#;

#[test]
fn a_message_whose_text_went_elsewhere_keeps_its_calls() {
    let said = r#"{"role":"assistant","content":"first"}"#;
    let with = |content: &str| CALL.replace(r#""content":"a""#, &format!(r#""content":{content}"#));
    let history = |said: &str, called: &str| format!("{USER},{said},{called},{RESULT}");
    let after = history(r#"{"role":"assistant","content":"n\""}"#, &with("null"));
    for content in [r#""b""#, r#"[{"type":"text","text":"b"}]"#] {
        messages(&[(&history(said, &with(content)), replace(json!({"role": "assistant"})), &after)]);
    }
}

#[test]
fn system_text_goes_where_the_clients_own_is() {
    let op = |op: &str| json!({"op": op, "text": "x"});
    messages(&[
        (SYSTEM, op("system.prepend"), r#"{"role":"system","content":"x\n\ns"}"#),
        (SYSTEM, op("system.append"), r#"{"role":"system","content":"s\n\nx"}"#),
        (USER, op("system.append"), &format!(r#"{{"role":"system","content":"x"}},{USER}"#)),
        (USER, op("system.replace"), &format!(r#"{{"role":"system","content":"x"}},{USER}"#)),
        (USER, op("messages.append"), r#"{"role":"user","content":"u\n\nx"}"#),
        (
            &format!("{USER},{CALL},{RESULT}"),
            op("messages.append"),
            &format!(r#"{USER},{CALL},{{"role":"tool","tool_call_id":"c","content":"r\n\nx"}}"#),
        ),
    ]);
    assert!(CHAT.edited(&body(CALL), &op("messages.append")).is_err());
}

#[test]
fn one_text_stands_in_the_place_of_the_instructions() {
    let all = json!({"op": "system.replace", "text": "x"});
    let some = json!({"op": "system.replace", "text": "x", "match": "^You are"});
    messages(&[
        (
            &format!(r#"{SYSTEM}, {{"role":"developer","content":"d"}},{USER}"#),
            all.clone(),
            &format!(r#"{{"role":"system","content":"x"}},{USER}"#),
        ),
        (
            r#"{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{}}]}"#,
            all,
            r#"{"role":"system","content":[{"type":"text","text":"x","cache_control":{}}]}"#,
        ),
        (
            r#"{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"You are\n b"}]},{"role":"user","content":"You are"}"#,
            some.clone(),
            r#"{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"x"}]},{"role":"user","content":"You are"}"#,
        ),
        (SYSTEM, some.clone(), SYSTEM),
        (USER, some, USER),
    ]);
}

#[test]
fn texts_of_the_user_and_of_tools_are_redacted() {
    let redact = json!({"op": "messages.redact", "pattern": "sk-(\\w)\\w+", "with": "[$1]"});
    messages(&[
        (
            r#"{"role":"user","content":"a sk-abc\n\u0073k-xyz"}"#,
            redact.clone(),
            r#"{"role":"user","content":"a [a]\n[x]"}"#,
        ),
        (
            r#"{"role":"user","content":[{"type":"text", "text":"<reminder> sk-abc"},{"type":"image_url","image_url":{"url":"sk-abc"}}]}"#,
            redact.clone(),
            r#"{"role":"user","content":[{"type":"text", "text":"<reminder> [a]"},{"type":"image_url","image_url":{"url":"sk-abc"}}]}"#,
        ),
        (
            r#"{"role":"tool","tool_call_id":"sk-abc","content":[{"type":"text","text":"sk-abc"}]},{"role":"function","name":"f","content":"sk-abc"}"#,
            redact.clone(),
            r#"{"role":"tool","tool_call_id":"sk-abc","content":[{"type":"text","text":"[a]"}]},{"role":"function","name":"f","content":"[a]"}"#,
        ),
        // One part, as some compatible servers take it.
        (
            r#"{"role":"user","content":{"type":"text","text":"sk-abc"}}"#,
            redact.clone(),
            r#"{"role":"user","content":{"type":"text","text":"[a]"}}"#,
        ),
        (
            r#"{"role":"system","content":"sk-abc"},{"role":"assistant","content":"sk-abc"},{"role":"user","content":"sk"}"#,
            redact,
            r#"{"role":"system","content":"sk-abc"},{"role":"assistant","content":"sk-abc"},{"role":"user","content":"sk"}"#,
        ),
    ]);
}

#[test]
fn calls_and_results_go_together() {
    let two = |calls: &str| format!(r#"{{"role":"assistant","content":null,"tool_calls":[{calls}]}}"#);
    let call = |id: &str| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#);
    let result = |id: &str, text: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#);
    let both = two(&format!("{},{}", call("a"), call("b")));
    let (a, b) = (result("a", "ra"), result("b", "rb"));
    messages(&[
        (
            &format!("{SYSTEM},{USER},{CALL},{RESULT}"),
            remove(json!({"role": "assistant"})),
            &format!("{SYSTEM},{USER}"),
        ),
        // The call of a removed result goes; what the model said beside it stays.
        (
            &format!("{USER},{CALL},{RESULT},{USER}"),
            remove(json!({"role": "tool"})),
            &format!(r#"{USER},{{"role":"assistant","content":"a"}},{USER}"#),
        ),
        (&format!("{USER},{both},{a},{b}"), remove(json!({"role": "tool"})), USER),
        (
            &format!("{USER},{both},{a},{b}"),
            remove(json!({"regex": "^ra$"})),
            &format!("{USER},{},{b}", two(&call("b"))),
        ),
        (&format!("{USER},{both},{a},{b}"), remove(json!({"index": 0})), &format!("{USER},{},{a}", two(&call("a")))),
        // Ids that a server counts anew: the nearest call is the one.
        (
            &format!("{USER},{},{a},{USER},{},{}", two(&call("a")), two(&call("a")), result("a", "z")),
            remove(json!({"regex": "z"})),
            &format!("{USER},{},{a},{USER}", two(&call("a"))),
        ),
        // The old form.
        (
            &format!(
                r#"{USER},{{"role":"assistant","content":"t","function_call":{{"name":"f","arguments":"{{}}"}}}},{{"role":"function","name":"f","content":"r"}},{USER}"#
            ),
            remove(json!({"role": "tool"})),
            &format!(r#"{USER},{{"role":"assistant","content":"t"}},{USER}"#),
        ),
    ]);
}

#[test]
fn messages_are_counted_from_the_end() {
    let system = r#"{"role":"system","content":"late"}"#;
    let history = format!("{SYSTEM},{USER},{system},{USER}");
    messages(&[
        (&history, remove(json!({"index": 1})), &format!("{SYSTEM},{USER},{USER}")),
        (&history, remove(json!({"index": 2, "role": "user"})), &format!("{SYSTEM},{system},{USER}")),
        (&history, remove(json!({"role": "system"})), &format!("{SYSTEM},{USER},{USER}")),
        (&history, remove(json!({"index": 3})), &history),
    ]);
    let refused = CHAT.edited(&body(&format!("{SYSTEM},{USER}")), &remove(json!({"role": "user"})));
    assert_eq!(refused, Err(EditError::Missing { what: "prompt or result that would be left at the end".to_owned() }));
}

#[test]
fn a_replaced_text_leaves_calls_results_and_images() {
    let all = || replace(json!({"regex": ""}));
    messages(&[
        (USER, all(), r#"{"role":"user","content":"n\""}"#),
        (
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"d"}},{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
            all(),
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"d"}},{"type":"text","text":"n\""}]}"#,
        ),
        (
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"d"}}]}"#,
            all(),
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"d"}},{"type":"text","text":"n\""}]}"#,
        ),
        (
            r#"{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"c","content":"r"}"#,
            all(),
            r#"{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f"}}],"content":"n\""},{"role":"tool","tool_call_id":"c","content":"n\""}"#,
        ),
        (
            r#"{"role":"user","content":"u"},{"role":"assistant","content":null,"refusal":"no"}"#,
            replace(json!({"role": "assistant"})),
            r#"{"role":"user","content":"u"},{"role":"assistant","content":"n\"","refusal":null}"#,
        ),
    ]);
}
