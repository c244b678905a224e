use super::*;

#[test]
fn parameters_are_set_where_the_client_has_them() {
    let set = json!({"op": "params.set", "max_tokens": 5, "temperature": 0.5, "native": {"seed": 1, "n": 2}});
    let format = |format: Value| json!({"op": "params.set", "response_format": format});
    let schema = json!({"type": "object"});
    table(&[
        (
            r#"{"messages":[], "max_tokens" : 9,"n":1 }"#,
            set.clone(),
            r#"{"messages":[], "max_tokens" : 5,"n":2,"temperature":0.5,"seed":1 }"#,
        ),
        (
            r#"{"max_completion_tokens":null,"messages":[]}"#,
            set,
            r#"{"max_completion_tokens":5,"messages":[],"temperature":0.5,"seed":1,"n":2}"#,
        ),
        (
            r#"{"messages":[]}"#,
            json!({"op": "params.set", "top_p": 1.0, "stop": ["a"], "reasoning_effort": "low"}),
            r#"{"messages":[],"top_p":1.0,"stop":["a"],"reasoning_effort":"low"}"#,
        ),
        (
            r#"{"messages":[]}"#,
            format(json!({"type": "json_object"})),
            r#"{"messages":[],"response_format":{"type":"json_object"}}"#,
        ),
        (
            r#"{"messages":[]}"#,
            format(json!({"type": "json_schema", "name": "n", "schema": schema})),
            r#"{"messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}}"#,
        ),
    ]);
}

#[test]
fn a_clamp_only_lowers() {
    let clamp = json!({"op": "params.clamp", "max_tokens": 100, "temperature": 1.0, "reasoning_effort": "low"});
    let natives = json!({"op": "params.clamp", "native": {"n": 1, "service_tier": "flex", "seed": 5}});
    table(&[
        (r#"{"messages":[],"max_tokens":50}"#, clamp.clone(), r#"{"messages":[],"max_tokens":50}"#),
        (r#"{"messages":[],"max_tokens":1e3}"#, clamp.clone(), r#"{"messages":[],"max_tokens":100}"#),
        (
            r#"{"messages":[],"max_tokens":200,"max_completion_tokens":300}"#,
            clamp.clone(),
            r#"{"messages":[],"max_completion_tokens":100}"#,
        ),
        (r#"{"messages":[],"max_tokens":"999"}"#, clamp.clone(), r#"{"messages":[],"max_tokens":100}"#),
        (r#"{"messages":[]}"#, clamp.clone(), r#"{"messages":[],"max_completion_tokens":100}"#),
        (
            r#"{"messages":[],"max_tokens":1,"temperature":1.5,"reasoning_effort":"high"}"#,
            clamp,
            r#"{"messages":[],"max_tokens":1,"temperature":1.0,"reasoning_effort":"low"}"#,
        ),
        (r#"{"messages":[],"n":4,"service_tier":"auto"}"#, natives, r#"{"messages":[],"n":1,"service_tier":"flex"}"#),
    ]);
}

#[test]
fn removed_parameters_are_not_there_in_any_spelling() {
    table(&[(
        r#"{"max_tokens":1,"messages":[],"max_completion_tokens":2,"t\u006fp_p":1}"#,
        json!({"op": "params.remove", "names": ["max_tokens", "top_p", "stop"]}),
        r#"{"messages":[]}"#,
    )]);
}
