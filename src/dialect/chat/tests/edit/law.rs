use super::*;
use crate::dialect::openai::edit::testing::{FOREIGN, any_edit, obey, tools_are_legal};

fn definition(name: &str) -> String {
    match name {
        "web_search" => r#"{"type":"web_search"}"#.to_owned(),
        "Grep" => r#"{"type":"custom","custom":{"name":"Grep"},"cache_control":{"type":"ephemeral"}}"#.to_owned(),
        name => format!(r#"{{"type":"function", "function":{{"name":"{name}","parameters":{{}}}}}}"#),
    }
}

/// A turn: the user's text, as many calls in each of the answers before the last, which has text.
fn turn(index: usize, calls: &[usize]) -> Vec<String> {
    let mut messages = vec![match index % 2 {
        0 => format!(r#"{{"role":"user","content":"u{index}"}}"#),
        _ => format!(
            r#"{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"d"}}}},{{"type":"text","text":"u{index}"}}]}}"#
        ),
    }];
    for count in calls {
        let list: Vec<String> = (0..*count)
            .map(|call| {
                format!(r#"{{"id":"c{call}","type":"function","function":{{"name":"Read","arguments":"{{}}"}}}}"#)
            })
            .collect();
        let content = if count % 2 == 0 { "null" } else { r#""a""# };
        messages.push(format!(r#"{{"role":"assistant","content":{content}, "tool_calls":[{}]}}"#, list.join(" , ")));
        messages.extend(
            (0..*count).map(|call| format!(r#"{{"role":"tool","tool_call_id":"c{call}","content":"r{call}"}}"#)),
        );
    }
    messages
}

fn any_body() -> impl Strategy<Value = String> {
    let turns = prop::collection::vec(prop::collection::vec(1..4usize, 0..3), 1..4);
    let names = prop::sample::subsequence(vec!["Read", "Bash", "Grep", "web_search"], 0..=4);
    (turns, names, 0..4usize, any::<bool>()).prop_map(|(turns, names, choice, system)| {
        let mut messages: Vec<String> = vec![];
        if system {
            messages.push(
                r#"{"role":"system","content":[{"type":"text","text":"s"},{"type":"text","text":"z"}]}"#.to_owned(),
            );
            messages.push(r#"{"role":"developer","content":"s2"}"#.to_owned());
        }
        for (index, calls) in turns.iter().enumerate() {
            if index > 0 {
                messages.push(r#"{"role":"assistant","content":"a"}"#.to_owned());
            }
            messages.extend(turn(index, calls));
        }
        let mut members = vec![format!(r#""messages":[{}]"#, messages.join(" ,"))];
        if let Some(first) = names.first() {
            let list: Vec<String> = names.iter().map(|name| definition(name)).collect();
            members.insert(0, format!(r#""tools":[{}]"#, list.join(", ")));
            let chosen = match *first {
                "web_search" => definition(first),
                "Grep" => r#"{"type":"custom","custom":{"name":"Grep"}}"#.to_owned(),
                name => format!(r#"{{"type":"function","function":{{"name":"{name}"}}}}"#),
            };
            match choice {
                0 => members.push(r#""tool_choice":"auto","parallel_tool_calls":true"#.to_owned()),
                1 => members.push(format!(r#""tool_choice":{chosen}"#)),
                2 => members.push(format!(
                    r#""tool_choice":{{"type":"allowed_tools","allowed_tools":{{"mode":"auto","tools":[{chosen}]}}}}"#
                )),
                _ => {}
            }
        }
        members.push(FOREIGN.to_owned());
        format!("{{{}}}", members.join(","))
    })
}

/// The API's own rules for a history.
fn law(body: &Value) -> Result<(), String> {
    let messages = body["messages"].as_array().unwrap();
    let mut open: Vec<&str> = vec![];
    let mut speaks = false;
    for message in messages {
        let content = &message["content"];
        if *content == "" || content.as_array().is_some_and(Vec::is_empty) {
            return Err("no content".to_owned());
        }
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let call = open.iter().position(|call| *call == id).ok_or("a result without a call")?;
            open.remove(call);
            continue;
        }
        if !open.is_empty() {
            return Err(format!("{open:?} have no result"));
        }
        speaks |= message["role"] == "user" || message["role"] == "assistant";
        if message["role"] == "assistant" {
            match message.get("tool_calls").map(|calls| calls.as_array().unwrap()) {
                Some(calls) if calls.is_empty() => return Err("an empty list of calls".to_owned()),
                Some(calls) => open.extend(calls.iter().map(|call| call["id"].as_str().unwrap())),
                None if content.is_null() => return Err("an answer of nothing".to_owned()),
                None => {}
            }
        }
    }
    if !open.is_empty() || !speaks {
        return Err(format!("no end: {open:?}"));
    }
    let lists: Vec<&Value> = body.get("tools").into_iter().collect();
    if lists.is_empty() && body.get("parallel_tool_calls").is_some() {
        return Err("parallel calls without tools".to_owned());
    }
    tools_are_legal(body, &lists)
}

proptest! {
    #[test]
    fn edits_keep_the_law(body in any_body(), edits in prop::collection::vec(any_edit(), 1..5)) {
        obey(CHAT, body, &edits, law);
    }

    #[test]
    fn whatever_a_client_sends_is_survived(
        messages in prop::collection::vec(prop::sample::select(POOL.to_vec()), 0..5),
        tools in prop::sample::select(vec!["null", "7", "[]", "{}", r#"[{}]"#, r#"[{"type":"function","function":7},[],null]"#]),
        edit in any_edit(),
    ) {
        let body = format!(r#"{{"messages":[{}],"tools":{tools},"tool_choice":{tools},"max_tokens":{tools}}}"#, messages.join(","));
        let _ = CHAT.edited(&body, &edit);
    }
}
