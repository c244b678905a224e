//! Requests that carry only what is new, since the provider keeps the history.
use crate::speech::{Speech, Words};
use crate::stage::{Play, Stage, session};
use crate::support::Answer;
use serde_json::{Value, json};

const STABLE: &str = "injection: { layout: stable, retain: history }";
const SYSTEM: &str = "injection: { layout: system }";

/// A call, then text, then text.
async fn stage(settings: &'static str) -> Stage {
    Stage::play(Play {
        settings,
        says: Box::new(|r, n| {
            let words = if n == 1 { Words::call("looking ", "call_1") } else { Words::text(format!("ANSWER{n}")) };
            Speech::of(r).answer(r, n, &words)
        }),
        ..Play::default()
    })
    .await
}

async fn post(stage: &Stage, extra: Value, input: Value) -> Answer {
    let mut body = json!({"model": "m", "instructions": "You are normal.", "input": input});
    for (key, value) in extra.as_object().unwrap() {
        body[key] = value.clone();
    }
    let answer = stage.post("/v1/responses", &session("s1"), body.to_string()).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer
}

fn result() -> Value {
    json!([{"type": "function_call_output", "call_id": "call_1", "output": "found"}])
}

/// How often SYS stands in the instructions, and each prompt's text anywhere.
fn counts(body: &Value) -> [usize; 4] {
    let instructions = body["instructions"].to_string();
    let all = body.to_string();
    [
        instructions.matches("SYS").count(),
        all.matches("EPH(one)").count(),
        all.matches("EPH(two)").count(),
        all.matches("EPH(three)").count(),
    ]
}

#[tokio::test]
async fn previous_response_gets_instructions_every_time_and_items_once() {
    let stage = stage(STABLE).await;
    post(&stage, json!({}), json!("one")).await;
    stage.wait_events("session.stop", 1).await;
    post(&stage, json!({"previous_response_id": "msg_0"}), json!("two")).await;
    post(&stage, json!({"previous_response_id": "msg_1"}), result()).await;
    let stop = stage.wait_events("session.stop", 2).await.remove(1);
    post(&stage, json!({"previous_response_id": "msg_2"}), json!([{"role": "user", "content": "three"}])).await;
    stage.wait_events("session.stop", 3).await;
    let seen: Vec<_> = stage.bodies().iter().map(counts).collect();
    assert_eq!(seen, [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1]]);
    assert_eq!((&stop["turn"]["text"], &stop["prompt"]["text"]), (&json!("looking ANSWER2"), &json!("two")));
    assert_eq!(stop["turn"]["usage"]["output"], 10);
    assert_eq!(stage.runs()[..4], [1, 3, 3, 0]);
}

#[tokio::test]
async fn in_layout_system_the_turns_text_stands_in_the_instructions_of_each_step() {
    let stage = stage(SYSTEM).await;
    post(&stage, json!({}), json!("one")).await;
    stage.wait_events("session.stop", 1).await;
    post(&stage, json!({"previous_response_id": "msg_0"}), json!("two")).await;
    post(&stage, json!({"previous_response_id": "msg_1"}), result()).await;
    stage.wait_events("session.stop", 2).await;
    post(&stage, json!({"previous_response_id": "msg_2"}), json!("three")).await;
    let seen: Vec<_> = stage.bodies().iter().map(counts).collect();
    assert_eq!(seen, [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 0, 1]]);
}

#[tokio::test]
async fn a_retry_of_a_delta_is_sent_as_the_first_was() {
    for settings in [STABLE, SYSTEM] {
        let stage = stage(settings).await;
        post(&stage, json!({}), json!("one")).await;
        stage.wait_events("session.stop", 1).await;
        for _ in 0..2 {
            post(&stage, json!({"previous_response_id": "msg_0"}), json!("two")).await;
        }
        let requests = stage.provider.requests();
        assert_eq!(requests[1].body, requests[2].body, "{settings}");
        assert_eq!(stage.runs()[..2], [1, 2]);
    }
}

#[tokio::test]
async fn a_conversation_of_the_provider_is_one_conversation_here() {
    let stage = stage(STABLE).await;
    let conversation = json!({"conversation": "conv_1"});
    post(&stage, conversation.clone(), json!("one")).await;
    stage.wait_events("session.stop", 1).await;
    post(&stage, conversation.clone(), json!("two")).await;
    post(&stage, conversation.clone(), result()).await;
    let stop = stage.wait_events("session.stop", 2).await.remove(1);
    // The same words are a new prompt, since the turn before is done.
    post(&stage, conversation, json!("two")).await;
    stage.wait_events("session.stop", 3).await;
    let seen: Vec<_> = stage.bodies().iter().map(counts).collect();
    assert_eq!(seen, [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 1, 0]]);
    assert_eq!(stop["turn"]["text"], "looking ANSWER2");
    assert_eq!(stage.runs()[..3], [1, 3, 3]);
}

async fn thread(stage: &Stage, thread: Value, messages: Value) -> Answer {
    let body =
        json!({"model": "m", "max_tokens": 9, "system": "You are normal.", "thread": thread, "messages": messages});
    stage.post("/v1/messages?beta=true", &session("s1"), body.to_string()).await
}

#[tokio::test]
async fn a_thread_that_began_here_goes_on_with_the_same_system_prompt() {
    let stage = Stage::set(STABLE).await;
    let one = json!([{"role": "user", "content": "one"}]);
    assert_eq!(thread(&stage, json!({"type": "create"}), one).await.status(), 200);
    stage.wait_events("session.stop", 1).await;
    let next = json!({"type": "continue", "previous_message_id": "msg_0"});
    let answer = thread(&stage, next, json!([{"role": "user", "content": "two"}])).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let bodies = stage.bodies();
    assert_eq!(bodies[0]["system"], bodies[1]["system"]);
    assert!(bodies[1]["messages"].to_string().contains("EPH(two)"));
    assert_eq!(stage.runs()[..2], [1, 2]);
}

#[tokio::test]
async fn a_thread_that_began_elsewhere_is_sent_whole_instead() {
    for settings in [STABLE, SYSTEM] {
        let stage = Stage::set(settings).await;
        let next = json!({"type": "continue", "previous_message_id": "msg_9"});
        let answer = thread(&stage, next, json!([{"role": "user", "content": "two"}])).await;
        let error: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(
            (answer.status(), &error["error"]["details"]["error_code"]),
            (400, &json!("thread_unsupported_request"))
        );
        assert!(stage.provider.requests().is_empty());
        let whole = json!([{"role": "user", "content": "one"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "two"}]);
        let body = json!({"model": "m", "max_tokens": 9, "system": "You are normal.", "messages": whole});
        let answer = stage.post("/v1/messages", &session("s1"), body.to_string()).await;
        assert_eq!(answer.status(), 200);
        let up = stage.last_body().to_string();
        assert!(up.contains("SYS") && up.contains("EPH(two)"), "{settings} {up}");
    }
}
