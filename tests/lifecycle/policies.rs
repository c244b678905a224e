//! `model.context`: edits of everything that goes to a model.
use crate::speech::{ALL, Speech, Words, every_form};
use crate::stage::{Play, Stage, session};
use serde_json::{Value, json};

fn rules(yaml: String) -> Play {
    Play { hooks: yaml.leak(), ..Play::default() }
}

/// One hook on model.context with these edits.
fn edits(edits: &str) -> Play {
    rules(format!("hooks:\n  - {{ name: rule, on: model.context, run: {{ edits: {edits} }} }}\n"))
}

fn tools(speech: Speech, body: &Value) -> usize {
    match speech {
        Speech::Gemini => body["tools"].as_array().map_or(0, |tools| {
            tools.iter().map(|tool| tool["functionDeclarations"].as_array().map_or(0, Vec::len)).sum()
        }),
        _ => body["tools"].as_array().map_or(0, Vec::len),
    }
}

#[tokio::test]
async fn a_removed_tool_is_not_there_in_any_dialect() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(edits("[{ op: tools.remove, names: ['lo*'] }]")).await;
        stage.agent(speech, stream).prompt("hello").await;
        assert_eq!(tools(speech, &stage.last_body()), 0, "{speech:?} {}", stage.last_body());
    }
}

/// A batch of two requests, in the words of a provider that takes the bodies themselves.
fn batch(speech: Speech, prompts: [&str; 2]) -> (&'static str, String) {
    let bodies = prompts.map(|prompt| speech.body(&[crate::speech::Item::user(prompt)], false, &["look"]));
    match speech {
        Speech::Anthropic => {
            let requests = bodies.map(|body| json!({"custom_id": "x", "params": body}));
            ("/v1/messages/batches", json!({ "requests": requests }).to_string())
        }
        _ => {
            let requests = bodies.map(|body| json!({"request": body, "metadata": {"key": "x"}}));
            let batch = json!({"displayName": "b", "input_config": {"requests": {"requests": requests}}});
            ("/v1beta/models/test-model:batchGenerateContent", json!({ "batch": batch }).to_string())
        }
    }
}

const BATCHED: [Speech; 2] = [Speech::Anthropic, Speech::Gemini];

#[tokio::test]
async fn each_body_of_a_batch_is_policed_and_nothing_else_of_it_changes() {
    for speech in BATCHED {
        let stage = Stage::play(edits("[{ op: messages.redact, pattern: 'sk-[a-z]+', with: KEY }]")).await;
        let (target, body) = batch(speech, ["say sk-abc", "hello"]);
        let answer = stage.post(target, &session("s1"), &body).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let sent = stage.provider.request().body;
        assert_eq!(String::from_utf8_lossy(&sent), body.replace("sk-abc", "KEY"), "{speech:?}");
    }
}

#[tokio::test]
async fn hooks_are_told_that_a_body_is_one_of_a_batch() {
    let yaml = "hooks:
  - { name: b, on: model.context, when: 'request.kind == \"batch\"', run: { edits: [{ op: system.append, text: BATCHED }] } }
";
    for speech in BATCHED {
        let stage = Stage::play(rules(yaml.to_owned())).await;
        let (target, body) = batch(speech, ["one", "two"]);
        stage.post(target, &session("s1"), &body).await;
        assert_eq!(stage.last_body().to_string().matches("BATCHED").count(), 2, "{speech:?}");
    }
}

#[tokio::test]
async fn a_body_that_a_hook_blocks_keeps_the_whole_batch_back() {
    let hooks = "hooks:\n  - { name: b, on: model.context, include: [request], run: { http: { url: 'HOOKS' } } }\n";
    for speech in BATCHED {
        let answers = |event: &Value| {
            let blocks = event["request"]["messages"][0]["text"].as_str().unwrap().contains("forbidden");
            (None, if blocks { json!({"block": {"reason": "policy 7"}}) } else { json!({}) })
        };
        let stage = Stage::play(Play { hooks, answers: Box::new(answers), ..Play::default() }).await;
        let (target, body) = batch(speech, ["one", "forbidden"]);
        let answer = stage.post(target, &session("s1"), &body).await;
        assert_eq!((answer.status(), answer.text().contains("policy 7")), (400, true), "{speech:?} {}", answer.text());
        assert!(stage.provider.requests().is_empty());
    }
}

#[tokio::test]
async fn a_batch_that_can_be_read_in_two_ways_does_not_go_up() {
    for (target, body) in [
        ("/v1/messages/batches", r#"{"requests":[{"custom_id":"a","params":{"messages":[]},"p\u0061rams":{}}]}"#),
        ("/v1/messages/batches", r#"{"requests":[{"custom_id":"a"}]}"#),
        (
            "/v1beta/models/m:batchGenerateContent",
            r#"{"batch":{"inputConfig":{},"input_config":{"requests":{"requests":[]}}}}"#,
        ),
    ] {
        let stage = Stage::play(edits("[{ op: tools.remove, names: [look] }]")).await;
        let answer = stage.post(target, &session("s1"), body).await;
        assert_eq!((answer.status(), stage.provider.requests().len()), (400, 0), "{body} {}", answer.text());
    }
}

#[tokio::test]
async fn a_rule_that_finds_nothing_leaves_every_byte() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(edits("[{ op: tools.remove, names: [nothing] }]")).await;
        let agent = {
            let mut agent = stage.agent(speech, stream);
            agent.prompt("hello").await;
            agent.history.pop();
            agent
        };
        assert_eq!(stage.provider.request().body, agent.body().into_bytes(), "{speech:?}");
    }
}

#[tokio::test]
async fn each_hook_sees_what_those_before_it_made() {
    let yaml = "hooks:
  - { name: first, on: model.context, run: { edits: [{ op: tools.remove, names: [look] }] } }
  - { name: second, on: model.context, when: 'size(tools) == 0', run: { edits: [{ op: system.append, text: NO-TOOLS }] } }
  - { name: third, on: model.context, when: 'size(tools) > 0', run: { edits: [{ op: system.append, text: TOOLS }] } }
";
    for (speech, stream) in every_form() {
        let stage = Stage::play(rules(yaml.to_owned())).await;
        stage.agent(speech, stream).prompt("hello").await;
        let system = speech.seen(&stage.last_body()).system.join("\n");
        assert!(system.contains("NO-TOOLS") && system.contains("You are normal."), "{speech:?} {system}");
    }
}

#[tokio::test]
async fn a_hook_whose_edit_can_not_be_made_changes_nothing() {
    let yaml = "hooks:
  - { name: broken, on: model.context, run: { edits: [{ op: system.append, text: HALF }, { op: tools.describe, name: none, text: x }] } }
  - { name: next, on: model.context, run: { edits: [{ op: system.append, text: NEXT }] } }
";
    for speech in ALL {
        let stage = Stage::play(rules(yaml.to_owned())).await;
        stage.agent(speech, true).prompt("hello").await;
        let body = stage.last_body().to_string();
        assert!(!body.contains("HALF") && body.contains("NEXT"), "{speech:?} {body}");
    }
}

#[tokio::test]
async fn a_hook_that_could_not_be_obeyed_is_counted_as_failed_and_nowhere_as_ok() {
    let yaml = "hooks:
  - { name: counted-rule, on: model.context, run: { edits: [{ op: tools.describe, name: none, text: x }] } }
";
    let stage = Stage::play(rules(yaml.to_owned())).await;
    stage.agent(Speech::Chat, true).prompt("hello").await;
    let metrics = hookgate::telemetry::metrics::install().render();
    let mine = |line: &&str| line.starts_with("hookgate_hook_runs_total{") && line.contains("counted-rule");
    let runs: Vec<&str> = metrics.lines().filter(mine).collect();
    let [run] = runs[..] else { panic!("{runs:?}") };
    assert!(run.contains(r#"result="failed""#) && run.ends_with(" 1"), "{run}");
}

#[tokio::test]
async fn what_an_audited_hook_would_have_done_is_counted_and_nothing_is_changed() {
    let yaml = "hooks:
  - { name: tried-rule, on: model.context, mode: audit, run: { edits: [{ op: tools.remove, names: ['*'] }] } }
  - { name: tried-check, on: prompt.submit, mode: audit, on_error: block, run: { command: ['false'] } }
";
    let stage = Stage::play(rules(yaml.to_owned())).await;
    stage.agent(Speech::Chat, true).prompt("hello").await;
    assert_eq!(tools(Speech::Chat, &stage.last_body()), 1);
    let metrics = hookgate::telemetry::metrics::install().render();
    for (hook, effect) in [("tried-rule", "edits"), ("tried-check", "block")] {
        let mine = |line: &&str| line.starts_with("hookgate_hook_audits_total{") && line.contains(hook);
        let audits: Vec<&str> = metrics.lines().filter(mine).collect();
        let [audit] = audits[..] else { panic!("{audits:?}") };
        assert!(audit.contains(&format!(r#"effect="{effect}""#)) && audit.ends_with(" 1"), "{audit}");
    }
}

#[tokio::test]
async fn a_rule_that_must_hold_refuses_the_request_when_it_can_not() {
    let yaml = "hooks:
  - { name: strict, on: model.context, on_error: block, run: { edits: [{ op: tools.describe, name: none, text: x }] } }
";
    for (speech, stream) in every_form() {
        let stage = Stage::play(rules(yaml.to_owned())).await;
        let answer = stage.agent(speech, stream).prompt("hello").await;
        assert!(speech.heard(stream, &answer.body).text.contains("strict"), "{speech:?} {}", answer.text());
        assert!(stage.provider.requests().is_empty(), "{speech:?}");
    }
}

#[tokio::test]
async fn text_is_appended_once_in_a_turn_and_stays_where_it_was() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(Play {
            says: Box::new(|request, n| {
                let words = if n == 0 { Words::call("look ", "call_0") } else { Words::text(format!("ANSWER{n}")) };
                Speech::of(request).answer(request, n, &words)
            }),
            ..edits("[{ op: messages.append, text: APPENDED }]")
        })
        .await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        agent.result("call_0", "found").await;
        agent.prompt("two").await;
        let bodies = stage.bodies();
        let counts: Vec<usize> = bodies.iter().map(|body| body.to_string().matches("APPENDED").count()).collect();
        assert_eq!(counts, [1, 1, 2], "{speech:?} stream={stream}");
        let (first, second) = (speech.seen(&bodies[0]), speech.seen(&bodies[1]));
        assert_eq!(first.items[..], second.items[..first.items.len()], "{speech:?}: the history only grows");
    }
}

#[tokio::test]
async fn a_condition_on_a_call_sees_the_clients_headers() {
    let hooks = "hooks:
  - { name: judge, on: tool.call, when: 'headers[\"x-team\"] == \"blue\"', run: { http: { url: 'HOOKS' } } }
";
    let stage = Stage::play(Play {
        hooks,
        says: Box::new(|request, n| {
            let words = if n == 0 { Words::call("", "call_0") } else { Words::text(format!("ANSWER{n}")) };
            Speech::of(request).answer(request, n, &words)
        }),
        answers: Box::new(|_| (None, json!({"tool": {"deny": "NOT-BLUE"}}))),
        ..Play::default()
    })
    .await;
    stage.agent(Speech::Anthropic, true).headers(session("s1") + "x-team: blue\r\n").prompt("one").await;
    assert!(stage.bodies()[1].to_string().contains("NOT-BLUE"));
}

#[tokio::test]
async fn headers_and_the_models_name_change_and_credentials_do_not() {
    let stage = Stage::play(edits(
        "[{ op: headers.set, name: x-team, value: blue }, { op: headers.remove, names: [x-old] }, { op: model.set, name: other-model }]",
    ))
    .await;
    for speech in ALL {
        let headers = session("s1") + "x-old: 1\r\n";
        stage.agent(speech, true).headers(headers).prompt("hello").await;
        let request = stage.provider.requests().pop().unwrap();
        assert_eq!(request.head.get("x-team"), Some("blue"), "{speech:?}");
        assert_eq!(request.head.get("x-old"), None, "{speech:?}");
        let named = format!("{} {}", request.target(), String::from_utf8_lossy(&request.body));
        assert!(named.contains("other-model") && !named.contains("test-model"), "{speech:?} {named}");
    }
    let stage = Stage::play(edits("[{ op: headers.set, name: authorization, value: Bearer other }]")).await;
    stage.agent(Speech::Chat, true).prompt("hello").await;
    assert_eq!(stage.provider.request().head.get("authorization"), Some("Bearer key"));
}

#[tokio::test]
async fn a_token_count_is_asked_for_what_the_model_would_see() {
    let stage = Stage::play(edits("[{ op: messages.redact, pattern: 'sk-[a-z]+', with: '***' }]")).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "my key is sk-abc"}]});
    stage.post("/v1/messages/count_tokens", &session("s1"), body.to_string()).await;
    assert_eq!(stage.last_body()["messages"][0]["content"], "my key is ***");
}

#[tokio::test]
async fn an_audited_rule_changes_nothing() {
    let yaml = "hooks:
  - { name: rule, mode: audit, on: model.context, run: { edits: [{ op: system.append, text: AUDITED }] } }
";
    let stage = Stage::play(rules(yaml.to_owned())).await;
    stage.agent(Speech::Anthropic, true).prompt("hello").await;
    assert!(!stage.last_body().to_string().contains("AUDITED"));
}

#[tokio::test]
async fn a_program_edits_what_it_read() {
    let yaml = "hooks:
  - { name: program, on: model.context, include: [request], run: { http: { url: 'HOOKS' } } }
";
    for (speech, stream) in every_form() {
        let stage = Stage::play(Play {
            answers: Box::new(|event| {
                let (request, model) = (&event["request"], &event["model"]);
                let saw = format!(
                    "{} {} {} {}",
                    request["kind"].as_str().unwrap(),
                    request["tools"][0]["name"].as_str().unwrap(),
                    model["dialect"].as_str().unwrap(),
                    event["session"]["id"].as_str().unwrap(),
                );
                (None, json!({"edits": [{"op": "system.append", "text": format!("SAW {saw}")}]}))
            }),
            ..rules(yaml.to_owned())
        })
        .await;
        stage.agent(speech, stream).prompt("hello").await;
        let system = speech.seen(&stage.last_body()).system.join("\n");
        assert!(system.contains("SAW turn look") && system.contains(" s1"), "{speech:?} {system}");
    }
}

#[tokio::test]
async fn a_hook_may_answer_in_the_models_place() {
    let yaml = "hooks:
  - { name: guard, on: model.context, run: { http: { url: 'HOOKS' } } }
";
    for (speech, stream) in every_form() {
        let stage = Stage::play(Play {
            answers: Box::new(|_| (None, json!({"respond": {"text": "FROM THE HOOK"}}))),
            ..rules(yaml.to_owned())
        })
        .await;
        let answer = stage.agent(speech, stream).prompt("hello").await;
        assert_eq!(speech.heard(stream, &answer.body).text, "FROM THE HOOK", "{speech:?}");
        assert!(stage.provider.requests().is_empty(), "{speech:?}");
    }
}

/// One hook on these events that answers with edits.
fn answering(on: &str, more: &str, edits: Value) -> Play {
    let yaml = format!("hooks:\n  - {{ name: program, on: {on}, {more} run: {{ http: {{ url: 'HOOKS' }} }} }}\n");
    Play {
        answers: Box::new(move |event| {
            let first = event["prompt"]["text"] == "one sk-abc";
            (None, if first { json!({"edits": edits}) } else { json!({}) })
        }),
        says: Box::new(|request, n| {
            let words = if n == 0 { Words::call("look ", "call_0") } else { Words::text(format!("ANSWER{n}")) };
            Speech::of(request).answer(request, n, &words)
        }),
        ..rules(yaml)
    }
}

#[tokio::test]
async fn edits_of_a_prompt_hold_for_its_turn_and_what_they_hide_stays_hidden() {
    let edits = json!([
        {"op": "system.append", "text": "THIS-TURN"},
        {"op": "messages.redact", "pattern": "sk-[a-z]+", "with": "***"},
        {"op": "messages.append", "text": "APPENDED"},
    ]);
    for on in ["prompt.submit", "session.start"] {
        for (speech, stream) in every_form() {
            let stage = Stage::play(answering(on, "", edits.clone())).await;
            let mut agent = stage.agent(speech, stream);
            agent.prompt("one sk-abc").await;
            agent.result("call_0", "found").await;
            agent.prompt("two").await;
            let count = |text: &str| -> Vec<usize> {
                stage.bodies().iter().map(|body| body.to_string().matches(text).count()).collect()
            };
            assert_eq!(count("THIS-TURN"), [1, 1, 0], "{on} {speech:?} {stream}");
            assert_eq!(count("sk-abc"), [0, 0, 0], "{on} {speech:?} {stream}");
            assert_eq!(count("APPENDED")[..2], [1, 1], "{on} {speech:?} {stream}");
        }
    }
}

#[tokio::test]
async fn edits_of_a_prompt_hold_for_a_retry_after_a_restart() {
    let mut stage = Stage::play(Play {
        settings: "store: { kind: sled, path: ./data }",
        ..answering("prompt.submit", "", json!([{"op": "system.append", "text": "THIS-TURN"}]))
    })
    .await;
    let history = {
        let mut agent = stage.agent(Speech::Chat, false);
        agent.prompt("one sk-abc").await;
        agent.result("call_0", "found").await;
        agent.history.pop();
        agent.history
    };
    stage.restart().await;
    let mut agent = stage.agent(Speech::Chat, false);
    agent.history = history;
    agent.send().await;
    assert!(stage.last_body().to_string().contains("THIS-TURN"));
    assert_eq!(stage.events("prompt.submit").len(), 1);
}

#[tokio::test]
async fn edits_of_a_prompt_that_can_not_be_made_are_left_out_or_refuse_the_request() {
    let edits = json!([{"op": "system.append", "text": "HALF"}, {"op": "tools.describe", "name": "none", "text": "x"}]);
    for (more, goes_up) in [("", 1), ("on_error: block,", 0)] {
        let stage = Stage::play(answering("prompt.submit", more, edits.clone())).await;
        let answer = stage.agent(Speech::Anthropic, false).prompt("one sk-abc").await;
        assert_eq!(stage.provider.requests().len(), goes_up, "{}", answer.text());
        assert!(!stage.bodies().iter().any(|body| body.to_string().contains("HALF")));
    }
}
