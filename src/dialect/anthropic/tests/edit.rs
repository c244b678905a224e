use super::PATH;
use crate::dialect::edit_testing::{edited, roster};
use crate::dialect::{EditError, LowerError};
use serde_json::{Value, json};

/// What an edit makes of a body, or why it does not.
fn edit(body: &str, edit: Value) -> String {
    edited(PATH, body, &edit).unwrap_or_else(|error| error.to_string())
}

#[test]
fn instructions_are_replaced_in_their_type() {
    let all = json!({"op": "system.replace", "text": "N"});
    let some = json!({"op": "system.replace", "text": "N", "match": "^b"});
    let cases = [
        (&all, r#"{"system":"S","x":1.0}"#, r#"{"system":"N","x":1.0}"#),
        (&all, r#"{"x":1}"#, r#"{"x":1,"system":"N"}"#),
        (&all, r#"{"system":null}"#, r#"{"system":"N"}"#),
        (&all, r#"{"system":[]}"#, r#"{"system":[{"type":"text","text":"N"}]}"#),
        (
            &all,
            r#"{"system":[{"type":"text","text":"a"}, {"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}"#,
            r#"{"system":[{"type":"text","text":"N","cache_control":{"type":"ephemeral"}}]}"#,
        ),
        (
            &some,
            r#"{"system":[ {"type":"text","text":"\u0061"} , {"type":"text","text":"\u0062","cache_control":{"ttl": "1h"}} ]}"#,
            r#"{"system":[ {"type":"text","text":"\u0061"} , {"type":"text","text":"N","cache_control":{"ttl": "1h"}} ]}"#,
        ),
        (&some, r#"{"system":"b"}"#, r#"{"system":"N"}"#),
        (&some, r#"{"system":"ab"}"#, r#"{"system":"ab"}"#),
        (&some, r#"{"x":1}"#, r#"{"x":1}"#),
    ];
    for (op, body, expected) in cases {
        assert_eq!(edit(body, op.clone()), expected, "{body}");
    }
}

const STEP: &str = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"said"},{"type":"tool_use","id":"a","name":"n","input":{"q":1.0}},{"type":"tool_use","id":"b","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"q1"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"q2"},{"type":"image","source":{}}]},{"type":"text","text":"q3"}]}]}"#;

#[test]
fn text_is_appended_where_the_model_reads_on() {
    let append = json!({"op": "messages.append", "text": "N"});
    insta::assert_snapshot!(edit(r#"{"messages":[{"role":"user","content":"q"}]}"#, append.clone()), @r#"{"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"text","text":"N"}]}]}"#);
    assert!(edit(STEP, append.clone()).contains(r#"{"type":"image","source":{}},{"type":"text","text":"N"}]}"#));
    let prefill = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"{"}]}"#;
    let refused = edited(PATH, prefill, &append);
    assert_eq!(refused, Err(EditError::Place(LowerError::NoPlace { item: 1 })));
}

#[test]
fn only_what_the_user_and_the_tools_say_is_redacted() {
    let redact = json!({"op": "messages.redact", "pattern": "q([0-9]?)", "with": "<$1>"});
    insta::assert_snapshot!(edit(STEP, redact), @r#"{"messages":[{"role":"user","content":"<>"},{"role":"assistant","content":[{"type":"text","text":"said"},{"type":"tool_use","id":"a","name":"n","input":{"q":1.0}},{"type":"tool_use","id":"b","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"<1>"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"<2>"},{"type":"image","source":{}}]},{"type":"text","text":"<3>"}]}]}"#);
    let body = r#"{"messages":[{"role":"user","content":[{"type":"document","title":"q","source":{"type":"text","media_type":"text/plain","data":"a q"}},{"type":"tool_result","tool_use_id":"t","content":[{"type":"search_result","title":"q","source":"q","content":[{"type":"text","text":"q"}]},{"type":"document","source":{"type":"content","content":"\u0071"}}]},{"type":"image","source":{"data":"q"}}]}]}"#;
    insta::assert_snapshot!(edit(body, json!({"op": "messages.redact", "pattern": "q", "with": "*"})), @r#"{"messages":[{"role":"user","content":[{"type":"document","title":"*","source":{"type":"text","media_type":"text/plain","data":"a *"}},{"type":"tool_result","tool_use_id":"t","content":[{"type":"search_result","title":"*","source":"*","content":[{"type":"text","text":"*"}]},{"type":"document","source":{"type":"content","content":"*"}}]},{"type":"image","source":{"data":"q"}}]}]}"#);
}

fn remove(which: Value) -> Value {
    json!({"op": "messages.remove", "match": which})
}

#[test]
fn calls_and_results_go_together() {
    let body = STEP.replace(
        r#"[{"role":"user","content":"q"}"#,
        r#"[{"role":"user","content":"p"},{"role":"assistant","content":"o"},{"role":"user","content":"q"}"#,
    );
    let without_step = r#"{"messages":[{"role":"user","content":"p"},{"role":"assistant","content":"o"},{"role":"user","content":"q"}]}"#;
    assert_eq!(edit(&body, remove(json!({"role": "tool"}))), without_step);
    insta::assert_snapshot!(edit(&body, remove(json!({"index": 1}))), @r#"{"messages":[{"role":"user","content":"p"},{"role":"assistant","content":"o"},{"role":"user","content":"q"},{"role":"user","content":[{"type":"text","text":"q3"}]}]}"#);
    let bare = body.replace(r#",{"type":"text","text":"q3"}"#, "");
    assert_eq!(edit(&bare, remove(json!({"regex": "^said"}))), without_step);
    assert_eq!(edit(&body, remove(json!({"regex": "nowhere"}))), body);
}

#[test]
fn what_can_not_be_left_out_is_refused() {
    let signed =
        STEP.replace(r#"{"type":"text","text":"said"}"#, r#"{"type":"thinking","thinking":"","signature":"c2ln"}"#);
    for which in [json!({"index": 1}), json!({"index": 0})] {
        assert_eq!(edited(PATH, &signed, &remove(which)), Err(EditError::Signed { index: 1 }));
    }
    let single = r#"{"messages":[{"role":"user","content":"q"}]}"#;
    assert!(edited(PATH, single, &remove(json!({"index": 0}))).is_err(), "no message would be left");
    let two = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"r"}]}"#;
    assert!(edited(PATH, two, &remove(json!({"index": 0}))).is_err(), "it would end with an answer");
    let thread = r#"{"thread":{"type":"continue","previous_message_id":"m"},"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]},{"role":"user","content":"q"}]}"#;
    assert!(edited(PATH, thread, &remove(json!({"role": "tool"}))).is_err(), "its call is with the provider");
}

#[test]
fn instructions_among_the_messages_find_a_legal_place() {
    let body = r#"{"messages":[{"role":"user","content":"1"},{"role":"system","content":"S"},{"role":"assistant","content":"2"},{"role":"user","content":"3"}]}"#;
    let moved = r#"{"messages":[{"role":"user","content":"3"},{"role":"system","content":"S"}]}"#;
    insta::assert_snapshot!(edit(body, remove(json!({"regex": "1"}))), @r#"{"messages":[{"role":"assistant","content":"2"},{"role":"user","content":"3"},{"role":"system","content":"S"}]}"#);
    assert_eq!(edit(body, remove(json!({"regex": "1|2"}))), moved);
    insta::assert_snapshot!(edit(body, remove(json!({"regex": "2"}))), @r#"{"messages":[{"role":"user","content":"1"},{"role":"user","content":"3"},{"role":"system","content":"S"}]}"#);
    insta::assert_snapshot!(edit(body, remove(json!({"role": "system"}))), @r#"{"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":"3"}]}"#);
}

#[test]
fn a_message_says_another_text() {
    let replace = |which: Value| json!({"op": "messages.replace", "match": which, "text": "N"});
    insta::assert_snapshot!(edit(STEP, replace(json!({"role": "tool"}))), @r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"said"},{"type":"tool_use","id":"a","name":"n","input":{"q":1.0}},{"type":"tool_use","id":"b","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"N"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"N"},{"type":"image","source":{}}]}]}]}"#);
    insta::assert_snapshot!(edit(STEP, replace(json!({"role": "assistant"}))), @r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"N"},{"type":"tool_use","id":"a","name":"n","input":{"q":1.0}},{"type":"tool_use","id":"b","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"q1"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"q2"},{"type":"image","source":{}}]},{"type":"text","text":"q3"}]}]}"#);
    let cases = [
        (r#"{"messages":[{"role":"user","content":"q"}]}"#, r#"{"messages":[{"role":"user","content":"N"}]}"#),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"N","cache_control":{"type":"ephemeral"}},{"type":"image","source":{}}]}]}"#,
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"N"}]}]}"#,
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(edit(body, replace(json!({"index": 0}))), expected, "{body}");
    }
    let run = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"r"}]}"#;
    insta::assert_snapshot!(edit(run, replace(json!({"role": "assistant"}))), @r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"N"},{"role":"user","content":"r"}]}"#);
}

const TOOLS: &str = r#"{"tools":[{"name":"Read","input_schema":{"type":"object"}}, {"name":"B\u0061sh","description":"d","input_schema":{},"cache_control":{"type":"ephemeral"}} , {"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool","name":"Bash","disable_parallel_tool_use":true},"x":1.0}"#;

#[test]
fn a_tool_that_is_gone_is_gone_everywhere() {
    insta::assert_snapshot!(edit(TOOLS, json!({"op": "tools.remove", "names": "Bash"})), @r#"{"tools":[{"name":"Read","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}} , {"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true},"x":1.0}"#);
    insta::assert_snapshot!(edit(TOOLS, json!({"op": "tools.keep", "names": ["Ba??", "none"]})), @r#"{"tools":[{"name":"B\u0061sh","description":"d","input_schema":{},"cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"tool","name":"Bash","disable_parallel_tool_use":true},"x":1.0}"#);
    insta::assert_snapshot!(edit(TOOLS, json!({"op": "tools.remove", "names": "web_search_2*"})), @r#"{"tools":[{"name":"Read","input_schema":{"type":"object"}}, {"name":"B\u0061sh","description":"d","input_schema":{},"cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"tool","name":"Bash","disable_parallel_tool_use":true},"x":1.0}"#);
    assert_eq!(edit(TOOLS, json!({"op": "tools.remove", "names": "*"})), r#"{"x":1.0}"#);
    assert_eq!(edit(TOOLS, json!({"op": "tools.remove", "names": "ash"})), TOOLS);
    let escaped = TOOLS.replace("\"tools\"", "\"to\\u006fls\"");
    assert_eq!(edit(&escaped, json!({"op": "tools.keep", "names": "none"})), r#"{"x":1.0}"#);
}

#[test]
fn a_marker_does_not_go_to_a_tool_that_is_loaded_later() {
    let body = r#"{"tools":[{"name":"a"},{"name":"b","defer_loading":true},{"name":"c","cache_control":{"type":"ephemeral"}},{"name":"d"}]}"#;
    insta::assert_snapshot!(edit(body, json!({"op": "tools.remove", "names": "c"})), @r#"{"tools":[{"name":"a","cache_control":{"type":"ephemeral"}},{"name":"b","defer_loading":true},{"name":"d"}]}"#);
}

#[test]
fn tools_that_come_with_the_messages_go_too() {
    let addition = |tool: &str| format!(r#"{{"type":"tool_addition","tool":{tool}}}"#);
    let named = addition(r#"{"type":"tool_reference","name":"Bash"}"#);
    let defined = addition(r#"{"type":"tool_definition","definition":{"name":"Bash","input_schema":{}}}"#);
    let other = addition(r#"{"type":"tool_reference","name":"Read"}"#);
    let body = |blocks: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":"q"}},{{"role":"system","content":[{blocks}]}},{{"role":"assistant","content":[{{"type":"tool_use","id":"s","name":"ToolSearch","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"s","content":[{{"type":"tool_reference","tool_name":"Bash"}},{{"type":"tool_reference","tool_name":"Read"}}]}}]}}]}}"#
        )
    };
    let no_bash = json!({"op": "tools.remove", "names": "Bash"});
    insta::assert_snapshot!(edit(&body(&format!("{named},{other},{defined}")), no_bash.clone()), @r#"{"messages":[{"role":"user","content":"q"},{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"Read"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"s","name":"ToolSearch","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"s","content":[{"type":"tool_reference","tool_name":"Read"}]}]}]}"#);
    insta::assert_snapshot!(edit(&body(&defined), no_bash), @r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"s","name":"ToolSearch","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"s","content":[{"type":"tool_reference","tool_name":"Read"}]}]}]}"#);
    assert_eq!(roster(PATH, &body(&defined)), Some(vec!["Bash".to_owned()]));
}

#[test]
fn tools_are_described_replaced_and_added() {
    insta::assert_snapshot!(edit(TOOLS, json!({"op": "tools.describe", "name": "Bash", "text": "N"})), @r#"{"tools":[{"name":"Read","input_schema":{"type":"object"}}, {"name":"B\u0061sh","description":"N","input_schema":{},"cache_control":{"type":"ephemeral"}} , {"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool","name":"Bash","disable_parallel_tool_use":true},"x":1.0}"#);
    insta::assert_snapshot!(edit(TOOLS, json!({"op": "tools.replace", "name": "Bash", "tool": {"name": "Shell"}})), @r#"{"tools":[{"name":"Read","input_schema":{"type":"object"}}, {"name":"Shell","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}} , {"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool","name":"Shell","disable_parallel_tool_use":true},"x":1.0}"#);
    let add = json!({"op": "tools.add", "tool": {"name": "N", "description": "d", "input_schema": {"type": "object"}}});
    insta::assert_snapshot!(edit(r#"{"x":1}"#, add.clone()), @r#"{"x":1,"tools":[{"name":"N","description":"d","input_schema":{"type":"object"}}]}"#);
    insta::assert_snapshot!(edit(r#"{"tools":[{"name":"a"}]}"#, add), @r#"{"tools":[{"name":"a"},{"name":"N","description":"d","input_schema":{"type":"object"}}]}"#);
    let refused = [
        (json!({"op": "tools.describe", "name": "no", "text": "N"}), r#"there is no tool "no""#),
        (
            json!({"op": "tools.describe", "name": "web_search", "text": "N"}),
            "anthropic knows no description of a built-in tool",
        ),
        (json!({"op": "tools.replace", "name": "no", "tool": {"name": "N"}}), r#"there is no tool "no""#),
        (json!({"op": "tools.replace", "name": "Read", "tool": {"name": "Bash"}}), r#"there is a tool "Bash" already"#),
        (json!({"op": "tools.add", "tool": {"name": "Bash"}}), r#"there is a tool "Bash" already"#),
    ];
    for (op, error) in refused {
        assert_eq!(edit(TOOLS, op), error);
    }
}

#[test]
fn a_choice_is_written_in_the_native_form() {
    let choice = |choice: &str| {
        edit(
            r#"{"tools":[{"name":"a"}],"tool_choice":{"type":"any","disable_parallel_tool_use":true}}"#,
            json!({"op": "tool_choice.set", "choice": choice}),
        )
    };
    let cases = [
        ("auto", r#"{"type":"auto","disable_parallel_tool_use":true}"#),
        ("required", r#"{"type":"any","disable_parallel_tool_use":true}"#),
        ("none", r#"{"type":"none"}"#),
        ("a", r#"{"type":"tool","disable_parallel_tool_use":true,"name":"a"}"#),
    ];
    for (name, expected) in cases {
        assert_eq!(choice(name), format!(r#"{{"tools":[{{"name":"a"}}],"tool_choice":{expected}}}"#));
    }
    assert_eq!(choice("b"), r#"there is no tool "b""#);
    assert_eq!(edit("{}", json!({"op": "tool_choice.set", "choice": "none"})), "there is no tool");
    insta::assert_snapshot!(edit(r#"{"tools":[{"name":"a"}]}"#, json!({"op": "tool_choice.set", "choice": "a"})), @r#"{"tools":[{"name":"a"}],"tool_choice":{"name":"a","type":"tool"}}"#);
}

#[test]
fn parameters_have_native_names() {
    let all = json!({"op": "params.set", "max_tokens": 9, "temperature": 0.5, "top_p": 0.1, "stop": ["x"], "reasoning_effort": "low", "response_format": {"type": "json_schema", "schema": {"type": "object"}}, "native": {"metadata": {"a": 1}}});
    insta::assert_snapshot!(edit(r#"{"max_tokens": 1.0,"output_config":{"effort":"high"},"output_format":{}}"#, all), @r#"{"max_tokens": 9,"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}},"temperature":0.5,"top_p":0.1,"stop_sequences":["x"],"metadata":{"a":1}}"#);
    let clamp = json!({"op": "params.clamp", "max_tokens": 100, "temperature": 0.5, "native": {"top_k": 5}});
    let cases = [
        (r#"{"max_tokens":200,"temperature":1,"top_k":9}"#, r#"{"max_tokens":100,"temperature":0.5,"top_k":5}"#),
        (r#"{"max_tokens":50,"temperature":0.2}"#, r#"{"max_tokens":50,"temperature":0.2}"#),
        ("{}", r#"{"max_tokens":100}"#),
    ];
    for (body, expected) in cases {
        assert_eq!(edit(body, clamp.clone()), expected);
    }
    let remove = json!({"op": "params.remove", "names": ["temperature", "reasoning_effort"]});
    assert_eq!(edit(r#"{"temperature":1,"output_config":{"effort":"low"}}"#, remove), r#"{"output_config":{}}"#);
    assert!(edited(PATH, r#"{"max_tokens":1}"#, &json!({"op": "params.remove", "names": ["max_tokens"]})).is_err());
}

#[test]
fn thinking_stays_below_the_limit() {
    let body = r#"{"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":4000}}"#;
    let clamp = |limit: u64| edit(body, json!({"op": "params.clamp", "max_tokens": limit}));
    assert_eq!(clamp(5000), r#"{"max_tokens":5000,"thinking":{"type":"enabled","budget_tokens":4000}}"#);
    assert_eq!(clamp(4000), r#"{"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":3999}}"#);
    assert_eq!(clamp(1024), r#"{"max_tokens":1024}"#);
    assert_eq!(clamp(9000), body);
}

#[test]
fn a_patch_is_for_its_own_dialect() {
    let patch = |dialect: &str| json!({"op": "native", "dialect": dialect, "patch": [{"op": "test", "path": "/a", "value": 1}, {"op": "add", "path": "/b~1c", "value": [1]}]});
    assert_eq!(edit(r#"{"a":1.0}"#, patch("anthropic")), r#"{"a":1.0,"b/c":[1]}"#);
    assert_eq!(edit(r#"{"a":1.0}"#, patch("gemini")), r#"{"a":1.0}"#);
    assert_eq!(edit(r#"{"a":2}"#, patch("anthropic")), r#"patch step 0: the value at "/a" is another one"#);
}

#[test]
fn a_batch_is_not_looked_into_and_a_count_has_no_parameters() {
    let append = json!({"op": "system.append", "text": "N"});
    assert!(edited("/v1/messages/batches", r#"{"requests":[]}"#, &append).is_err());
    assert_eq!(roster("/v1/messages/batches", r#"{"requests":[]}"#), None);
    let clamp = json!({"op": "params.clamp", "max_tokens": 1});
    assert_eq!(edited("/v1/messages/count_tokens", "{}", &clamp).as_deref(), Ok("{}"));
}

#[test]
fn the_roster_is_known_where_all_tools_have_names() {
    let names = |list: &[&str]| Some(list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(roster(PATH, TOOLS), names(&["Read", "Bash", "web_search"]));
    assert_eq!(roster(PATH, "{}"), names(&[]));
    for body in [
        r#"{"mcp_servers":[{"name":"s"}]}"#,
        r#"{"tools":[{"type":"mcp_toolset","mcp_server_name":"s"}]}"#,
        r#"{"tools":[{"type":"computer_toolset_20260801"}]}"#,
    ] {
        assert_eq!(roster(PATH, body), None, "{body}");
    }
}
