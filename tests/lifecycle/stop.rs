//! `session.stop`: what it is told, and when it runs.
use crate::speech::{Item, Speech, Words, every_form};
use crate::stage::{A_WHILE, Play, Stage, session, usual};
use crate::support::{Gate, soon};
use serde_json::{Value, json};

#[tokio::test]
async fn it_tells_the_whole_turn() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(Play {
            says: Box::new(|r, n| {
                let words = match n {
                    0 => Words::call("Let me look. ", "call_0"),
                    1 => Words::call("Once more. ", "call_1"),
                    _ => Words::text("Found it."),
                };
                Speech::of(r).answer(r, n, &words)
            }),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("find it").await;
        agent.result("call_0", "nothing").await;
        agent.result("call_1", "this").await;
        let event = &stage.wait_events("session.stop", 1).await[0];
        let turn = &event["turn"];
        let calls: Vec<&Value> = turn["tool_calls"].as_array().unwrap().iter().map(|call| &call["id"]).collect();
        let native = match speech {
            Speech::Anthropic => "end_turn",
            Speech::Chat => "stop",
            Speech::Responses => "completed",
            Speech::Gemini => "STOP",
        };
        let what = format!("{speech:?} stream={stream} {event}");
        assert_eq!(turn["text"], "Let me look. Once more. Found it.", "{what}");
        assert_eq!(calls, ["call_0", "call_1"], "{what}");
        assert_eq!((&turn["finish_reason"], &turn["native_finish_reason"]), (&json!("stop"), &json!(native)), "{what}");
        assert_eq!(turn["usage"], json!({"input": 10, "cached_input": 3, "output": 15}), "{what}");
        assert_eq!((&turn["message_id"], &turn["legs"]), (&json!("msg_2"), &json!(1)), "{what}");
        assert_eq!((&event["prompt"]["text"], &event["session"]["turn"]), (&json!("find it"), &json!(1)), "{what}");
        assert_eq!(event["persistent"], json!({"memory": "SYS"}), "{what}");
        assert_eq!(stage.runs()[2], 1, "{what}");
    }
}

/// The stop hook answers only when the gate is open, and replaces the memory.
fn slow_stop(gate: &Gate) -> Play {
    let gate = gate.clone();
    Play {
        answers: Box::new(move |event| match event["event"].as_str() {
            Some("session.stop") => (Some(gate.clone()), json!({"context": "AFTER-STOP"})),
            _ => (None, usual(event)),
        }),
        ..Play::default()
    }
}

#[tokio::test]
async fn the_next_prompt_waits_and_sees_what_it_stored() {
    for (speech, stream) in every_form() {
        let gate = Gate::new();
        let stage = Stage::play(slow_stop(&gate)).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        stage.wait_events("session.stop", 1).await;
        let next = agent.prompt("two");
        tokio::pin!(next);
        assert!(tokio::time::timeout(A_WHILE, &mut next).await.is_err(), "{speech:?}: the prompt did not wait");
        assert_eq!(stage.provider.requests().len(), 1);
        gate.open();
        next.await;
        let body = stage.last_body().to_string();
        assert!(body.contains("AFTER-STOP"), "{speech:?} {body}");
    }
}

#[tokio::test]
async fn other_sessions_do_not_wait() {
    let gate = Gate::new();
    let stage = Stage::play(slow_stop(&gate)).await;
    stage.agent(Speech::Chat, true).prompt("one").await;
    stage.wait_events("session.stop", 1).await;
    stage.agent(Speech::Chat, true).headers(session("other")).prompt("one").await;
    assert_eq!(stage.provider.requests().len(), 2);
    gate.open();
}

#[tokio::test]
async fn a_stop_that_runs_longer_than_the_deadline_holds_nobody_longer() {
    let gate = Gate::new();
    let settings = "lifecycle: { request_deadline: 1s }";
    let stage = Stage::play(Play { settings, ..slow_stop(&gate) }).await;
    let mut agent = stage.agent(Speech::Anthropic, true);
    agent.prompt("one").await;
    stage.wait_events("session.stop", 1).await;
    soon(agent.prompt("two")).await;
    assert_eq!(stage.provider.requests().len(), 2);
    gate.open();
}

#[tokio::test]
async fn it_replaces_and_clears_what_the_session_keeps() {
    for (speech, stream) in every_form() {
        for settings in ["injection: { layout: stable }", "injection: { layout: system }"] {
            let stage = Stage::play(Play {
                settings,
                answers: Box::new(|event| {
                    let answer = match (event["event"].as_str().unwrap(), event["session"]["turn"].as_u64()) {
                        ("session.stop", Some(1)) => json!({"context": "SECOND"}),
                        ("session.stop", _) => json!({"clear_context": true}),
                        ("session.start", _) => json!({"context": "FIRST"}),
                        _ => json!({}),
                    };
                    (None, answer)
                }),
                ..Play::default()
            })
            .await;
            let mut agent = stage.agent(speech, stream);
            for turn in 1..=3 {
                agent.prompt(&format!("prompt {turn}")).await;
                stage.wait_events("session.stop", turn).await;
            }
            let what = format!("{speech:?} {settings}");
            assert_eq!(stage.events("session.stop")[2]["persistent"], json!({}), "{what}");
            let counts: Vec<_> = stage
                .bodies()
                .iter()
                .map(|b| {
                    let b = b.to_string();
                    [b.contains("FIRST"), b.contains("SECOND"), b.contains("no longer applies")]
                })
                .collect();
            let expected = match settings.contains("stable") {
                true => [[true, false, false], [true, true, false], [true, true, true]],
                false => [[true, false, false], [false, true, false], [false, false, false]],
            };
            assert_eq!(counts, expected, "{what}");
        }
    }
}

#[tokio::test]
async fn a_turn_first_seen_in_its_middle_ends_with_a_stop() {
    for (speech, stream) in every_form() {
        let stage = Stage::usual().await;
        let mut agent = stage.agent(speech, stream);
        agent.history = vec![Item::user("one"), Item::Model { text: "looking ".into(), calls: vec!["call_0".into()] }];
        agent.result("call_0", "found").await;
        let event = &stage.wait_events("session.stop", 1).await[0];
        assert_eq!(event["turn"]["text"], "looking ANSWER0", "{speech:?}");
        assert_eq!((&event["session"]["source"], &event["prompt"]["text"]), (&json!("resume"), &json!("one")));
        assert_eq!(stage.runs()[..3], [1, 0, 1]);
        assert!(stage.last_body().to_string().contains("SYS"), "{speech:?}");
    }
}
