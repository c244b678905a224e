//! Once, whatever comes at the same time (I3).
use crate::support::soon;
use crate::world::{Reply, Stage, World, marks};
use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Requests of each kind at once.
const CROWD: usize = 12;
const SESSION: (&str, &str) = ("x-claude-code-session-id", "s1");

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn body(messages: &[Value]) -> Bytes {
    let tools = json!([{"name": "look", "input_schema": {"type": "object"}}]);
    json!({"model": "claude-opus-5-5", "max_tokens": 4096, "messages": messages, "tools": tools}).to_string().into()
}

fn title() -> Bytes {
    let format = json!({"type": "json_schema", "schema": {"type": "object"}});
    json!({"model": "claude-haiku-5-5", "max_tokens": 64, "messages": [user("one")], "output_config": {"format": format}})
        .to_string()
        .into()
}

fn said(id: &str) -> Reply {
    Reply::Answer(json!({"id": id, "type": "message", "role": "assistant", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": format!("done {id}")}], "usage": {"input_tokens": 1, "output_tokens": 1}}))
}

/// How often an event fired for this agent.
fn fired(stage: &Stage, event: &str, agent: &str) -> usize {
    stage.fired(SESSION.1).iter().filter(|fired| fired.event == event && fired.agent == agent).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i3_a_crowd_of_first_requests_starts_a_session_once_and_submits_each_prompt_once() {
    let stage = Stage::start().await;
    let world = World::new(&stage, stage.config()).await;
    const PROMPTS: [&str; 3] = ["one", "two", "three"];
    const TURN: &str = "/v1/messages?beta=true";
    const COUNT: &str = "/v1/messages/count_tokens?beta=true";
    let main = (0..CROWD).flat_map(|_| PROMPTS).map(|prompt| (TURN, vec![SESSION], body(&[user(prompt)])));
    let agent = (0..CROWD).map(|_| (TURN, vec![SESSION, ("x-claude-code-agent-id", "a1")], body(&[user("one")])));
    let side = (0..CROWD).map(|_| (TURN, vec![SESSION], title()));
    let count = (0..CROWD).map(|_| (COUNT, vec![SESSION], title()));
    let all: Vec<_> = main.chain(agent).chain(side).chain(count).collect();
    let sent = all.iter().enumerate().map(|(number, (path, headers, body))| {
        let world = &world;
        async move { world.send(path, headers, body.clone(), said(&format!("msg_{number}"))).await }
    });
    let outcomes = soon(join_all(sent)).await;
    world.drained().await;

    for agent in ["main", "a1"] {
        assert_eq!(fired(&stage, "session.start", agent), 1, "{agent}");
    }
    assert_eq!(fired(&stage, "prompt.submit", "main"), PROMPTS.len());
    assert_eq!(fired(&stage, "prompt.submit", "a1"), 1);
    // Each answer completed a turn: the same prompt answered again is a regeneration.
    assert_eq!(fired(&stage, "session.stop", "main"), CROWD * PROMPTS.len());
    assert_eq!(fired(&stage, "session.stop", "a1"), CROWD);
    let mut bodies: HashSet<Bytes> = HashSet::new();
    for ((_, _, sent), outcome) in all.iter().zip(&outcomes) {
        assert_eq!(outcome.answer.as_ref().map(|(status, _)| *status), Some(200));
        let up = outcome.up.clone().unwrap();
        match *sent == title() {
            true => assert_eq!(up, *sent),
            false => _ = bodies.insert(up),
        }
    }
    // All that carried one prompt of one agent went up with the same texts.
    assert_eq!(bodies.len(), PROMPTS.len() + 1, "{bodies:#?}");
    for up in bodies {
        let text = String::from_utf8(up.to_vec()).unwrap();
        let kinds: Vec<&str> = marks(&text).iter().map(|mark| &mark[..5]).collect();
        assert_eq!(kinds.len(), 2, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i3_retries_and_rewinds_at_the_same_time_submit_each_prompt_once() {
    let stage = Stage::start().await;
    let world = World::new(&stage, stage.config()).await;
    let send = async |messages: Vec<Value>, id: String| {
        world.send("/v1/messages?beta=true", &[SESSION], body(&messages), said(&id)).await.up.unwrap()
    };
    let answer = |id: &str| json!({"role": "assistant", "content": [{"type": "text", "text": format!("done {id}")}]});
    send(vec![user("one")], "msg_a".into()).await;
    let begun = [user("one"), answer("msg_a")];
    let second: Vec<Value> = begun.iter().cloned().chain([user("two")]).collect();
    let other: Vec<Value> = begun.iter().cloned().chain([user("three")]).collect();
    let ups = soon(join_all(
        (0..CROWD).flat_map(|n| [send(second.clone(), format!("msg_b{n}")), send(other.clone(), format!("msg_c{n}"))]),
    ))
    .await;
    world.drained().await;
    assert_eq!(fired(&stage, "session.start", "main"), 1);
    assert_eq!(fired(&stage, "prompt.submit", "main"), 3);
    let distinct: HashSet<&Bytes> = ups.iter().collect();
    assert_eq!(distinct.len(), 2, "each prompt went up with one text");
}
