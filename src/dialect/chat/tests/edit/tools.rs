use super::*;

const READ: &str = r#"{"type":"function","function":{"name":"Read","parameters":{}}}"#;
const BASH: &str = r#"{"type":"function", "function":{"name":"Bash","parameters":{}}}"#;
const GREP: &str = r#"{"type":"custom","custom":{"name":"Grep"}}"#;

fn tools(list: &[&str], rest: &str) -> String {
    format!(r#"{{"tools":[{}],"messages":[]{rest}}}"#, list.join(", "))
}

fn remove(names: &str) -> Value {
    json!({"op": "tools.remove", "names": names})
}

fn keep(names: &str) -> Value {
    json!({"op": "tools.keep", "names": names})
}

#[test]
fn a_removed_tool_leaves_nothing_of_itself() {
    let all = tools(&[READ, BASH, GREP], "");
    let cases = [
        (all.clone(), remove("Bash"), tools(&[READ, GREP], "")),
        (all.clone(), remove("R*"), tools(&[BASH, GREP], "")),
        (all.clone(), keep("Grep"), tools(&[GREP], "")),
        (all.clone(), remove("bash"), all.clone()),
        (all, remove("*"), r#"{"messages":[]}"#.to_owned()),
        // The old list, and a search that a member of the body switches on.
        (
            r#"{"messages":[],"functions":[{"name":"a"},{"name":"b"}],"function_call":{"name":"a"}}"#.to_owned(),
            remove("a"),
            r#"{"messages":[],"functions":[{"name":"b"}],"function_call":"auto"}"#.to_owned(),
        ),
        (
            r#"{"messages":[],"functions":[{"name":"a"}],"function_call":"auto"}"#.to_owned(),
            remove("a"),
            r#"{"messages":[]}"#.to_owned(),
        ),
        (
            r#"{"web_search_options":{},"messages":[]}"#.to_owned(),
            remove("web_search"),
            r#"{"messages":[]}"#.to_owned(),
        ),
        (r#"{"web_search_options":{},"messages":[]}"#.to_owned(), keep("Read"), r#"{"messages":[]}"#.to_owned()),
    ];
    for (body, edit, expected) in cases {
        assert_eq!(CHAT.edited(&body, &edit), Ok(expected), "{edit}");
    }
}

#[test]
fn no_choice_names_a_tool_that_is_gone() {
    let read = r#"{"type":"function","function":{"name":"Read"}}"#;
    let bash = r#"{"type":"function","function":{"name":"Bash"}}"#;
    let grep = r#"{"type":"custom","custom":{"name":"Grep"}}"#;
    let allowed =
        |list: &str| format!(r#"{{"type":"allowed_tools","allowed_tools":{{"mode":"required","tools":[{list}]}}}}"#);
    let cases = [
        (bash.to_owned(), r#""auto""#.to_owned()),
        (read.to_owned(), read.to_owned()),
        (grep.to_owned(), grep.to_owned()),
        // As compatible servers take it.
        (r#"{"type":"function","name":"Bash"}"#.to_owned(), r#""auto""#.to_owned()),
        (r#""required""#.to_owned(), r#""required""#.to_owned()),
        (allowed(&format!("{read}, {bash},{grep}")), allowed(&format!("{read},{grep}"))),
        (allowed(bash), r#""none""#.to_owned()),
        (allowed(r#"{"function":{"n\u0061me":"Bash"}}"#), r#""none""#.to_owned()),
    ];
    for (choice, expected) in cases {
        let rest = |choice: &str| format!(r#","tool_choice":{choice},"parallel_tool_calls":true"#);
        let body = tools(&[READ, BASH, GREP], &rest(&choice));
        let expected = tools(&[READ, GREP], &rest(&expected));
        assert_eq!(CHAT.edited(&body, &remove("Bash")), Ok(expected), "{choice}");
        // Without tools none of it may be there.
        assert_eq!(CHAT.edited(&body, &remove("*")).unwrap(), r#"{"messages":[]}"#, "{choice}");
    }
    let forbidden = tools(&[READ], r#","tool_choice":{"type":"function","function":{"name":"Bash"}}"#);
    assert_eq!(CHAT.edited(&forbidden, &remove("Bash")), Ok(tools(&[READ], r#","tool_choice":"auto""#)));
}

#[test]
fn no_spelling_gets_a_forbidden_tool_through() {
    for tool in [
        r#"{"type":"function","function":{"name":"B\u0061sh"}}"#,
        r#"{"type":"function","\u0066unction":{"n\u0061me":"Bash"}}"#,
        r#"{"function":{"name":"Bash"}}"#,
        r#"{"type":"function","name":"Bash"}"#,
        r#"{"type":"custom","custom":{"name":"Read"},"function":{"name":"Bash"}}"#,
        r#"{"type":"Bash"}"#,
        r#"{"type":"Bash_preview_2027_01_01"}"#,
        r#"{"type":"namespace","name":"n","tools":[{"type":"function","name":"Bash"}]}"#,
        "7",
    ] {
        for edit in [remove("Bash"), keep("Read")] {
            for key in ["tools", r"t\u006fols", "functions"] {
                let body = format!(r#"{{"{key}":[{READ},{tool}],"messages":[]}}"#);
                let expected = format!(r#"{{"{key}":[{READ}],"messages":[]}}"#);
                assert_eq!(CHAT.edited(&body, &edit), Ok(expected), "{edit} {tool}");
            }
        }
        let roster = CHAT.roster(&tools(&[READ, tool], "")).unwrap();
        assert!(roster.contains(&"Read".to_owned()), "{roster:?}");
    }
}

#[test]
fn a_tool_or_a_choice_with_a_key_twice_is_refused() {
    let twice = [
        r#"{"type":"function","function":{"name":"Read","name":"Bash"}}"#,
        r#"{"type":"function","function":{"name":"Read","n\u0061me":"Bash"}}"#,
        r#"{"type":"function","function":{"name":"Read"},"function":{"name":"Bash"}}"#,
    ];
    let allowed = |entry: &str| format!(r#"{{"type":"allowed_tools","allowed_tools":{{"tools":[{entry}]}}}}"#);
    for raw in twice {
        let bodies = [
            tools(&[GREP, raw], ""),
            tools(&[GREP], &format!(r#","tool_choice":{raw}"#)),
            tools(&[GREP], &format!(r#","tool_choice":{}"#, allowed(raw))),
        ];
        for (body, edit) in bodies.iter().flat_map(|body| [(body, remove("Bash")), (body, keep("Grep"))]) {
            let error = CHAT.edited(body, &edit).unwrap_err();
            assert!(matches!(error, EditError::Scan(ScanError::DuplicateKey { .. })), "{edit} {body}: {error}");
        }
    }
}

#[test]
fn a_removed_tools_cache_marker_stands_on_the_one_before_it() {
    let marked = r#"{"type":"function","function":{"name":"Bash"},"cache_control":{"type":"ephemeral"}}"#;
    let heir = r#"{"type":"function","function":{"name":"Read","parameters":{}},"cache_control":{"type":"ephemeral"}}"#;
    let cases = [
        (tools(&[READ, marked], ""), tools(&[heir], "")),
        (tools(&[READ, BASH, marked, GREP], ""), tools(&[heir, GREP], "")),
        (tools(&[heir, marked], ""), tools(&[heir], "")),
        (tools(&[marked, READ], ""), tools(&[READ], "")),
    ];
    for (body, expected) in cases {
        assert_eq!(CHAT.edited(&body, &remove("Bash")), Ok(expected), "{body}");
    }
}

#[test]
fn tools_are_described_replaced_and_added_in_the_clients_form() {
    let describe = json!({"op": "tools.describe", "name": "Read", "text": "d\n"});
    let replace = json!({"op": "tools.replace", "name": "Grep", "tool": {"name": "Find", "description": "d"}});
    let add = json!({"op": "tools.add", "tool": {"name": "x", "description": "y", "input_schema": {"type": "object"}}});
    table(&[
        (
            &tools(&[READ, GREP], ""),
            describe.clone(),
            &tools(
                &[r#"{"type":"function","function":{"name":"Read","parameters":{},"description":"d\n"}}"#, GREP],
                "",
            ),
        ),
        (
            r#"{"messages":[],"functions":[{"name":"Read","description":"o"}]}"#,
            describe,
            r#"{"messages":[],"functions":[{"name":"Read","description":"d\n"}]}"#,
        ),
        (
            &tools(
                &[r#"{"type":"custom","custom":{"name":"Grep"},"cache_control":{"type":"ephemeral"}}"#],
                r#","tool_choice":{"type":"custom","custom":{"name":"Grep"}}"#,
            ),
            replace,
            &tools(
                &[
                    r#"{"type":"function","function":{"name":"Find","description":"d","parameters":{"type":"object"}},"cache_control":{"type":"ephemeral"}}"#,
                ],
                r#","tool_choice":{"type":"function","function":{"name":"Find"}}"#,
            ),
        ),
        (
            &tools(&[READ], ""),
            add.clone(),
            &format!(
                r#"{{"tools":[{READ},{{"type":"function","function":{{"name":"x","description":"y","parameters":{{"type":"object"}}}}}}],"messages":[]}}"#
            ),
        ),
        (
            r#"{"messages":[],"functions":[{"name":"a"}]}"#,
            add.clone(),
            r#"{"messages":[],"functions":[{"name":"a"},{"name":"x","description":"y","parameters":{"type":"object"}}]}"#,
        ),
        (
            r#"{"messages":[],"tools":[]}"#,
            add,
            r#"{"messages":[],"tools":[{"type":"function","function":{"name":"x","description":"y","parameters":{"type":"object"}}}]}"#,
        ),
    ]);
}

#[test]
fn a_choice_is_set_in_the_clients_form() {
    let set = |choice: &str| json!({"op": "tool_choice.set", "choice": choice});
    let all = |choice: &str| tools(&[READ, GREP], &format!(r#","tool_choice":{choice}"#));
    table(&[
        (&tools(&[READ, GREP], ""), set("auto"), &all(r#""auto""#)),
        (&all(r#""auto""#), set("none"), &all(r#""none""#)),
        (&all(r#"{"type":"allowed_tools"}"#), set("required"), &all(r#""required""#)),
        (&all("null"), set("Read"), &all(r#"{"type":"function","function":{"name":"Read"}}"#)),
        (&all("null"), set("Grep"), &all(r#"{"type":"custom","custom":{"name":"Grep"}}"#)),
        (
            r#"{"messages":[],"functions":[{"name":"a"}]}"#,
            set("a"),
            r#"{"messages":[],"functions":[{"name":"a"}],"function_call":{"name":"a"}}"#,
        ),
    ]);
}

#[test]
fn what_is_not_there_is_missing() {
    for edit in [
        json!({"op": "tools.describe", "name": "x", "text": "d"}),
        json!({"op": "tools.replace", "name": "x", "tool": {"name": "y"}}),
        json!({"op": "tool_choice.set", "choice": "x"}),
    ] {
        let refused = CHAT.edited(&tools(&[READ, GREP], ""), &edit);
        assert!(matches!(refused, Err(EditError::Missing { .. })), "{edit}: {refused:?}");
    }
    for (edit, name) in [
        (json!({"op": "tools.replace", "name": "Read", "tool": {"name": "Grep"}}), "Grep"),
        (json!({"op": "tools.add", "tool": {"name": "Read"}}), "Read"),
    ] {
        let refused = CHAT.edited(&tools(&[READ, GREP], ""), &edit);
        assert_eq!(refused, Err(EditError::Exists { name: name.to_owned() }), "{edit}");
    }
    let choice = CHAT.edited(r#"{"messages":[]}"#, &json!({"op": "tool_choice.set", "choice": "none"}));
    assert_eq!(choice, Err(EditError::Missing { what: "tool".to_owned() }));
}

#[test]
fn the_roster_names_every_tool() {
    assert_eq!(CHAT.roster(&tools(&[READ, GREP], "")).unwrap(), ["Grep", "Read"]);
    assert_eq!(CHAT.roster(r#"{"messages":[],"functions":[{"name":"a"}]}"#).unwrap(), ["a"]);
    assert_eq!(CHAT.roster(r#"{"messages":[]}"#).unwrap(), [""; 0]);
}
