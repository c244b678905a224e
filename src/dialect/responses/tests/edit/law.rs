use super::*;
use crate::dialect::openai::edit::testing::{FOREIGN, any_edit, obey, tools_are_legal};

fn definition(name: &str) -> String {
    match name {
        "web_search" => r#"{"type":"web_search"}"#.to_owned(),
        "Grep" => r#"{"type":"custom", "name":"Grep"}"#.to_owned(),
        "Bash" => r#"{"type":"namespace","name":"n","tools":[{"type":"function","name":"Bash"}]}"#.to_owned(),
        name => format!(r#"{{"type":"function","name":"{name}","parameters":{{}}}}"#),
    }
}

/// A turn: what the user says, and as many calls in each answer before the next prompt. Reasoning stands in some.
fn turn(index: usize, calls: &[usize]) -> Vec<String> {
    let mut items = vec![format!(r#"{{"role":"user","content":[{{"type":"input_text","text":"u{index}"}}]}}"#)];
    for count in calls {
        if count % 3 == 2 {
            items.push(if index == 0 {
                REASONING.to_owned()
            } else {
                r#"{"type":"reasoning","id":"rs","summary":[]}"#.to_owned()
            });
        }
        let call =
            |call: usize| format!(r#"{{"type":"function_call","call_id":"c{call}","name":"Read","arguments":"{{}}"}}"#);
        items.extend((0..*count).map(call));
        items.extend(
            (0..*count)
                .map(|call| format!(r#"{{"type":"function_call_output","call_id":"c{call}","output":"r{call}"}}"#)),
        );
    }
    items
}

fn any_body() -> impl Strategy<Value = String> {
    let turns = prop::collection::vec(prop::collection::vec(1..4usize, 0..3), 1..4);
    let names = prop::sample::subsequence(vec!["Read", "Bash", "Grep", "web_search"], 0..=4);
    (turns, names, 0..4usize, any::<bool>(), any::<bool>()).prop_map(|(turns, names, choice, system, carried)| {
        let mut members = vec![];
        let mut items: Vec<String> = vec![];
        let list = names.iter().map(|name| definition(name)).collect::<Vec<_>>().join(", ");
        if system {
            members.push(r#""instructions":"s""#.to_owned());
            items.push(DEVELOPER.to_owned());
        }
        if carried && !names.is_empty() {
            items.push(format!(r#"{{"type":"additional_tools","tools":[{list}]}}"#));
        } else if !names.is_empty() {
            members.push(format!(r#""tools":[{list}]"#));
        }
        for (index, calls) in turns.iter().enumerate() {
            if index > 0 {
                items.push(ANSWER.to_owned());
            }
            items.extend(turn(index, calls));
        }
        members.push(format!(r#""input":[{}]"#, items.join(" ,")));
        let chosen = match names.first() {
            Some(&"web_search") => r#"{"type":"web_search"}"#,
            Some(&"Grep") => r#"{"type":"custom","name":"Grep"}"#,
            Some(&"Bash") => r#"{"type":"function","name":"Bash"}"#,
            Some(_) => r#"{"type":"function","name":"Read"}"#,
            None => "",
        };
        match choice {
            _ if names.is_empty() => {}
            0 => members.push(r#""tool_choice":"auto","parallel_tool_calls":true"#.to_owned()),
            1 => members.push(format!(r#""tool_choice":{chosen}"#)),
            2 => members.push(format!(r#""tool_choice":{{"type":"allowed_tools","mode":"auto","tools":[{chosen}]}}"#)),
            _ => {}
        }
        members.push(FOREIGN.to_owned());
        format!("{{{}}}", members.join(","))
    })
}

/// The API's own rules for a history.
fn law(body: &Value) -> Result<(), String> {
    let items = body["input"].as_array().unwrap();
    let mut open: Vec<&str> = vec![];
    let mut reasons = false;
    for item in items {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
        let id = || item["call_id"].as_str().unwrap();
        let is_answer = matches!(kind, "function_call" | "reasoning") || item["role"] == "assistant";
        if reasons && !is_answer {
            return Err("reasoning without what it was for".to_owned());
        }
        reasons = kind == "reasoning";
        match kind {
            "function_call" => open.push(id()),
            "function_call_output" => {
                let call = open.iter().position(|call| *call == id()).ok_or("a result without a call")?;
                open.remove(call);
            }
            "message" if !open.is_empty() => return Err(format!("{open:?} have no result")),
            "message" if item["content"] == "" || item["content"].as_array().is_some_and(Vec::is_empty) => {
                return Err("no content".to_owned());
            }
            _ => {}
        }
    }
    if !open.is_empty() || reasons || items.is_empty() {
        return Err(format!("no end: {open:?}"));
    }
    let lists: Vec<&Value> =
        body.get("tools").into_iter().chain(items.iter().filter_map(|item| item.get("tools"))).collect();
    tools_are_legal(body, &lists)
}

proptest! {
    #[test]
    fn edits_keep_the_law(body in any_body(), edits in prop::collection::vec(any_edit(), 1..5)) {
        obey(RESPONSES, body, &edits, law);
    }

    #[test]
    fn whatever_a_client_sends_is_survived(
        items in prop::collection::vec(prop::sample::select(POOL.to_vec()), 0..5),
        odd in prop::sample::select(vec!["null", "7", "[]", "{}", r#"[{}]"#, r#"[{"type":"namespace","tools":7},[],null]"#]),
        edit in any_edit(),
    ) {
        let body = format!(r#"{{"input":[{}],"tools":{odd},"tool_choice":{odd},"reasoning":{odd},"text":{odd}}}"#, items.join(","));
        let _ = RESPONSES.edited(&body, &edit);
    }
}
