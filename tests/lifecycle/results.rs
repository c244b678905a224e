//! `tool.result`: what hooks are told of a tool's result, how often, and what the model sees of it, in this request and later.
use crate::speech::{ALL, Item, Speech, Words, every_form};
use crate::stage::{Agent, Play, Stage, session};
use crate::support::Recorded;
use serde_json::{Value, json};
use std::collections::HashSet;

const HOOK: &str = "hooks:
  - { name: screen, on: tool.result, run: { http: { url: 'HOOKS' } } }
";

/// Every result is replaced, and something is said of it.
fn cleans(event: &Value) -> Value {
    let id = event["tool"]["id"].as_str().unwrap();
    json!({"tool": {"result": format!("CLEAN({id})")}, "context": format!("NOTE({id})")})
}

/// A call of each number of calls, then text.
fn calls_of(calls: &'static [usize]) -> impl Fn(&Recorded, usize) -> Vec<crate::support::Step> + Send + Sync {
    move |request, n| {
        let count = calls.get(n).copied().unwrap_or_default();
        let calls = (0..count).map(|call| format!("call_{n}_{call}")).collect();
        let text = if count == 0 { format!("ANSWER{n}") } else { String::new() };
        Speech::of(request).answer(request, n, &Words { calls, ..Words::text(text) })
    }
}

fn play(calls: &'static [usize]) -> Play {
    Play {
        hooks: HOOK,
        says: Box::new(calls_of(calls)),
        answers: Box::new(|event| (None, cleans(event))),
        ..Play::default()
    }
}

/// Both results of a step stand in one message where the dialect wants that.
fn together(agent: &Agent<'_>) -> String {
    let mut body: Value = serde_json::from_str(&agent.body()).unwrap();
    let (list, content) = match agent.speech {
        Speech::Anthropic => ("messages", "content"),
        Speech::Gemini => ("contents", "parts"),
        Speech::Chat | Speech::Responses => return body.to_string(),
    };
    let mut merged: Vec<Value> = vec![];
    for message in body[list].as_array().unwrap() {
        let is_result = |m: &Value| {
            m[content].to_string().contains("tool_result") || m[content].to_string().contains("functionResponse")
        };
        match merged.last_mut() {
            Some(last) if is_result(last) && is_result(message) => {
                let more = message[content].as_array().unwrap().clone();
                last[content].as_array_mut().unwrap().extend(more);
            }
            _ => merged.push(message.clone()),
        }
    }
    body[list] = merged.into();
    body.to_string()
}

/// Sends the history, results together, and keeps the answer.
async fn send(agent: &mut Agent<'_>) {
    let (body, target) = (together(agent), agent.speech.target(agent.stream));
    let answer = agent.stage.post(target, &agent.headers, body).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    agent.history.push(agent.speech.heard(agent.stream, &answer.body).item());
}

/// The part of a body that holds the history, from its first result to its last.
fn results(body: &str, last: &str) -> String {
    let first = body.find("CLEAN(").unwrap_or_else(|| panic!("{body}"));
    let end = body.rfind(last).unwrap_or_else(|| panic!("{body}")) + last.len();
    body[first..end].to_owned()
}

fn sent(stage: &Stage) -> Vec<String> {
    stage.provider.requests().iter().map(|r| String::from_utf8(r.body.clone()).unwrap()).collect()
}

#[tokio::test]
async fn a_result_is_told_once_with_its_call_and_stands_changed_from_then_on() {
    for layout in ["injection: { layout: system }", "injection: { layout: stable, retain: turn }"] {
        for (speech, stream) in every_form() {
            let stage = Stage::play(Play { settings: layout, ..play(&[1, 1]) }).await;
            let mut agent = stage.agent(speech, stream);
            agent.prompt("one").await;
            agent.result("call_0_0", "the key is sk-abc").await;
            agent.result("call_1_0", "found").await;
            agent.prompt("two").await;
            agent.prompt("three").await;
            let told = stage.events("tool.result");
            assert_eq!(told.len(), 2, "{speech:?}");
            let expected = json!({"id": "call_0_0", "name": "look", "input": {}, "result": "the key is sk-abc", "is_error": false});
            assert_eq!(told[0]["tool"], expected, "{speech:?}");
            assert_eq!((&told[0]["session"]["turn"], &told[0]["prompt"]["text"]), (&json!(1), &json!("one")));
            let bodies = sent(&stage);
            assert!(!bodies[0].contains("CLEAN"), "{speech:?}");
            assert!(bodies.iter().all(|body| !body.contains("sk-abc")), "{speech:?}");
            let first = results(&bodies[1], "NOTE(call_0_0)");
            assert!(first.contains("source=\\\"screen\\\""), "{speech:?} {first}");
            assert!(bodies[1..].iter().all(|body| body.contains(&first)), "{speech:?}");
            let both = results(&bodies[2], "NOTE(call_1_0)");
            assert!(bodies[2..].iter().all(|body| body.contains(&both)), "{speech:?} {layout}");
        }
    }
}

#[tokio::test]
async fn parallel_results_are_told_apart_and_keep_their_order() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(play(&[3])).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        for call in 0..3 {
            agent.history.push(Item::result(&format!("call_0_{call}"), &format!("found {call}")));
        }
        send(&mut agent).await;
        agent.history.push(Item::user("two"));
        send(&mut agent).await;
        let told: HashSet<String> = stage
            .events("tool.result")
            .iter()
            .map(|e| format!("{} {}", e["tool"]["id"], e["tool"]["result"]))
            .collect();
        let expected: HashSet<String> = (0..3).map(|n| format!("\"call_0_{n}\" \"found {n}\"")).collect();
        assert_eq!((told, stage.events("tool.result").len()), (expected, 3), "{speech:?}");
        let bodies = sent(&stage);
        for body in &bodies[1..] {
            let places: Vec<_> = (0..3)
                .flat_map(|n| [format!("CLEAN(call_0_{n})"), format!("NOTE(call_0_{n})")])
                .map(|text| body.find(&text).unwrap_or_else(|| panic!("{speech:?} {text} {body}")))
                .collect();
            assert!(places.is_sorted(), "{speech:?} {body}");
        }
        let last = "NOTE(call_0_2)";
        assert_eq!(results(&bodies[1], last), results(&bodies[2], last), "{speech:?}");
    }
}

#[tokio::test]
async fn a_retry_a_restart_and_twenty_at_once_tell_it_once() {
    for (speech, stream) in every_form() {
        let settings = "store: { kind: sled, path: ./data }";
        let mut stage = Stage::play(Play { settings, ..play(&[1]) }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        agent.history.push(Item::result("call_0_0", "found"));
        futures_util::future::join_all((0..20).map(|_| agent.ask())).await;
        let history = agent.history.clone();
        stage.restart().await;
        let mut agent = stage.agent(speech, stream);
        agent.history = history;
        agent.ask().await;
        let bodies = sent(&stage);
        assert!(bodies[1..].iter().all(|body| *body == bodies[1]), "{speech:?}");
        assert!(bodies[1].contains("CLEAN(call_0_0)"), "{speech:?}");
        assert_eq!(stage.events("tool.result").len(), 1, "{speech:?} stream={stream}");
    }
}

#[tokio::test]
async fn the_same_call_with_another_result_is_told_again() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(play(&[1])).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        for text in ["found", "sk-abc", "found"] {
            agent.history.push(Item::result("call_0_0", text));
            agent.ask().await;
            agent.history.pop();
        }
        assert_eq!(stage.events("tool.result").len(), 2, "{speech:?}");
        assert!(sent(&stage).iter().all(|body| !body.contains("sk-abc")), "{speech:?}");
    }
}

#[tokio::test]
async fn what_was_answered_elsewhere_is_history_and_the_open_step_is_not() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(play(&[])).await;
        let mut agent = stage.agent(speech, stream);
        let call = |id: &str| Item::Model { text: String::new(), calls: vec![id.into()] };
        agent.history = vec![
            Item::user("one"),
            call("old"),
            Item::result("old", "seen"),
            call("new"),
            Item::result("new", "found"),
        ];
        agent.send().await;
        let told = stage.events("tool.result");
        assert_eq!(told.len(), 1, "{speech:?}");
        assert_eq!((&told[0]["tool"]["id"], &told[0]["session"]["turn"]), (&json!("new"), &json!(1)), "{speech:?}");
        let body = sent(&stage).remove(0);
        assert!(body.contains("seen") && body.contains("CLEAN(new)") && !body.contains("CLEAN(old)"), "{speech:?}");
    }
}

/// Gemini's own ids are optional: the function and its arguments tell calls apart.
#[tokio::test]
async fn results_without_ids_are_told_by_function_and_arguments() {
    let stage = Stage::play(Play {
        answers: Box::new(|event| {
            let tool = &event["tool"];
            (None, json!({"tool": {"result": format!("CLEAN({} {})", tool["input"]["at"], tool["result"])}}))
        }),
        ..play(&[])
    })
    .await;
    let call = |at: u32| json!({"functionCall": {"name": "look", "args": {"at": at}}});
    let response = |text: &str| json!({"functionResponse": {"name": "look", "response": {"output": text}}});
    let mut contents = vec![json!({"role": "user", "parts": [{"text": "one"}]})];
    let post = async |contents: &[Value]| {
        let body = json!({"contents": contents}).to_string();
        stage.post(Speech::Gemini.target(false), &session("s1"), body).await
    };
    post(&contents).await;
    contents.push(json!({"role": "model", "parts": [call(1), call(2), call(1)]}));
    contents.push(json!({"role": "user", "parts": [response("a"), response("b"), response("c")]}));
    post(&contents).await;
    contents.push(json!({"role": "model", "parts": [call(2)]}));
    contents.push(json!({"role": "user", "parts": [response("d")]}));
    post(&contents).await;
    post(&contents).await;
    let told = stage.events("tool.result");
    assert_eq!(told.len(), 4);
    assert!(told.iter().all(|event| event["tool"]["id"] == "" && event["tool"]["name"] == "look"));
    let last = sent(&stage).pop().unwrap();
    let places: Vec<_> = ["1 \\\"a", "2 \\\"b", "1 \\\"c", "2 \\\"d"]
        .map(|text| last.find(&format!("CLEAN({text}")).unwrap_or_else(|| panic!("{text} {last}")))
        .into();
    assert!(places.is_sorted());
}

#[tokio::test]
async fn a_delta_brings_results_whose_calls_the_provider_holds() {
    let stage = Stage::play(play(&[1, 1])).await;
    let post = async |extra: Value, input: Value| {
        let mut body = json!({"model": "m", "instructions": "You are normal.", "input": input});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = stage.post("/v1/responses", &session("s1"), body.to_string()).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
    };
    let result = |call: &str| json!([{"type": "function_call_output", "call_id": call, "output": "sk-abc"}]);
    post(json!({}), json!("one")).await;
    post(json!({"previous_response_id": "msg_0"}), result("call_0_0")).await;
    post(json!({"previous_response_id": "msg_0"}), result("call_0_0")).await;
    // The provider lost it: all of the history again.
    let call = json!({"type": "function_call", "call_id": "call_0_0", "name": "look", "arguments": "{}"});
    let history = json!([{"role": "user", "content": "one"}, call, result("call_0_0")[0]]);
    post(json!({}), history).await;
    let told = stage.events("tool.result");
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["tool"]["name"], &told[0]["tool"]["input"]), (&json!("look"), &json!({})));
    assert_eq!(told[0]["prompt"]["text"], "one");
    for body in &sent(&stage)[1..] {
        assert!(body.contains("CLEAN(call_0_0)") && body.contains("NOTE(call_0_0)") && !body.contains("sk-abc"));
    }
}

#[tokio::test]
async fn a_thread_brings_only_the_results_of_its_step() {
    let stage = Stage::play(play(&[1])).await;
    let post = async |thread: Value, messages: Value| {
        let body = json!({"model": "m", "max_tokens": 9, "system": "S", "thread": thread, "messages": messages});
        let answer = stage.post("/v1/messages?beta=true", &session("s1"), body.to_string()).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
    };
    post(json!({"type": "create"}), json!([{"role": "user", "content": "one"}])).await;
    let result = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_0_0", "content": "sk-abc", "is_error": true}]}]);
    post(json!({"type": "continue", "previous_message_id": "msg_0"}), result).await;
    let told = stage.events("tool.result");
    assert_eq!((&told[0]["tool"]["name"], &told[0]["tool"]["is_error"]), (&json!("look"), &json!(true)));
    let sent = stage.last_body();
    assert_eq!(sent["messages"][0]["content"][0]["content"][0]["text"], "CLEAN(call_0_0)");
    assert_eq!(sent["messages"][0]["content"][0]["is_error"], true);
}

#[tokio::test]
async fn an_audited_or_failing_hook_changes_nothing() {
    for hooks in [
        "hooks: [{ name: screen, on: tool.result, mode: audit, run: { http: { url: 'HOOKS' } } }]",
        "hooks: [{ name: screen, on: tool.result, run: { command: [sh, -c, 'echo NOTE; exit 3'] } }]",
        "hooks: [{ name: screen, on: tool.result, when: 'tool.name == \"other\"', run: { http: { url: 'HOOKS' } } }]",
    ] {
        for (speech, stream) in every_form() {
            let stage = Stage::play(Play { hooks, ..play(&[1]) }).await;
            let mut agent = stage.agent(speech, stream);
            agent.prompt("one").await;
            agent.history.push(Item::result("call_0_0", "found"));
            let body = agent.body();
            agent.send().await;
            assert_eq!(sent(&stage)[1], body, "{speech:?}");
        }
    }
}

#[tokio::test]
async fn a_check_that_must_be_made_holds_the_result_back_for_good() {
    let hooks = "hooks:
  - { name: check, on: tool.result, run: { command: [sh, -c, 'exit 3'] }, on_error: block }
  - { name: screen, on: tool.result, run: { http: { url: 'HOOKS' } } }
";
    for (speech, stream) in every_form() {
        let stage = Stage::play(Play { hooks, ..play(&[1]) }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        agent.history.push(Item::result("call_0_0", "sk-abc"));
        for _ in 0..2 {
            let answer = agent.ask().await;
            assert_eq!(answer.status(), 200, "{speech:?}");
            assert!(speech.heard(stream, &answer.body).text.contains("check"), "{speech:?}");
        }
        assert_eq!((sent(&stage).len(), stage.events("tool.result").len()), (1, 1), "{speech:?}");
        agent.send().await;
        agent.prompt("go on").await;
        let body = sent(&stage).pop().unwrap();
        assert!(!body.contains("sk-abc") && body.contains("go on"), "{speech:?} {body}");
    }
}

#[tokio::test]
async fn plain_output_is_context_within_the_room_of_the_turn() {
    let hooks = "hooks:
  - { name: prompt, on: prompt.submit, run: { text: '12345' } }
  - { name: lint, on: tool.result, run: { command: [echo, abcdefgh] } }
";
    for (speech, stream) in every_form() {
        let settings = "lifecycle: { max_injected_context_chars: 16 }\ninjection: { layout: stable }";
        let stage = Stage::play(Play { hooks, settings, ..play(&[1, 1, 0, 1]) }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        agent.result("call_0_0", "found").await;
        agent.result("call_1_0", "found").await;
        agent.prompt("two").await;
        agent.result("call_3_0", "found").await;
        let body = sent(&stage).pop().unwrap();
        assert_eq!(body.matches("abcdefgh").count(), 2, "{speech:?} {body}");
        assert_eq!(body.matches("abc\\n[… cut: 3 of 8 characters]").count(), 1, "{speech:?} {body}");
    }
}

#[tokio::test]
async fn what_took_a_results_place_holds_in_requests_that_are_no_turns() {
    let stage = Stage::play(play(&[1])).await;
    let mut agent = stage.agent(Speech::Anthropic, false);
    agent.prompt("one").await;
    agent.result("call_0_0", "sk-abc").await;
    let mut count: Value = serde_json::from_str(&agent.body()).unwrap();
    stage.post("/v1/messages/count_tokens", &session("s1"), count.to_string()).await;
    let counted = sent(&stage).pop().unwrap();
    assert!(counted.contains("CLEAN") && !counted.contains("sk-abc") && !counted.contains("NOTE"), "{counted}");
    // Another agent on the same history (its instructions and its answer's shape are others), and a compaction.
    count["system"] = json!("Summarize.");
    let side = "sessions: { side_requests: ['request.system[0] == \"Summarize.\"'] }";
    let stage = Stage::play(Play { settings: side, ..play(&[1]) }).await;
    let mut agent = stage.agent(Speech::Anthropic, false);
    agent.prompt("one").await;
    agent.result("call_0_0", "sk-abc").await;
    stage.post(Speech::Anthropic.target(false), &session("s1"), count.to_string()).await;
    let body = sent(&stage).pop().unwrap();
    assert!(body.contains("Summarize.") && body.contains("CLEAN") && !body.contains("sk-abc"), "{body}");
    assert_eq!(stage.events("tool.result").len(), 1);
}

#[tokio::test]
async fn a_compacted_history_begins_anew() {
    let headers = format!("{}user-agent: codex_cli_rs/1\r\noriginator: codex_cli_rs\r\n", session("s1"));
    let window = |n: u32| format!("{headers}x-codex-window-id: s1:{n}\r\n");
    let stage = Stage::play(play(&[1])).await;
    let mut agent = stage.agent(Speech::Responses, true).headers(window(0));
    agent.prompt("one").await;
    agent.result("call_0_0", "found").await;
    let mut agent = stage.agent(Speech::Responses, true).headers(window(1));
    agent.history = vec![Item::user("summary of it all"), Item::user("two")];
    agent.send().await;
    let body = sent(&stage).pop().unwrap();
    assert!(!body.contains("CLEAN") && !body.contains("NOTE"), "{body}");
}

#[tokio::test]
async fn order_of_events_in_one_request() {
    let hooks = "hooks:
  - { name: all, on: [session.start, tool.result, prompt.submit], run: { http: { url: 'HOOKS' } } }
  - { name: last, on: model.context, run: { http: { url: 'HOOKS' } } }
";
    for speech in ALL {
        let stage = Stage::play(Play { hooks, answers: Box::new(|_| (None, json!({}))), ..play(&[]) }).await;
        let mut agent = stage.agent(speech, false);
        agent.history = vec![
            Item::user("one"),
            Item::Model { text: String::new(), calls: vec!["call".into()] },
            Item::result("call", "found"),
        ];
        agent.ask().await;
        let order: Vec<String> = stage
            .hooks
            .requests()
            .iter()
            .map(|r| serde_json::from_slice::<Value>(&r.body).unwrap()["event"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(order, ["session.start", "tool.result", "model.context"], "{speech:?}");
    }
}
