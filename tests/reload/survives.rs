//! What a reload leaves alone: sessions, connections, what runs.
use crate::rig::{Rig, message};
use crate::support::{Gate, PATIENCE, soon};
use serde_json::json;
use std::time::Duration;

const START: &str = "
hooks:
  - { name: start, on: session.start, run: { http: { url: 'HOOKS/start' } } }
";

/// Long enough for a shutdown that does not wait.
const A_WHILE: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_session_goes_on_under_another_configuration() {
    let answers = |path: &str, _: &serde_json::Value| {
        (None, if path == "/start" { json!({"context": "FOR THE SESSION"}) } else { json!({}) })
    };
    let rig = Rig::start(START, |_, _| message("A"), answers).await;
    rig.say("s1", "one").await;
    rig.write(&rig.config(1, &format!("{START}  - {{ name: more, on: prompt.submit, run: {{ text: MORE }} }}\n")));
    assert_eq!(rig.admin("POST", "/v1/config/reload").await.0, 200);
    assert_eq!(rig.say("s1", "two").await, "B");
    let body = rig.received(1);
    assert!(body.contains("FOR THE SESSION") && body.contains("MORE"), "{body}");
    assert_eq!(rig.events().len(), 1, "session.start ran once");
    let (_, sessions) = rig.admin("GET", "/v1/sessions").await;
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1);
    assert_eq!(sessions["items"][0]["turns"], 2);
}

#[tokio::test]
async fn an_upstream_that_is_not_changed_keeps_its_connections() {
    let rig = Rig::plain("hooks: []").await;
    rig.say("s1", "one").await;
    rig.write(&rig.config(0, "hooks: [{ name: new, on: prompt.submit, run: { text: NEW } }]"));
    assert_eq!(rig.admin("POST", "/v1/config/reload").await.0, 200);
    rig.say("s1", "two").await;
    assert!(rig.received(0).contains("NEW"));
    assert_eq!(rig.providers[0].connections(), 1);
}

/// Says its process id, which is what a body that the provider received tells.
const WORKER: &str = r#"
hooks:
  - name: worker
    on: prompt.submit
    run: { worker: [sh, -c, 'while read -r line; do echo "{\"context\":\"pid=$$.\"}"; done'] }
"#;

fn pid(body: &str) -> &str {
    body.split_once("pid=").and_then(|(_, rest)| rest.split_once('.')).expect("a process id").0
}

#[tokio::test]
async fn a_worker_that_is_not_changed_keeps_its_process_and_one_that_is_gone_ends() {
    let rig = Rig::plain(WORKER).await;
    rig.say("s1", "x").await;
    let before = pid(&rig.received(0)).to_owned();
    rig.write(&rig.config(1, WORKER));
    assert_eq!(rig.admin("POST", "/v1/config/reload").await.0, 200);
    rig.say("s2", "x").await;
    assert_eq!(pid(&rig.received(1)), before);

    rig.write(&rig.config(1, "hooks: []"));
    assert_eq!(rig.admin("POST", "/v1/config/reload").await.0, 200);
    let process = std::path::PathBuf::from(format!("/proc/{before}"));
    soon(async {
        while process.exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_drain_waits_for_a_stop_of_an_earlier_configuration() {
    let gate = Gate::new();
    let held = gate.clone();
    let hooks = "hooks: [{ name: stop, on: session.stop, run: { http: { url: 'HOOKS/stop' } } }]";
    let mut rig = Rig::start(hooks, |_, _| message("A"), move |_, _| (Some(held.clone()), json!({}))).await;
    rig.say("s1", "one").await;
    rig.wait_events(1).await;
    rig.write(&rig.config(1, "hooks: []"));
    assert_eq!(rig.admin("POST", "/v1/config/reload").await.0, 200);
    assert_eq!(rig.say("s2", "x").await, "B");

    let mut shutdown = tokio::spawn(rig.take_gateway().shutdown(PATIENCE));
    assert!(tokio::time::timeout(A_WHILE, &mut shutdown).await.is_err(), "the stop hook still runs");
    gate.open();
    soon(shutdown).await.unwrap();
}

#[tokio::test]
async fn a_prompt_waits_for_the_stop_of_an_earlier_configuration() {
    let gate = Gate::new();
    let held = gate.clone();
    let hooks = "hooks: [{ name: stop, slot: memory, on: session.stop, run: { http: { url: 'HOOKS/stop' } } }]";
    let answers = move |_: &str, _: &serde_json::Value| (Some(held.clone()), json!({"context": "REMEMBERED"}));
    let rig = Rig::start(hooks, |_, _| message("A"), answers).await;
    rig.say("s1", "one").await;
    rig.wait_events(1).await;
    rig.write(&rig.config(1, "hooks: [{ name: other, on: session.end, run: { command: ['true'] } }]"));
    assert_eq!(rig.admin("POST", "/v1/config/reload").await.0, 200);
    let (answer, ()) = tokio::join!(rig.say("s1", "two"), async {
        assert!(tokio::time::timeout(A_WHILE, std::future::pending::<()>()).await.is_err());
        assert!(rig.providers[1].requests().is_empty(), "the prompt waits");
        gate.open();
    });
    assert_eq!(answer, "B");
    assert!(rig.received(1).contains("REMEMBERED"));
}
