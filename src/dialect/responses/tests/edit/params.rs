use super::*;

#[test]
fn parameters_are_set_where_this_api_has_them() {
    let schema = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": true}});
    table(&[
        (
            r#"{"input":"u"}"#,
            json!({"op": "params.set", "max_tokens": 5, "reasoning_effort": "low"}),
            r#"{"input":"u","max_output_tokens":5,"reasoning":{"effort":"low"}}"#,
        ),
        (
            r#"{"reasoning": {"summary":"auto"},"text":{"verbosity":"low"},"input":"u"}"#,
            json!({"op": "params.set", "response_format": schema, "reasoning_effort": "low"}),
            r#"{"reasoning": {"summary":"auto","effort":"low"},"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{},"strict":true}},"input":"u"}"#,
        ),
        (
            r#"{"reasoning":{"effort":"high","summary":"auto"},"input":"u"}"#,
            json!({"op": "params.clamp", "reasoning_effort": "low", "top_p": 0.5, "max_tokens": 7}),
            r#"{"reasoning":{"effort":"low","summary":"auto"},"input":"u","max_output_tokens":7}"#,
        ),
        (
            r#"{"reasoning":{"effort":"high","summary":"auto"},"input":"u","text":{"format":{}},"top_p":1}"#,
            json!({"op": "params.remove", "names": ["reasoning_effort", "top_p"]}),
            r#"{"reasoning":{"summary":"auto"},"input":"u","text":{"format":{}}}"#,
        ),
        ("{}", json!({"op": "params.set", "top_p": 0.5, "native": {"store": false}}), r#"{"top_p":0.5,"store":false}"#),
    ]);
    let stop = RESPONSES.edited(r#"{"input":"u"}"#, &json!({"op": "params.set", "stop": ["a"]}));
    assert_eq!(stop, Err(EditError::Unknown { dialect: "responses", what: "stop" }));
}

#[test]
fn a_patch_is_for_one_api() {
    let patch = |dialect: &str| json!({"op": "native", "dialect": dialect, "patch": [{"op": "add", "path": "/include", "value": ["x"]}]});
    table(&[
        (r#"{"input": "u"}"#, patch("responses"), r#"{"input": "u","include":["x"]}"#),
        (r#"{"input": "u"}"#, patch("chat"), r#"{"input": "u"}"#),
        (r#"{"input": "u"}"#, json!({"op": "model.set", "name": "m"}), r#"{"input": "u"}"#),
    ]);
}
