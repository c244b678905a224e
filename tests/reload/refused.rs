//! What can't be used changes nothing.
use crate::rig::{Rig, message};
use crate::support::provider::event_stream;
use crate::support::{Gate, Step};
use serde_json::{Value, json};

/// A hook that is asked before a turn ends, and a text of each configuration.
const OLD: &str = "
hooks:
  - { name: rules, on: prompt.submit, run: { text: OLD RULES } }
  - { name: check, on: session.stopping, run: { http: { url: 'HOOKS/old' } } }
  - { name: stop, on: session.stop, run: { http: { url: 'HOOKS/old' } } }
";
const NEW: &str = "
hooks:
  - { name: rules, on: prompt.submit, run: { text: NEW RULES } }
  - { name: stop, on: session.stop, run: { http: { url: 'HOOKS/new' } } }
";
const BROKEN: &str = "
hooks:
  - { name: rules, on: prompt.submit, run: { text: NEW RULES } }
  - { name: keys, on: model.context, run: { edits: [{ op: messages.redact, pattern: '(', with: x }] } }
";

fn frame(event: &Value) -> Step {
    Step::chunk(format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
}

/// A stream that says `text`, and goes on when the gate is open.
fn stream(text: &str, gate: Option<&Gate>) -> Vec<Step> {
    let mut steps = vec![
        event_stream(),
        frame(&json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "model": "claude-haiku-4-5", "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1}}})),
        frame(&json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})),
        frame(&json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})),
    ];
    steps.extend(gate.cloned().map(Step::Wait));
    steps.extend([
        frame(&json!({"type": "content_block_stop", "index": 0})),
        frame(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 1}})),
        frame(&json!({"type": "message_stop"})),
        Step::last_chunk(),
    ]);
    steps
}

/// What operators do to a file while an answer is on its way.
#[tokio::test]
async fn a_reload_is_whole_or_not_at_all_and_leaves_a_running_answer_alone() {
    let gate = Gate::new();
    let running = gate.clone();
    let rig = Rig::start(
        OLD,
        move |request, _| match String::from_utf8_lossy(&request.body) {
            body if body.contains("run the tests") => stream("second leg of A", None),
            body if body.contains("\"stream\":true") => stream("first leg of A", Some(&running)),
            _ => message("A"),
        },
        |_, event| {
            let again = event["event"] == "session.stopping" && event["turn"]["attempt"] == 1;
            let is_running = event["session"]["id"] == "running";
            (None, if again && is_running { json!({"continue": true, "message": "run the tests"}) } else { json!({}) })
        },
    )
    .await;
    let mut client = rig.begin("running", "go").await;
    client.head().await;

    // The upstream is valid, a hook is not.
    rig.write(&rig.config(1, BROKEN));
    let refused = rig.until(|status| !status["last_refused"].is_null()).await;
    assert_eq!(refused["version"], 1);
    let problems = refused["last_refused"]["problems"].to_string();
    assert!(problems.contains("hookgate.yaml:8:") && problems.contains("hooks[1].run.edits"), "{problems}");
    assert_eq!(rig.say("other", "x").await, "A");
    assert!(rig.received(0).contains("OLD RULES"));

    // Half written.
    let new = rig.config(1, NEW);
    rig.write(&new[..new.len() - 60]);
    let before = refused["last_refused"]["at"].clone();
    let refused = rig.until(|status| status["last_refused"]["at"] != before).await;
    assert!(refused["last_refused"]["problems"].to_string().contains("not YAML"), "{refused}");

    // Emptied and deleted: no reload, and refused when it is asked for.
    rig.write("");
    let (status, answer) = rig.admin("POST", "/v1/config/reload").await;
    assert_eq!((status, &answer["error"]["code"]), (422, &json!("reload_refused")));
    assert!(answer["error"]["problems"][0].as_str().unwrap().contains("hookgate.yaml:1:1: is empty"), "{answer}");
    std::fs::remove_file(rig.file()).unwrap();
    let (status, answer) = rig.admin("POST", "/v1/config/reload").await;
    assert_eq!(status, 422);
    assert!(answer["error"]["problems"][0].as_str().unwrap().contains("cannot be read"), "{answer}");
    assert_eq!(rig.say("other2", "x").await, "A");
    assert!(rig.received(0).contains("OLD RULES"));

    rig.write(&new);
    let applied = rig.version(2).await;
    assert!(applied["loaded_at"].as_str() > applied["last_refused"]["at"].as_str());
    assert_eq!(rig.say("third", "x").await, "B");
    assert!(rig.received(1).contains("NEW RULES") && !rig.received(1).contains("OLD RULES"));

    // The answer that was running goes on under the configuration that it began with: upstream and hooks.
    gate.open();
    let mut text = String::new();
    while let Some(chunk) = client.chunk().await.unwrap() {
        text += &String::from_utf8(chunk).unwrap();
    }
    assert!(text.contains("first leg of A") && text.contains("second leg of A") && text.contains("message_stop"));
    let is_last_stop = |(path, event): &(String, Value)| path == "/old" && *event == json!("session.stop");
    let events = rig.wait_events(rig.events().len().max(8)).await;
    // Two stops of the other sessions, one of this one.
    assert_eq!(events.iter().filter(|event| is_last_stop(event)).count(), 3, "{events:?}");
    assert_eq!(events.iter().filter(|(path, _)| path == "/new").count(), 1, "{events:?}");
}

#[tokio::test]
async fn what_needs_a_restart_is_refused_by_name() {
    let rig = Rig::plain("hooks: []").await;
    let changed = rig
        .config(1, "hooks: []")
        .replace(
            "listen: 127.0.0.1:0\nadmin: { listen: 127.0.0.1:0",
            "listen: 127.0.0.1:1\nadmin: { listen: 127.0.0.1:2",
        )
        .replace("kind: memory", "kind: sled");
    let changed = format!("{changed}\nknowledge: {{ dir: ./knowledge }}\n");
    rig.write(&changed);
    let (status, answer) = rig.admin("POST", "/v1/config/reload").await;
    assert_eq!(status, 422);
    let problems = answer["error"]["problems"].as_array().unwrap();
    let keys = [":1:9: listen: ", ":2:18: admin.listen: ", ":3:16: store.kind: ", ": knowledge.dir: "];
    assert_eq!(problems.len(), keys.len(), "{problems:?}");
    for (problem, key) in problems.iter().zip(keys) {
        let problem = problem.as_str().unwrap();
        assert!(problem.contains(key) && problem.contains("restart"), "{problem}");
    }
    assert_eq!(rig.say("s", "x").await, "A");
}

#[tokio::test]
async fn secrets_stand_in_no_answer() {
    let rig = Rig::plain("hooks: []").await;
    let secret = "sk-very-secret";
    let hooks = format!(
        "hooks: [{{ name: a, on: prompt.submit, run: {{ http: {{ url: 'x', headers: {{ k: {secret} }} }} }} }}]"
    );
    rig.write(&rig.config(1, &hooks));
    let (status, answer) = rig.admin_text("POST", "/v1/config/reload").await;
    assert_eq!(status, 422);
    assert!(!answer.contains(secret) && !rig.status().await.to_string().contains(secret));
}
