//! Sessions that are ended and deleted by hand.
use crate::rig::{QUIET, Rig};
use crate::support::config::ADMIN_TOKEN;
use crate::support::{Client, soon};
use serde_json::Value;
use std::path::Path;

const AGENT: &str = "/v1/sessions/s1/agents/main";
const END: &str = "/v1/sessions/s1/agents/main/end";

/// A session.end hook that writes down its events, once the file `gate` is there.
fn log_ends(folder: &Path) -> String {
    let script = "touch begun; while [ ! -e gate ]; do sleep 0.02; done; cat >> ends";
    let folder = folder.display();
    format!("hooks: [{{ name: log, on: session.end, run: {{ command: [sh, -c, '{script}'], cwd: '{folder}' }} }}]")
}

async fn until<F: Future<Output = bool>>(met: impl Fn() -> F) {
    soon(async {
        while !met().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

fn ends(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("ends")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn an_end_runs_the_hooks_once_per_activation() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gate"), "").unwrap();
    let rig = Rig::start(&log_ends(folder.path())).await;
    rig.say("s1", "main", "k", "Hi").await;
    for _ in 0..2 {
        let (status, ended) = rig.admin("POST", END, "").await;
        assert_eq!(status, 200);
        assert!(ended["ended_at"].is_string(), "{ended}");
    }
    let events = ends(folder.path());
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["event"], "session.end");
    assert_eq!(events[0]["reason"], "admin");

    rig.say("s1", "main", "k", "I am back").await;
    let (_, resumed) = rig.admin("GET", AGENT, "").await;
    assert_eq!((&resumed["ended_at"], &resumed["source"]), (&Value::Null, &"resume".into()));
    rig.admin("POST", END, "{}").await;
    assert_eq!(ends(folder.path()).len(), 2);
}

#[tokio::test]
async fn an_end_whose_client_leaves_is_noted_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(&log_ends(folder.path())).await;
    rig.say("s1", "main", "k", "Hi").await;
    let addr = rig.gateway.admin_addr();
    let mut client = Client::connect(addr).await;
    client.send(format!("POST {END} HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {ADMIN_TOKEN}\r\n\r\n")).await;
    until(|| async { folder.path().join("begun").exists() }).await;
    drop(client);
    assert_eq!(rig.admin("GET", AGENT, "").await.1["ended_at"], Value::Null);
    std::fs::write(folder.path().join("gate"), "").unwrap();
    until(|| async { rig.admin("GET", AGENT, "").await.1["ended_at"].is_string() }).await;
    assert_eq!(ends(folder.path()).len(), 1);
}

#[tokio::test]
async fn a_deleted_session_is_forgotten() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    rig.admin("PUT", &format!("{AGENT}/context/notes"), r#"{"text":"Use tabs."}"#).await;
    assert_eq!(rig.admin("DELETE", AGENT, "").await, (204, Value::Null));
    for (method, path) in [("GET", AGENT), ("DELETE", AGENT), ("POST", END), ("GET", "/v1/sessions/s1")] {
        assert_eq!(rig.refused(method, path, "").await, (404, "no_session".into()), "{method} {path}");
    }
    rig.say("s1", "main", "k", "Hi").await;
    assert!(!rig.received().contains("Use tabs."));
    assert_eq!(rig.admin("GET", AGENT, "").await.1["source"], "startup");
}
