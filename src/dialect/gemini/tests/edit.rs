use super::PATH;
use crate::dialect::edit_testing::{edited, roster};
use crate::dialect::{EditError, LowerError};
use serde_json::{Value, json};

/// What an edit makes of a body, or why it does not.
fn edit(body: &str, edit: Value) -> String {
    edited(PATH, body, &edit).unwrap_or_else(|error| error.to_string())
}

#[test]
fn instructions_are_replaced_part_by_part() {
    let all = json!({"op": "system.replace", "text": "N"});
    let some = json!({"op": "system.replace", "text": "N", "match": "b"});
    let cases = [
        (&all, r#"{"x":1.0}"#, r#"{"x":1.0,"systemInstruction":{"parts":[{"text":"N"}]}}"#),
        (&all, r#"{"system_instruction":null}"#, r#"{"system_instruction":{"parts":[{"text":"N"}]}}"#),
        (
            &all,
            r#"{"system_instruction":{"role":"r","parts":[{"text":"a"}, {"text":"b"}]}}"#,
            r#"{"system_instruction":{"role":"r","parts":[{"text":"N"}]}}"#,
        ),
        (&all, r#"{"systemInstruction":{"parts":{"text":"a"}}}"#, r#"{"systemInstruction":{"parts":{"text":"N"}}}"#),
        (&all, r#"{"systemInstruction":{}}"#, r#"{"systemInstruction":{"parts":[{"text":"N"}]}}"#),
        (
            &some,
            r#"{"systemInstruction":{"parts":[{"text":"\u0061"}, {"text":"\u0062"}]}}"#,
            r#"{"systemInstruction":{"parts":[{"text":"\u0061"}, {"text":"N"}]}}"#,
        ),
        (&some, r#"{"x":1}"#, r#"{"x":1}"#),
    ];
    for (op, body, expected) in cases {
        assert_eq!(edit(body, op.clone()), expected, "{body}");
    }
    let cached = edited(PATH, r#"{"cachedContent":"c"}"#, &all);
    assert_eq!(cached, Err(EditError::Place(LowerError::NoSystem)));
}

const STEP: &str = r#"{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"said"},{"functionCall":{"name":"f","args":{"q":1.0}}}]},{"role":"user","parts":[{"function_response":{"name":"f","response":{"output":"q1","more":{"q":["q2",1.0]}}}},{"text":"q3"}]}]}"#;

#[test]
fn only_what_the_user_and_the_tools_say_is_redacted() {
    let redact = json!({"op": "messages.redact", "pattern": "q([0-9]?)", "with": "<$1>"});
    insta::assert_snapshot!(edit(STEP, redact), @r#"{"contents":[{"role":"user","parts":[{"text":"<>"}]},{"role":"model","parts":[{"text":"said"},{"functionCall":{"name":"f","args":{"q":1.0}}}]},{"role":"user","parts":[{"function_response":{"name":"f","response":{"output":"<1>","more":{"q":["<2>",1.0]}}}},{"text":"<3>"}]}]}"#);
}

fn remove(which: Value) -> Value {
    json!({"op": "messages.remove", "match": which})
}

#[test]
fn neighbours_of_one_role_become_one() {
    insta::assert_snapshot!(edit(STEP, remove(json!({"role": "assistant"}))), @r#"{"contents":[{"role":"user","parts":[{"text":"q"},{"text":"q3"}]}]}"#);
    insta::assert_snapshot!(edit(STEP, remove(json!({"role": "tool"}))), @r#"{"contents":[{"role":"user","parts":[{"text":"q"}]}]}"#);
    let talk = r#"{"contents":[{"parts":{"text":"1"}}, {"role":"model","parts":[{"text":"2"}]}, {"role":"user","parts":[{"text":"3"},{"inlineData":{}}]}, {"parts":[{"thoughtSignature":"c2ln","text":"4"}],"role":"model"},{"role":"user","parts":[{"text":"5"}]}]}"#;
    insta::assert_snapshot!(edit(talk, remove(json!({"regex": "2"}))), @r#"{"contents":[{"parts":[{"text":"1"},{"text":"3"},{"inlineData":{}}]}, {"parts":[{"thoughtSignature":"c2ln","text":"4"}],"role":"model"},{"role":"user","parts":[{"text":"5"}]}]}"#);
    insta::assert_snapshot!(edit(talk, remove(json!({"regex": "3"}))), @r#"{"contents":[{"parts":{"text":"1"}}, {"role":"model","parts":[{"text":"2"},{"thoughtSignature":"c2ln","text":"4"}]},{"role":"user","parts":[{"text":"5"}]}]}"#);
    assert_eq!(edited(PATH, talk, &remove(json!({"regex": "4"}))), Err(EditError::Signed { index: 3 }));
    for which in ["1", "5"] {
        assert!(edited(PATH, talk, &remove(json!({"regex": which}))).is_err(), "{which}");
    }
}

#[test]
fn a_content_says_another_text() {
    let replace = |which: Value| json!({"op": "messages.replace", "match": which, "text": "N"});
    insta::assert_snapshot!(edit(STEP, replace(json!({"role": "tool"}))), @r#"{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"said"},{"functionCall":{"name":"f","args":{"q":1.0}}}]},{"role":"user","parts":[{"function_response":{"name":"f","response":{"output":"N"}}}]}]}"#);
    insta::assert_snapshot!(edit(STEP, replace(json!({"role": "assistant"}))), @r#"{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"N"},{"functionCall":{"name":"f","args":{"q":1.0}}}]},{"role":"user","parts":[{"function_response":{"name":"f","response":{"output":"q1","more":{"q":["q2",1.0]}}}},{"text":"q3"}]}]}"#);
    let failed = STEP.replace(r#""output":"q1""#, r#""error":"q1""#);
    assert!(edit(&failed, replace(json!({"index": 0}))).contains(r#""response":{"error":"N"}"#));
}

const TOOLS: &str = r#"{"tools":[{"function_declarations":[{"name":"Read"}, {"name":"B\u0061sh","description":"d"}],"googleSearch":{}} , {"functionDeclarations":[{"name":"Edit"}]}],"tool_config":{"function_calling_config":{"mode":"ANY","allowed_function_names":["Bash"]},"retrievalConfig":{}},"x":1.0}"#;

#[test]
fn a_tool_that_is_gone_is_gone_everywhere() {
    let remove = |names: Value| edit(TOOLS, json!({"op": "tools.remove", "names": names}));
    insta::assert_snapshot!(remove(json!("Bash")), @r#"{"tools":[{"function_declarations":[{"name":"Read"}],"googleSearch":{}} , {"functionDeclarations":[{"name":"Edit"}]}],"tool_config":{"function_calling_config":{"mode":"AUTO"},"retrievalConfig":{}},"x":1.0}"#);
    insta::assert_snapshot!(remove(json!("Edit")), @r#"{"tools":[{"function_declarations":[{"name":"Read"}, {"name":"B\u0061sh","description":"d"}],"googleSearch":{}}],"tool_config":{"function_calling_config":{"mode":"ANY","allowed_function_names":["Bash"]},"retrievalConfig":{}},"x":1.0}"#);
    insta::assert_snapshot!(remove(json!(["google_search", "Read"])), @r#"{"tools":[{"function_declarations":[{"name":"B\u0061sh","description":"d"}]} , {"functionDeclarations":[{"name":"Edit"}]}],"tool_config":{"function_calling_config":{"mode":"ANY","allowed_function_names":["Bash"]},"retrievalConfig":{}},"x":1.0}"#);
    insta::assert_snapshot!(remove(json!(["Read", "Bash", "Edit"])), @r#"{"tools":[{"googleSearch":{}}],"tool_config":{"retrievalConfig":{}},"x":1.0}"#);
    insta::assert_snapshot!(remove(json!("*")), @r#"{"tool_config":{"retrievalConfig":{}},"x":1.0}"#);
    assert_eq!(remove(json!("ash")), TOOLS);
    insta::assert_snapshot!(edit(TOOLS, json!({"op": "tools.keep", "names": ["Read", "Bash"]})), @r#"{"tools":[{"function_declarations":[{"name":"Read"}, {"name":"B\u0061sh","description":"d"}]}],"tool_config":{"function_calling_config":{"mode":"ANY","allowed_function_names":["Bash"]},"retrievalConfig":{}},"x":1.0}"#);
}

#[test]
fn no_spelling_gets_a_tool_through() {
    let remove = json!({"op": "tools.remove", "names": "Bash"});
    let cases = [
        (r#"{"t\u006fols":[{"functionDeclarations":[{"n\u0061me":"Bash"}]}]}"#, "{}"),
        (r#"{"tools":{"functionDeclarations":{"name":"Bash"}}}"#, "{}"),
        (
            r#"{"tools":[{"mcp_servers":[{"name":"Bash"},{"name":"b"}]}]}"#,
            r#"{"tools":[{"mcp_servers":[{"name":"b"}]}]}"#,
        ),
        (
            r#"{"tools":[{"functionDeclarations":[{"name":"Bash"}],"function_declarations":[]}]}"#,
            r#"duplicate key "functionDeclarations""#,
        ),
        (r#"{"tools":[{"functionDeclarations":[{"name":"a","n\u0061me":"Bash"}]}]}"#, r#"duplicate key "name""#),
        (
            r#"{"tools":[{"functionDeclarations":[{"name":"a","parameters":{"name":"Bash"}}]}]}"#,
            r#"{"tools":[{"functionDeclarations":[{"name":"a","parameters":{"name":"Bash"}}]}]}"#,
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(edit(body, remove.clone()), expected, "{body}");
    }
}

#[test]
fn tools_are_described_replaced_and_added() {
    assert!(
        edit(TOOLS, json!({"op": "tools.describe", "name": "Bash", "text": "N"}))
            .contains(r#"{"name":"B\u0061sh","description":"N"}"#)
    );
    insta::assert_snapshot!(edit(TOOLS, json!({"op": "tools.replace", "name": "Bash", "tool": {"name": "Shell"}})), @r#"{"tools":[{"function_declarations":[{"name":"Read"}, {"name":"Shell","parametersJsonSchema":{"type":"object"}}],"googleSearch":{}} , {"functionDeclarations":[{"name":"Edit"}]}],"tool_config":{"function_calling_config":{"mode":"ANY","allowed_function_names":["Shell"]},"retrievalConfig":{}},"x":1.0}"#);
    let add = json!({"op": "tools.add", "tool": {"name": "N", "description": "d"}});
    let made = r#"{"name":"N","description":"d","parametersJsonSchema":{"type":"object"}}"#;
    let cases = [
        ("{}", format!(r#"{{"tools":[{{"functionDeclarations":[{made}]}}]}}"#)),
        (
            r#"{"tools":[{"googleSearch":{}}]}"#,
            format!(r#"{{"tools":[{{"googleSearch":{{}}}},{{"functionDeclarations":[{made}]}}]}}"#),
        ),
        (
            r#"{"tools":[{"function_declarations":[]}]}"#,
            format!(r#"{{"tools":[{{"function_declarations":[{made}]}}]}}"#),
        ),
        (
            r#"{"tools":{"functionDeclarations":{"name":"a"}}}"#,
            format!(r#"{{"tools":{{"functionDeclarations":[{{"name":"a"}},{made}]}}}}"#),
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(edit(body, add.clone()), expected, "{body}");
    }
    let twin = json!({"op": "tools.add", "tool": {"name": "Bash"}});
    assert_eq!(edit(TOOLS, twin), r#"there is a tool "Bash" already"#);
    assert!(edited(PATH, r#"{"cachedContent":"c"}"#, &add).is_err());
    assert_eq!(edit(TOOLS, json!({"op": "tools.describe", "name": "no", "text": "N"})), r#"there is no tool "no""#);
}

#[test]
fn a_choice_is_a_mode_and_a_list() {
    let choice = |body: &str, choice: &str| edit(body, json!({"op": "tool_choice.set", "choice": choice}));
    let body = r#"{"tools":[{"functionDeclarations":[{"name":"a"}]}]}"#;
    let open = body.trim_end_matches('}').to_owned() + "}]}]";
    let cases = [
        ("auto", r#"{"mode":"AUTO"}"#),
        ("none", r#"{"mode":"NONE"}"#),
        ("required", r#"{"mode":"ANY"}"#),
        ("a", r#"{"mode":"ANY","allowedFunctionNames":["a"]}"#),
    ];
    for (name, expected) in cases {
        let whole = format!(r#"{open},"toolConfig":{{"functionCallingConfig":{expected}}}}}"#);
        assert_eq!(choice(body, name), whole.replace("}]}]}]}]", "}]}]"), "{name}");
    }
    assert_eq!(choice(body, "b"), r#"there is no tool "b""#);
    assert_eq!(choice(r#"{"tools":[{"googleSearch":{}}]}"#, "auto"), "there is no function");
    assert!(choice(TOOLS, "auto").contains(r#""function_calling_config":{"mode":"AUTO"}"#));
}

#[test]
fn parameters_have_native_names() {
    let all = json!({"op": "params.set", "max_tokens": 9, "temperature": 0.5, "top_p": 0.1, "stop": ["x"], "reasoning_effort": "low", "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}, "native": {"labels": {"a": "b"}}});
    insta::assert_snapshot!(edit(r#"{"generation_config":{"max_output_tokens": 1.0,"thinking_config":{"thinking_budget":5},"response_schema":{}}}"#, all.clone()), @r#"{"generation_config":{"max_output_tokens": 9,"thinking_config":{"thinkingLevel":"low"},"temperature":0.5,"topP":0.1,"stopSequences":["x"],"responseJsonSchema":{"type":"object"},"responseMimeType":"application/json"},"labels":{"a":"b"}}"#);
    insta::assert_snapshot!(edit("{}", all), @r#"{"generationConfig":{"maxOutputTokens":9,"temperature":0.5,"topP":0.1,"stopSequences":["x"],"thinkingConfig":{"thinkingLevel":"low"},"responseJsonSchema":{"type":"object"},"responseMimeType":"application/json"},"labels":{"a":"b"}}"#);
    let clamp = json!({"op": "params.clamp", "max_tokens": 100, "temperature": 0.5});
    let cases = [
        (r#"{"generationConfig":{"maxOutputTokens":"200"}}"#, r#"{"generationConfig":{"maxOutputTokens":100}}"#),
        (r#"{"generationConfig":{"maxOutputTokens":50}}"#, r#"{"generationConfig":{"maxOutputTokens":50}}"#),
        (r#"{"generationConfig":null}"#, r#"{"generationConfig":{"maxOutputTokens":100}}"#),
    ];
    for (body, expected) in cases {
        assert_eq!(edit(body, clamp.clone()), expected);
    }
    let native = json!({"op": "params.set", "native": {"safetySettings": []}});
    assert_eq!(edit(r#"{"safety_settings":[1]}"#, native), r#"{"safety_settings":[]}"#);
    let snake = json!({"op": "params.set", "native": {"safety_settings": []}});
    assert_eq!(edit(r#"{"safetySettings":[1]}"#, snake), r#"{"safetySettings":[]}"#);
}

#[test]
fn a_patch_knows_both_spellings() {
    let patch = json!({"op": "native", "dialect": "gemini", "patch": [{"op": "add", "path": "/generationConfig/topK", "value": 1}]});
    assert_eq!(edit(r#"{"generation_config":{"top_k":5}}"#, patch), r#"{"generation_config":{"top_k":1}}"#);
}

#[test]
fn the_roster_is_known_where_all_functions_are_declared() {
    let names = |list: &[&str]| Some(list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(roster(PATH, TOOLS), names(&["Read", "Bash", "Edit"]));
    assert_eq!(roster(PATH, "{}"), names(&[]));
    for body in [
        r#"{"cached_content":"c"}"#,
        r#"{"tools":[{"computer_use":{}}]}"#,
        r#"{"tools":[{"mcpServers":[{"name":"s"}]}]}"#,
    ] {
        assert_eq!(roster(PATH, body), None, "{body}");
    }
}
