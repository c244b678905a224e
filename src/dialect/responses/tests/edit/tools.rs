use super::*;

const READ: &str = r#"{"type":"function","name":"Read","parameters":{}}"#;
const BASH: &str = r#"{"type":"custom","name":"Bash"}"#;
const SEARCH: &str = r#"{"type":"web_search_preview"}"#;

fn tools(list: &[&str], rest: &str) -> String {
    format!(r#"{{"input":"u","tools":[{}]{rest}}}"#, list.join(", "))
}

/// A body as Codex sends it: all tools in an item.
fn codex(list: &[&str], rest: &str) -> String {
    let item = format!(r#"{{"type":"additional_tools","role":"developer","tools":[{}]}}"#, list.join(","));
    format!(r#"{{"input":[{item},{USER}]{rest}}}"#)
}

fn space(name: &str, list: &[&str]) -> String {
    format!(r#"{{"type":"namespace","name":"{name}","tools":[{}]}}"#, list.join(","))
}

fn remove(names: &str) -> Value {
    json!({"op": "tools.remove", "names": names})
}

fn keep(names: &str) -> Value {
    json!({"op": "tools.keep", "names": names})
}

#[test]
fn a_removed_tool_leaves_no_carrier() {
    let (functions, git) =
        (space("functions", &[BASH, READ]), space("mcp__git__", &[r#"{"type":"function","name":"log"}"#]));
    let both = codex(&[&functions, &git], "");
    let without_git = codex(&[&functions], "");
    let without_bash = codex(&[&space("functions", &[READ]), &git], "");
    let deferred = |list: &str| {
        format!(
            r#"{{"input":[{{"type":"tool_search_call","call_id":"s","execution":"client"}},{{"type":"tool_search_output","call_id":"s","tools":[{list}]}}]}}"#
        )
    };
    let none = format!(r#"{{"input":[{USER}]}}"#);
    let cases = [
        (tools(&[READ, BASH, SEARCH], ""), remove("Bash"), tools(&[READ, SEARCH], "")),
        (tools(&[READ, BASH, SEARCH], ""), remove("web_search"), tools(&[READ, BASH], "")),
        (tools(&[READ, BASH, SEARCH], ""), keep("web_search*"), tools(&[SEARCH], "")),
        (
            tools(&[READ], r#","tool_choice":"auto","parallel_tool_calls":false"#),
            remove("*"),
            r#"{"input":"u"}"#.to_owned(),
        ),
        // A tool of a namespace by its own name and by both, and the namespace itself.
        (both.clone(), remove("Bash"), without_bash.clone()),
        (both.clone(), remove("functions.Bash"), without_bash),
        (both.clone(), remove("mcp__git__log"), without_git.clone()),
        (both.clone(), remove("log"), without_git.clone()),
        (both.clone(), keep("functions"), without_git.clone()),
        (both.clone(), remove("mcp__git__"), without_git),
        (both.clone(), keep("Read"), codex(&[&space("functions", &[READ])], "")),
        // The item goes with its last tool; what a search found is an answer and stays.
        (codex(&[&functions, &git], r#","tool_choice":"auto""#), remove("*"), none),
        (deferred(&format!("{READ},{BASH}")), remove("Bash"), deferred(READ)),
        (deferred(READ), remove("*"), deferred("")),
        (
            r#"{"input":[{"type":"additional_tools","tools":[{"name":"Bash"}]}]}"#.to_owned(),
            remove("Bash"),
            r#"{"input":[{"type":"additional_tools","tools":[]}]}"#.to_owned(),
        ),
    ];
    for (body, edit, expected) in cases {
        assert_eq!(RESPONSES.edited(&body, &edit), Ok(expected), "{edit} {body}");
    }
}

#[test]
fn no_choice_names_a_tool_that_is_gone() {
    let allowed = |list: &str| format!(r#"{{"type":"allowed_tools","mode":"auto","tools":[{list}]}}"#);
    let cases = [
        (r#"{"type":"custom","name":"Bash"}"#.to_owned(), r#""auto""#.to_owned()),
        (r#"{"type":"function","name":"Read"}"#.to_owned(), r#"{"type":"function","name":"Read"}"#.to_owned()),
        (r#"{"type":"web_search_preview"}"#.to_owned(), r#""auto""#.to_owned()),
        (
            allowed(r#"{"type":"custom","name":"Bash"},{"type":"function","name":"Read"}"#),
            allowed(r#"{"type":"function","name":"Read"}"#),
        ),
        (allowed(r#"{"type":"web_search_preview"}"#), r#""none""#.to_owned()),
    ];
    for (choice, expected) in cases {
        let rest = |choice: &str| format!(r#","tool_choice":{choice}"#);
        let edited = RESPONSES.edited(&tools(&[READ, BASH, SEARCH], &rest(&choice)), &keep("Read"));
        assert_eq!(edited, Ok(tools(&[READ], &rest(&expected))), "{choice}");
    }
    // Of a namespace that is gone, and of one that was kept by its name.
    let choice =
        |choice: &str| codex(&[&space("a", &[READ]), &space("b", &[BASH])], &format!(r#","tool_choice":{choice}"#));
    let bash = r#"{"type":"custom","name":"Bash"}"#;
    let edited = RESPONSES.edited(&choice(bash), &remove("b")).unwrap();
    assert_eq!(edited, codex(&[&space("a", &[READ])], r#","tool_choice":"auto""#));
    let edited = RESPONSES.edited(&choice(bash), &keep("b")).unwrap();
    assert_eq!(edited, codex(&[&space("b", &[BASH])], &format!(r#","tool_choice":{bash}"#)));
}

#[test]
fn no_spelling_gets_a_forbidden_tool_through() {
    for tool in [
        r#"{"type":"function","n\u0061me":"B\u0061sh"}"#,
        r#"{"name":"Bash"}"#,
        r#"{"type":"function","function":{"name":"Bash"}}"#,
        r#"{"type":"web_search","name":"Bash"}"#,
        r#"{"type":"namespace","name":"n","tools":[{"type":"namespace","name":"m","tools":[{"name":"Bash"}]}]}"#,
        r#"{"type":"namespace","name":"n","t\u006fols":[{"name":"Bash"}]}"#,
        r#"{"type":"function","name":"Read","tools":[{"name":"Bash"}]}"#,
        "[]",
    ] {
        for edit in [remove("Bash"), keep("Grep")] {
            let top = format!(r#"{{"input":"u","tools":[{{"type":"custom","name":"Grep"}},{tool}]}}"#);
            let edited = RESPONSES.edited(&top, &edit).unwrap();
            assert_eq!(edited, r#"{"input":"u","tools":[{"type":"custom","name":"Grep"}]}"#, "{edit} {tool}");
            for kind in
                [r#""type":"additional_tools","#, r#""typ\u0065":"additional_tools","#, r#""type":"new_in_2028","#, ""]
            {
                let item = format!(r#"{{"input":[{{{kind}"tools":[{{"name":"Grep"}},{tool}]}},{USER}]}}"#);
                let edited = RESPONSES.edited(&item, &edit).unwrap();
                assert_eq!(
                    edited,
                    format!(r#"{{"input":[{{{kind}"tools":[{{"name":"Grep"}}]}},{USER}]}}"#),
                    "{edit} {tool}"
                );
            }
        }
    }
    let twice = r#"{"type":"function","name":"Read","name":"Bash"}"#;
    for body in [
        tools(&[READ, twice], ""),
        tools(&[READ], &format!(r#","tool_choice":{twice}"#)),
        format!(r#"{{"input":[{{"type":"additional_tools","tools":[{READ},{twice}]}},{USER}]}}"#),
        tools(&[&format!(r#"{{"type":"namespace","name":"n","tools":[{twice}]}}"#)], ""),
    ] {
        let error = RESPONSES.edited(&body, &remove("Grep")).unwrap_err();
        assert!(matches!(error, EditError::Scan(ScanError::DuplicateKey { .. })), "{body}: {error}");
    }
    let deep = format!("{}{}", r#"{"type":"namespace","name":"n","tools":["#.repeat(200), "]}".repeat(200));
    let edited = RESPONSES.edited(&tools(&[READ, &deep], ""), &remove("Bash")).unwrap();
    assert_eq!(edited, tools(&[READ], ""));
}

#[test]
fn tools_are_described_replaced_and_added_flat() {
    let add = json!({"op": "tools.add", "tool": {"name": "x"}});
    table(&[
        (
            &codex(&[&space("n", &[READ])], ""),
            json!({"op": "tools.describe", "name": "n.Read", "text": "d"}),
            &codex(&[&space("n", &[r#"{"type":"function","name":"Read","parameters":{},"description":"d"}"#])], ""),
        ),
        (
            &tools(
                &[BASH],
                r#","tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"custom","name":"Bash"}]}"#,
            ),
            json!({"op": "tools.replace", "name": "Bash", "tool": {"name": "Bash", "description": "d"}}),
            &tools(
                &[r#"{"type":"function","name":"Bash","description":"d","parameters":{"type":"object"}}"#],
                r#","tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"Bash"}]}"#,
            ),
        ),
        (
            &tools(&[SEARCH], ""),
            add.clone(),
            r#"{"input":"u","tools":[{"type":"web_search_preview"},{"type":"function","name":"x","parameters":{"type":"object"}}]}"#,
        ),
        (
            r#"{"input":"u"}"#,
            add.clone(),
            r#"{"input":"u","tools":[{"type":"function","name":"x","parameters":{"type":"object"}}]}"#,
        ),
        (
            &codex(&[BASH], ""),
            add,
            &codex(&[BASH, r#"{"type":"function","name":"x","parameters":{"type":"object"}}"#], ""),
        ),
    ]);
    let built_in =
        RESPONSES.edited(&tools(&[SEARCH], ""), &json!({"op": "tools.describe", "name": "web_search", "text": "d"}));
    assert!(matches!(built_in, Err(EditError::Unknown { .. })));
    let twice = RESPONSES.edited(&codex(&[READ], ""), &json!({"op": "tools.add", "tool": {"name": "Read"}}));
    assert_eq!(twice, Err(EditError::Exists { name: "Read".to_owned() }));
}

#[test]
fn a_choice_is_set_in_the_form_of_the_tool() {
    let mcp = r#"{"type":"mcp","server_label":"git"}"#;
    for (name, choice) in [
        ("Read", r#"{"type":"function","name":"Read"}"#),
        ("Bash", r#"{"type":"custom","name":"Bash"}"#),
        ("web_search", r#"{"type":"web_search_preview"}"#),
        ("git", mcp),
        ("required", r#""required""#),
    ] {
        let all = [READ, BASH, SEARCH, mcp];
        let edited = RESPONSES.edited(&tools(&all, ""), &json!({"op": "tool_choice.set", "choice": name}));
        assert_eq!(edited, Ok(tools(&all, &format!(r#","tool_choice":{choice}"#))), "{name}");
    }
}

#[test]
fn the_roster_is_open_where_the_body_does_not_show_all() {
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let cases = [
        (tools(&[READ, BASH], ""), names(&["Bash", "Read"])),
        (codex(&[&space("n", &[READ])], ""), names(&["Read", "n", "n.Read", "n__Read"])),
        (tools(&[r#"{"type":"local_shell"}"#], ""), names(&["local_shell"])),
        (tools(&[], ""), names(&[])),
        (tools(&[READ], r#","previous_response_id":"r""#), names(&["Read"])),
        (tools(&[], r#","previous_response_id":"r""#), None),
        (tools(&[READ], r#","conversation":"c""#), None),
        (tools(&[READ], r#","prompt":{"id":"p"}"#), None),
        (tools(&[READ, r#"{"type":"mcp","server_label":"x"}"#], ""), None),
    ];
    for (body, expected) in cases {
        assert_eq!(RESPONSES.roster(&body), expected, "{body}");
    }
}
