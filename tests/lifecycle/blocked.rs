//! Prompts that a hook refuses or answers itself: the client gets a legal message, the provider nothing, and the pair is
//! left out later. Audit hooks and failing hooks change nothing.
use crate::speech::{Item, Speech, every_form};
use crate::stage::{Play, Stage, usual};
use crate::support::{Answer, provider};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Refuses prompts with `secret` in them, answers those with `time`.
fn guard(event: &Value) -> Value {
    match event["prompt"]["text"].as_str() {
        Some(text) if event["event"] == "prompt.submit" && text.contains("secret") => {
            json!({"block": {"reason": "no secrets here"}})
        }
        Some(text) if event["event"] == "prompt.submit" && text.contains("time") => {
            json!({"respond": {"text": "it is noon"}})
        }
        _ => usual(event),
    }
}

async fn guarded() -> Stage {
    Stage::play(Play { answers: Box::new(|event| (None, guard(event))), ..Play::default() }).await
}

/// What a provider's SDK insists on.
fn assert_legal(speech: Speech, stream: bool, answer: &Answer) {
    assert_eq!(answer.status(), 200);
    assert!(answer.whole);
    let content_type = answer.head.get("content-type").unwrap();
    assert!(content_type.starts_with(if stream { "text/event-stream" } else { "application/json" }), "{content_type}");
    assert_eq!(answer.head.get("x-hookgate-session"), Some("s1"));
    let text = answer.text();
    let events: Vec<Value> = match stream {
        true => text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).unwrap())
            .collect(),
        false => vec![serde_json::from_str(&text).unwrap()],
    };
    let types: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    match (speech, stream) {
        (Speech::Anthropic, true) => {
            let expected = [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop",
            ];
            assert_eq!(types, expected);
            assert_eq!(events[0]["message"]["role"], "assistant");
            assert_eq!(text.matches("event: ").count(), expected.len());
        }
        (Speech::Anthropic, false) => assert_eq!((types, &events[0]["role"]), (vec!["message"], &json!("assistant"))),
        (Speech::Chat, true) => {
            assert!(text.ends_with("data: [DONE]\n\n"));
            assert!(events.iter().all(|event| event["object"] == "chat.completion.chunk"));
            assert!(events.iter().all(|event| event["id"] == events[0]["id"]));
        }
        (Speech::Chat, false) => assert_eq!(events[0]["object"], "chat.completion"),
        (Speech::Responses, true) => {
            assert_eq!((types.first(), types.last()), (Some(&"response.created"), Some(&"response.completed")));
            let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
            assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
            assert_eq!(events[0]["response"]["id"], events.last().unwrap()["response"]["id"]);
        }
        (Speech::Responses, false) => {
            assert_eq!((&events[0]["object"], &events[0]["status"]), (&json!("response"), &json!("completed")))
        }
        (Speech::Gemini, _) => {
            assert!(!text.contains("event:"));
            assert_eq!(events.last().unwrap()["candidates"][0]["finishReason"], "STOP");
            assert_eq!(events[0]["candidates"][0]["content"]["role"], "model");
        }
    }
}

#[tokio::test]
async fn i5_a_refused_prompt_is_answered_and_left_out_later() {
    for (speech, stream) in every_form() {
        for (prompt, reply) in [("a secret", "no secrets here"), ("the time?", "it is noon")] {
            let stage = guarded().await;
            let mut agent = stage.agent(speech, stream);
            agent.prompt("one").await;
            stage.wait_events("session.stop", 1).await;
            let answer = agent.prompt(prompt).await;
            assert_legal(speech, stream, &answer);
            assert_eq!(agent.history.last(), Some(&Item::model(reply)), "{speech:?}");
            assert_eq!(stage.provider.requests().len(), 1);
            agent.prompt("two").await;
            let body = stage.last_body();
            let seen = speech.seen(&body);
            let what = format!("{speech:?} stream={stream} {body}");
            assert_eq!(seen.items.len(), 3, "{what}");
            assert!(!body.to_string().contains(prompt) && !body.to_string().contains(reply), "{what}");
            assert!(seen.item(2).contains("two") && seen.item(2).contains("EPH(two)"), "{what}");
        }
    }
}

#[tokio::test]
async fn a_refused_first_prompt_is_left_out_too() {
    for (speech, stream) in every_form() {
        let stage = guarded().await;
        let mut agent = stage.agent(speech, stream);
        assert_legal(speech, stream, &agent.prompt("a secret").await);
        agent.prompt("one").await;
        let body = stage.last_body();
        assert_eq!(speech.seen(&body).items.len(), 1, "{speech:?} {body}");
        assert!(body.to_string().contains("SYS"), "{speech:?} {body}");
        assert_eq!(stage.runs()[0], 1);
    }
}

#[tokio::test]
async fn a_retry_of_a_refused_prompt_gets_the_same_reply_without_a_hook() {
    for (speech, stream) in every_form() {
        let mut stage = guarded().await;
        let mut agent = stage.agent(speech, stream);
        agent.history.push(Item::user("a secret"));
        for _ in 0..3 {
            let answer = agent.ask().await;
            assert_eq!(speech.heard(stream, &answer.body).text, "no secrets here");
        }
        stage.stop().await;
        assert_eq!((stage.runs(), stage.provider.requests().len()), ([1, 1, 0, 0, 0], 0), "{speech:?}");
    }
}

#[tokio::test]
async fn a_refused_prompt_stays_left_out_after_a_restart() {
    for (speech, stream) in every_form() {
        let mut stage = Stage::play(Play {
            settings: "store: { kind: sled, path: ./data }",
            answers: Box::new(|event| (None, guard(event))),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("a secret").await;
        let history = agent.history.clone();
        stage.restart().await;
        let mut agent = stage.agent(speech, stream);
        agent.history = history;
        agent.prompt("one").await;
        assert!(!stage.last_body().to_string().contains("secret"), "{speech:?} {}", stage.last_body());
    }
}

/// One failing hook on prompts; `EXTRA` makes the difference.
fn failing(extra: &'static str) -> Play {
    let hooks = match extra {
        "block" => {
            "
hooks:
  - { name: check, on: prompt.submit, run: { command: [sh, -c, 'exit 3'] }, on_error: block }
  - { name: usual, on: prompt.submit, run: { text: EPH } }
"
        }
        "skip" => {
            "
hooks:
  - { name: check, on: prompt.submit, run: { command: [sh, -c, 'exit 3'] } }
  - { name: usual, on: prompt.submit, run: { text: EPH } }
"
        }
        "audited failure" => {
            "
hooks:
  - { name: check, on: prompt.submit, run: { command: [sh, -c, 'exit 3'] }, on_error: block, mode: audit }
  - { name: usual, on: prompt.submit, run: { text: EPH } }
"
        }
        _ => {
            "
hooks:
  - { name: check, on: [session.start, prompt.submit], run: { http: { url: 'HOOKS' } }, mode: audit }
  - { name: usual, on: prompt.submit, run: { text: EPH } }
"
        }
    };
    let answers = Box::new(|_: &Value| (None, json!({"block": {"reason": "no"}, "context": "AUDITED"})));
    Play { hooks, answers, ..Play::default() }
}

#[tokio::test]
async fn only_an_enforced_hook_that_says_so_blocks_when_it_fails() {
    for (speech, stream) in every_form() {
        for (extra, passes) in [("block", false), ("skip", true), ("audited failure", true), ("audited block", true)] {
            let stage = Stage::play(failing(extra)).await;
            let mut agent = stage.agent(speech, stream);
            let answer = agent.prompt("one").await;
            assert_eq!(stage.provider.requests().len(), usize::from(passes), "{speech:?} {extra}");
            if passes {
                let body = stage.last_body().to_string();
                assert!(body.contains("EPH") && !body.contains("AUDITED"), "{speech:?} {extra} {body}");
            } else {
                assert_legal(speech, stream, &answer);
                assert!(speech.heard(stream, &answer.body).text.contains("check"), "{speech:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_start_hook_that_must_not_fail_holds_the_session_until_it_works() {
    for (speech, stream) in every_form() {
        let works = Arc::new(AtomicBool::new(false));
        let now = works.clone();
        let stage = Stage::play(Play {
            hooks: "
hooks:
  - { name: start, on: session.start, run: { http: { url: 'HOOKS' } }, on_error: block }
  - { name: prompt, on: prompt.submit, run: { http: { url: 'HOOKS' } } }
",
            answers: Box::new(move |event| {
                let works = now.load(Ordering::Relaxed);
                (None, if works || event["event"] != "session.start" { usual(event) } else { json!("no object") })
            }),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, stream);
        agent.history.push(Item::user("one"));
        let answer = agent.ask().await;
        assert_legal(speech, stream, &answer);
        assert!(speech.heard(stream, &answer.body).text.contains("start"), "{speech:?}");
        works.store(true, Ordering::Relaxed);
        agent.ask().await;
        let body = stage.last_body().to_string();
        assert!(body.contains("SYS") && body.contains("EPH(one)"), "{speech:?} {body}");
        assert_eq!(stage.runs()[..2], [2, 1], "{speech:?}");
    }
}

#[tokio::test]
async fn an_error_of_the_provider_passes_unchanged() {
    let stage = Stage::play(Play {
        says: Box::new(|_, _| provider::answer("429 Too Many Requests", "retry-after: 7\r\n", r#"{"error":"x"}"#)),
        ..Play::default()
    })
    .await;
    for (speech, stream) in every_form() {
        let mut agent = stage.agent(speech, stream);
        agent.history.push(Item::user("one"));
        let answer = agent.ask().await;
        assert_eq!((answer.status(), answer.head.get("retry-after")), (429, Some("7")));
        assert_eq!(answer.text(), r#"{"error":"x"}"#);
    }
}

#[tokio::test]
async fn a_refused_prompt_is_left_out_when_the_client_dropped_the_reply() {
    for (speech, stream) in every_form() {
        let stage = guarded().await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        agent.prompt("a secret").await;
        agent.history.pop();
        agent.prompt("two").await;
        let body = stage.last_body();
        assert!(!body.to_string().contains("secret"), "{speech:?} {body}");
        assert_eq!(speech.seen(&body).items.len(), 3, "{speech:?} {body}");
    }
}
