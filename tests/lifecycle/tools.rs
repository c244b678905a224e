//! Tools bind: what the model calls is held to what hooks left it.
use crate::speech::{Finish, Speech, Words, every_form};
use crate::stage::{Agent, Play, Says, Stage, session};
use crate::support::provider::answer;
use crate::support::{Answer, Gate, Recorded, Step, soon};
use serde_json::{Value, json};

const NO_BASH: &str = "
hooks:
  - { name: no-bash, on: model.context, run: { edits: [{ op: tools.remove, names: ['ba*'] }] } }
";

const JUDGED: &str = "
hooks:
  - { name: judge, on: tool.call, run: { http: { url: 'HOOKS' } } }
";

/// The provider says one of these after the other, and the last one again and again.
fn says(script: Vec<Words>) -> Box<Says> {
    Box::new(move |request, n| Speech::of(request).answer(request, n, &script[n.min(script.len() - 1)]))
}

fn no_bash(script: Vec<Words>) -> Play {
    Play { hooks: NO_BASH, says: says(script), ..Play::default() }
}

/// The hook of `tool.call` answers so to calls of `bash`.
fn judged(script: Vec<Words>, tool: Value) -> Play {
    let answers = move |event: &Value| match event["tool"]["name"].as_str() {
        Some("bash") => (None, json!({ "tool": tool })),
        _ => (None, json!({})),
    };
    Play { hooks: JUDGED, says: says(script), answers: Box::new(answers), ..Play::default() }
}

fn agent(stage: &Stage, speech: Speech, stream: bool) -> Agent<'_> {
    Agent { tools: &["bash", "edit"], ..stage.agent(speech, stream) }
}

fn calls(text: &str, calls: &[&str]) -> Words {
    Words { calls: calls.iter().map(|call| (*call).to_owned()).collect(), ..Words::text(text) }
}

fn heard(speech: Speech, stream: bool, answer: &Answer) -> (String, Vec<String>) {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let heard = speech.heard(stream, &answer.body);
    (heard.text, heard.calls)
}

/// What the model sees, item by item and text by text; instructions and empty items apart.
fn seen(speech: Speech, body: &Value) -> Vec<String> {
    let items = speech.seen(body).items.into_iter();
    items
        .flat_map(|(role, texts)| texts.into_iter().map(move |text| format!("{}: {}", who(&role), text.trim())))
        .collect()
}

/// Roles in the words of all dialects.
fn who(role: &str) -> &str {
    match role {
        "model" | "assistant" | "function_call" | "message" => "model",
        _ => "user",
    }
}

fn without_words(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).filter(|line| line.contains('<')).collect()
}

#[tokio::test]
async fn a_call_to_a_removed_tool_is_answered_and_the_model_goes_on() {
    for (speech, stream) in every_form() {
        let stage =
            Stage::play(no_bash(vec![calls("let me", &["bash.1"]), Words::text("done"), Words::text("bye")])).await;
        let mut agent = agent(&stage, speech, stream);
        let (text, called) = heard(speech, stream, &agent.prompt("go").await);
        assert!(text.contains("let me") && text.contains("done") && called.is_empty(), "{speech:?} {stream} {text}");
        let second = stage.bodies()[1].to_string();
        assert!(second.contains("is not available here"), "{speech:?} {second}");
        agent.prompt("and now").await;
        let lines = seen(speech, &stage.last_body());
        let expected = ["model: <call bash.1>", "user: <result bash.1>"];
        assert_eq!(without_words(&lines), expected, "{speech:?} {stream} {lines:?}");
        let place = |needle: &str| lines.iter().position(|line| line.contains(needle)).expect(needle);
        assert!(place("let me") <= place("<call") && place("<result") < place("done"), "{speech:?} {lines:?}");
        assert!(place("done") < place("and now"));
        assert_eq!(stage.bodies().len(), 3);
    }
}

#[tokio::test]
async fn a_model_that_insists_is_stopped_at_the_cap_with_an_answer_that_ended_by_itself() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(no_bash((0..9).map(|n| calls("", &[&format!("bash.{n}")])).collect())).await;
        let mut agent = agent(&stage, speech, stream);
        let answer = agent.prompt("go").await;
        let (text, called) = heard(speech, stream, &answer);
        assert!(called.is_empty() && text.contains("is not available here"), "{speech:?} {stream} {}", answer.text());
        let finish = speech.heard(stream, &answer.body).finish.unwrap();
        assert!(["end_turn", "stop", "completed", "STOP"].contains(&finish.as_str()), "{speech:?} {finish}");
        assert_eq!(stage.bodies().len(), 4, "1 + continuation.max_per_turn");
        agent.prompt("and now").await;
        let lines = seen(speech, &stage.bodies()[4]);
        let pair = |n: usize| [format!("model: <call bash.{n}>"), format!("user: <result bash.{n}>")];
        assert_eq!(without_words(&lines), (0..4).flat_map(pair).collect::<Vec<_>>(), "{speech:?} {stream} {lines:?}");
    }
}

#[tokio::test]
async fn beside_an_allowed_call_a_refused_one_is_hidden_and_stands_in_later_requests() {
    for (speech, stream) in every_form() {
        let script = vec![calls("both", &["bash.1", "edit.2", "bash.3"]), Words::text("done")];
        let stage = Stage::play(no_bash(script)).await;
        let mut agent = agent(&stage, speech, stream);
        let (text, called) = heard(speech, stream, &agent.prompt("go").await);
        assert_eq!((text.as_str(), called), ("both", vec!["edit.2".to_owned()]), "{speech:?} {stream}");
        agent.result("edit.2", "edited").await;
        assert_eq!(stage.bodies().len(), 2);
        agent.prompt("and now").await;
        for body in stage.bodies().iter().skip(1) {
            let lines = seen(speech, body);
            let ids = |what: &str| -> Vec<String> {
                let of = |line: &&String| line.contains(&format!("<{what} "));
                lines.iter().filter(of).map(|line| line.split(['<', '>']).nth(1).unwrap().to_owned()).collect()
            };
            assert_eq!(ids("call"), ["call bash.1", "call edit.2", "call bash.3"], "{speech:?} {stream} {lines:?}");
            let mut results = ids("result");
            results.sort();
            assert_eq!(results, ["result bash.1", "result bash.3", "result edit.2"], "{speech:?} {stream} {lines:?}");
            assert!(body.to_string().contains("edited"));
        }
    }
}

#[tokio::test]
async fn tools_that_no_hook_touched_do_not_bind() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(no_bash(vec![calls("", &["bash.1"])])).await;
        let mut agent = stage.agent(speech, stream);
        let (_, called) = heard(speech, stream, &agent.prompt("go").await);
        assert_eq!(called, ["bash.1"], "{speech:?}: the request had no such tool, so that none was removed");
    }
}

#[tokio::test]
async fn tools_bind_where_there_is_no_session_too() {
    for (speech, stream) in every_form() {
        let play = no_bash(vec![calls("let me", &["bash.1"]), Words::text("done")]);
        let stage = Stage::play(Play { settings: "sessions: { without_id: none }", ..play }).await;
        let mut agent = agent(&stage, speech, stream).headers("");
        let (text, called) = heard(speech, stream, &agent.prompt("go").await);
        assert!(text.contains("done") && called.is_empty(), "{speech:?} {stream} {text}");
    }
}

#[tokio::test]
async fn a_denied_call_brings_the_model_the_reason() {
    for (speech, stream) in every_form() {
        let script = vec![calls("let me", &["bash.1"]), Words::text("done")];
        let stage = Stage::play(judged(script, json!({"deny": "not on fridays"}))).await;
        let mut agent = agent(&stage, speech, stream);
        let (text, called) = heard(speech, stream, &agent.prompt("go").await);
        assert!(text.contains("done") && called.is_empty(), "{speech:?} {stream} {text}");
        assert!(stage.last_body().to_string().contains("not on fridays"), "{speech:?}");
        let asked = stage.events("tool.call");
        assert_eq!(asked.len(), 1);
        let expected = json!({"name": "bash", "input": {}, "result": null, "is_error": false});
        for (member, value) in expected.as_object().unwrap() {
            assert_eq!(asked[0]["tool"][member], *value, "{speech:?} {member}");
        }
        assert_eq!(asked[0]["prompt"]["text"], "go");
    }
}

#[tokio::test]
async fn a_call_gets_another_input_and_the_model_keeps_its_own() {
    for (speech, stream) in every_form() {
        let script = vec![calls("let me", &["bash.1"]), Words::text("done")];
        let stage = Stage::play(judged(script, json!({"input": {"command": "ls"}}))).await;
        let mut agent = agent(&stage, speech, stream);
        let answer = agent.prompt("go").await;
        let (_, called) = heard(speech, stream, &answer);
        assert_eq!(called, ["bash.1"], "{speech:?} {stream}");
        assert!(
            answer.text().contains("command") && answer.text().contains("ls"),
            "{speech:?} {stream} {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn a_call_that_no_hook_minds_passes_byte_for_byte() {
    for (speech, stream) in every_form() {
        let words = calls("let me", &["bash.1", "edit.2"]);
        let stage = Stage::play(judged(vec![words.clone()], json!({}))).await;
        let answer = agent(&stage, speech, stream).prompt("go").await;
        let sent: Vec<u8> = match stream {
            true => speech.frames(0, &words).concat(),
            false => answer.body.clone(),
        };
        assert_eq!(String::from_utf8_lossy(&answer.body), String::from_utf8_lossy(&sent), "{speech:?}");
        assert_eq!(stage.events("tool.call").len(), 2);
    }
}

#[tokio::test]
async fn text_is_not_delayed_by_a_call_that_is_held() {
    for speech in crate::speech::ALL {
        let gate = Gate::new();
        let held = gate.clone();
        let play = Play {
            hooks: JUDGED,
            says: says(vec![calls("WORDS", &["bash.1"])]),
            answers: Box::new(move |_| (Some(held.clone()), json!({}))),
            ..Play::default()
        };
        let stage = Stage::play(play).await;
        let mut agent = agent(&stage, speech, true);
        agent.history.push(crate::speech::Item::user("go"));
        let mut client = agent.begin().await;
        client.head().await;
        let mut text = String::new();
        soon(async {
            while !text.contains("WORDS") {
                text += &String::from_utf8_lossy(&client.chunk().await.unwrap().expect("more"));
            }
        })
        .await;
        stage.wait_events("tool.call", 1).await;
        assert!(!text.contains("bash.1"), "{speech:?} {text}");
        gate.open();
        soon(async {
            while let Ok(Some(chunk)) = client.chunk().await {
                text += &String::from_utf8_lossy(&chunk);
            }
        })
        .await;
        assert!(text.contains("bash.1"), "{speech:?} {text}");
    }
}

#[tokio::test]
async fn a_failed_check_lets_the_call_pass_unless_it_says_block() {
    for (on_error, passes) in [("skip", true), ("block", false)] {
        let hooks = format!(
            "\nhooks:\n  - {{ name: judge, on: tool.call, on_error: {on_error}, run: {{ http: {{ url: 'HOOKS' }} }} }}\n"
        );
        let play = Play {
            hooks: hooks.leak(),
            says: says(vec![calls("", &["bash.1"]), Words::text("done")]),
            answers: Box::new(|_| (None, Value::Null)),
            ..Play::default()
        };
        let stage = Stage::play(play).await;
        let (_, called) = heard(Speech::Anthropic, true, &agent(&stage, Speech::Anthropic, true).prompt("go").await);
        assert_eq!(!called.is_empty(), passes, "{on_error}");
    }
}

#[tokio::test]
async fn an_answer_that_can_not_be_read_does_not_go_down_where_tools_bind() {
    let compressed = |_: &Recorded, _: usize| {
        answer("200 OK", "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n", "xx")
    };
    let stage = Stage::play(Play { says: Box::new(compressed), ..no_bash(vec![Words::text("")]) }).await;
    let mut agent = agent(&stage, Speech::Anthropic, true);
    agent.history.push(crate::speech::Item::user("go"));
    let answer = agent.ask().await;
    assert_eq!(answer.status(), 502, "{}", answer.text());
    assert!(answer.text().contains("api_error"), "{}", answer.text());
}

/// What an overloaded provider says, and the words of it that name the error.
fn overloaded(speech: Speech) -> (&'static str, [&'static str; 2]) {
    match speech {
        Speech::Anthropic => (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Too busy"}}"#,
            [r#""type":"overloaded_error""#, r#""message":"Too busy""#],
        ),
        Speech::Gemini => (
            r#"{"error":{"code":503,"message":"Too busy","status":"RESOURCE_BUSY"}}"#,
            [r#""status":"RESOURCE_BUSY""#, r#""message":"Too busy""#],
        ),
        Speech::Chat | Speech::Responses => (
            r#"{"error":{"message":"Too busy","type":"slow_down","code":"engine_overloaded","param":null}}"#,
            [r#""code":"engine_overloaded""#, r#""message":"Too busy""#],
        ),
    }
}

/// An agent's answer behind a refused call, when the provider fails with these steps then.
async fn fails_behind(speech: Speech, stream: bool, fails: fn(&Recorded, usize) -> Vec<Step>) -> Answer {
    let says = move |request: &Recorded, n: usize| match n {
        0 => Speech::of(request).answer(request, n, &calls("let me", &["bash.1"])),
        _ => fails(request, n),
    };
    let stage = Stage::play(Play { says: Box::new(says), ..no_bash(vec![Words::text("")]) }).await;
    let mut agent = agent(&stage, speech, stream);
    agent.history.push(crate::speech::Item::user("go"));
    agent.ask().await
}

#[tokio::test]
async fn an_upstream_that_fails_behind_a_refused_call_fails_for_the_client_in_its_own_words() {
    for (speech, stream) in every_form() {
        let failed = fails_behind(speech, stream, |request, _| {
            let head = "content-type: application/json\r\nretry-after: 7\r\n";
            answer("529 Overloaded", head, overloaded(Speech::of(request)).0)
        })
        .await;
        let (status, text) = (failed.status(), failed.text());
        let ended = ["message_stop", "[DONE]", "response.completed"].iter().any(|end| text.contains(end));
        assert!(!ended, "{speech:?} {text}");
        assert!(overloaded(speech).1.iter().all(|word| text.contains(word)), "{speech:?} {text}");
        assert_eq!(status, if stream { 200 } else { 529 }, "{speech:?} {text}");
        assert!(stream || failed.head.all("retry-after") == ["7"], "{speech:?} {:?}", failed.head.headers);
    }
}

#[tokio::test]
async fn an_upstream_that_leaves_behind_a_refused_call_is_an_error_too() {
    for (speech, stream) in every_form() {
        let failed = fails_behind(speech, stream, |_, _| vec![Step::Close]).await;
        let (status, text) = (failed.status(), failed.text());
        assert!(text.contains("error"), "{speech:?} {text}");
        assert_eq!(status, if stream { 200 } else { 502 }, "{speech:?} {text}");
    }
}

#[tokio::test]
async fn a_leg_that_fails_in_its_middle_behind_a_refused_call_ends_with_the_upstreams_words() {
    for speech in crate::speech::ALL {
        let failed = fails_behind(speech, true, |request, n| {
            let speech = Speech::of(request);
            let mut stream = speech.frames(n, &Words::text("half")).concat();
            let end = stream.windows(4).position(|window| window == b"half").unwrap();
            let end = end + stream[end..].windows(2).position(|window| window == b"\n\n").unwrap() + 2;
            stream.truncate(end);
            let name = if speech == Speech::Anthropic { "event: error\n" } else { "" };
            let words = match speech {
                Speech::Responses => {
                    r#"{"type":"error","code":"engine_overloaded","message":"Too busy","param":null,"sequence_number":9}"#
                }
                _ => overloaded(speech).0,
            };
            stream.extend(format!("{name}data: {words}\n\n").into_bytes());
            answer("200 OK", "content-type: text/event-stream\r\n", String::from_utf8(stream).unwrap())
        })
        .await;
        let text = failed.text();
        assert!(overloaded(speech).1.iter().all(|word| text.contains(word)), "{speech:?} {text}");
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_short_says_so_even_where_its_calls_are_refused() {
    let words = Words { finish: Finish::Length, ..calls("let me", &["bash.1"]) };
    for (speech, stream) in every_form() {
        let stage = Stage::play(no_bash(vec![words.clone()])).await;
        let answer = agent(&stage, speech, stream).prompt("go").await;
        let heard = speech.heard(stream, &answer.body);
        assert!(heard.calls.is_empty(), "{speech:?} {stream}");
        let finish = heard.finish.unwrap_or_default();
        assert!(["max_tokens", "length", "incomplete", "MAX_TOKENS"].contains(&finish.as_str()), "{speech:?} {finish}");
        assert_eq!(stage.bodies().len(), 1);
    }
}

#[tokio::test]
async fn tools_that_can_not_be_seen_pass_or_are_stopped_as_configured() {
    let body =
        json!({"model": "m", "previous_response_id": "resp_0", "prompt": {"id": "pmpt_1"}, "input": "go"}).to_string();
    for (policy, requests) in [("pass", 1), ("block", 0)] {
        let settings = format!("policies: {{ on_opaque: {policy} }}").leak();
        let stage = Stage::play(Play { settings, ..no_bash(vec![Words::text("done")]) }).await;
        let answer = stage.post("/v1/responses", &session("s1"), &body).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(stage.provider.requests().len(), requests, "{policy} {}", answer.text());
    }
}

/// A Responses request whose history the provider holds.
fn delta(behind: &Value, input: &Value, stream: bool) -> String {
    let tools = json!([{"type": "function", "name": "bash", "parameters": {}}, {"type": "function", "name": "edit", "parameters": {}}]);
    let mut body = json!({"model": "m", "input": input, "tools": tools, "stream": stream});
    body.as_object_mut().unwrap().extend(behind.as_object().unwrap().clone());
    body.to_string()
}

/// The ids of the results that a request brings.
fn results(body: &Value) -> Vec<String> {
    let outputs = body["input"].as_array().into_iter().flatten().filter(|item| item["type"] == "function_call_output");
    outputs.map(|item| item["call_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_provider_that_holds_the_history_is_told_of_calls_that_the_client_does_not_know() {
    let output = json!([{"type": "function_call_output", "call_id": "edit.2", "output": "edited"}]);
    let next = json!([{"role": "user", "content": "next"}]);
    let insists: Vec<Words> = (0..9).map(|n| calls("", &[&format!("bash.{n}")])).collect();
    let mixed = vec![calls("both", &["bash.1", "edit.2"]), Words::text("done"), Words::text("bye")];
    for stream in [true, false] {
        for (script, input, owed, legs) in
            [(mixed.clone(), &output, "bash.1", 1), (insists.clone(), &next, "bash.3", 4)]
        {
            for (behind, then) in [
                (json!({}), json!({"previous_response_id": "msg_0"})),
                (json!({"conversation": "conv_1"}), json!({"conversation": "conv_1"})),
                (json!({"conversation": {"id": "conv_1"}}), json!({"conversation": {"id": "conv_1"}})),
            ] {
                let stage = Stage::play(no_bash(script.clone())).await;
                let first = delta(&behind, &json!([{"role": "user", "content": "go"}]), stream);
                stage.post("/v1/responses", &session("s1"), &first).await;
                stage.post("/v1/responses", &session("s1"), delta(&then, input, stream)).await;
                let told = results(&stage.bodies()[legs]);
                assert!(told.contains(&owed.to_owned()), "{stream} {then} {:?}", stage.bodies()[legs]);
            }
        }
    }
}

#[tokio::test]
async fn what_a_conversation_is_owed_is_told_once() {
    let stage =
        Stage::play(no_bash(vec![calls("", &["bash.1", "edit.2"]), Words::text("done"), Words::text("bye")])).await;
    let behind = json!({"conversation": "conv_1"});
    let output = json!([{"type": "function_call_output", "call_id": "edit.2", "output": "edited"}]);
    for input in [json!([{"role": "user", "content": "go"}]), output, json!([{"role": "user", "content": "next"}])] {
        let answer = stage.post("/v1/responses", &session("s1"), delta(&behind, &input, true)).await;
        assert_eq!(answer.status(), 200);
    }
    let told: Vec<_> = stage.bodies().iter().map(results).collect();
    assert_eq!(told, [vec![], vec!["bash.1".to_owned(), "edit.2".to_owned()], vec![]]);
}

#[tokio::test]
async fn an_answer_in_a_spelling_that_only_some_readers_take_does_not_go_down() {
    let call = r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"bash","input":{}}],"stop_reason":"tool_use","usage":{}}"#;
    let utf16: Vec<u8> = call.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for body in [
        format!("\u{feff}{call}").into_bytes(),
        utf16,
        format!("[{call}]").into_bytes(),
        format!("{{}}{call}").into_bytes(),
    ] {
        let says = move |_: &Recorded, _: usize| answer("200 OK", "content-type: application/json\r\n", body.clone());
        let stage = Stage::play(Play { says: Box::new(says), ..no_bash(vec![Words::text("")]) }).await;
        let mut agent = agent(&stage, Speech::Anthropic, false);
        agent.history.push(crate::speech::Item::user("go"));
        let answer = agent.ask().await;
        assert!(answer.status() == 502 && !answer.text().contains("bash"), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_call_behind_the_end_of_an_answer_does_not_go_down() {
    for speech in crate::speech::ALL {
        let says = |request: &Recorded, n: usize| {
            let speech = Speech::of(request);
            let mut steps = speech.answer(request, n, &Words::text("done"));
            let behind = speech.frames(n, &calls("", &["bash.1"]));
            let last = steps.pop();
            steps.extend(behind.iter().map(crate::support::Step::chunk));
            steps.extend(last);
            steps
        };
        let stage = Stage::play(Play { says: Box::new(says), ..no_bash(vec![Words::text("")]) }).await;
        let mut agent = agent(&stage, speech, true);
        agent.history.push(crate::speech::Item::user("go"));
        let answer = agent.ask().await;
        let (text, called) = heard(speech, true, &answer);
        assert!(text.contains("done") && called.is_empty(), "{speech:?} {}", answer.text());
    }
}

/// An answer of the Responses API with these items.
fn response(items: &[&str]) -> String {
    let usage = r#"{"input_tokens":1,"output_tokens":1}"#;
    let items = items.join(",");
    format!(r#"{{"id":"resp_1","object":"response","status":"completed","output":[{items}],"usage":{usage}}}"#)
}

#[tokio::test]
async fn a_call_whose_result_can_not_be_a_text_is_refused_in_a_text_and_forgotten() {
    let screen = r#"{"type":"computer_call","id":"cu_1","call_id":"c1","action":{"type":"wait"},"status":"completed"}"#;
    let function = r#"{"type":"function_call","id":"fc_1","call_id":"c2","name":"look","arguments":"{}"}"#;
    let says = move |_: &Recorded, n: usize| {
        let items: &[&str] = if n == 0 { &[screen] } else { &[screen, function] };
        answer("200 OK", "content-type: application/json\r\n", response(items))
    };
    let hooks =
        "hooks: [{ name: judge, on: tool.call, when: 'tool.name == \"computer\"', run: { http: { url: 'HOOKS' } } }]";
    let answers = Box::new(|_: &Value| (None, json!({"tool": {"deny": "NO SCREENS"}})));
    let stage = Stage::play(Play { hooks, says: Box::new(says), answers, ..Play::default() }).await;
    let mut agent = stage.agent(Speech::Responses, false);
    let refused = agent.prompt("go").await;
    assert!(refused.text().contains("NO SCREENS") && !refused.text().contains("computer_call"), "{}", refused.text());
    assert_eq!(stage.bodies().len(), 1);
    let shown = agent.prompt("look then").await;
    assert!(shown.text().contains("function_call") && !shown.text().contains("computer_call"), "{}", shown.text());
    agent.result("c2", "seen").await;
    let last = stage.last_body().to_string();
    assert!(last.contains("seen") && !last.contains("computer_call"), "{last}");
}
