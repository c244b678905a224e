//! Messages over the admin API and from the command line: taken in, refused, seen.
use crate::rig::{QUIET, Rig};
use crate::support::config::ADMIN_TOKEN;
use serde_json::{Value, json};
use std::process::Output;

const MAIN: &str = "/v1/sessions/s1/agents/main/messages";

/// Neither hooks nor anything else.
const NOTHING: &str = "{}";

async fn post(rig: &Rig, target: &str, message: Value) -> (u16, Value) {
    rig.admin("POST", target, &message.to_string()).await
}

async fn refused(rig: &Rig, target: &str, message: Value) -> (u16, String) {
    rig.refused("POST", target, &message.to_string()).await
}

async fn letters(rig: &Rig, target: &str) -> Vec<Value> {
    let (status, page) = rig.admin("GET", target, "").await;
    assert_eq!((status, &page["next"]), (200, &Value::Null), "{page}");
    page["items"].as_array().unwrap().clone()
}

async fn hookgate(rig: &Rig, arguments: &[&str]) -> Output {
    let url = format!("http://{}", rig.gateway.admin_addr());
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_hookgate"));
    command.args(arguments).args(["--admin", &url, "--token", ADMIN_TOKEN]).env_clear();
    command.output().await.unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test]
async fn a_message_is_queued_delivered_and_listed_with_its_receipt() {
    for config in [NOTHING, QUIET] {
        let rig = Rig::start(config).await;
        rig.say("s1", "main", "k", "Hi").await;
        let (status, sent) = post(&rig, MAIN, json!({"text": "NOTE", "from": "cto"})).await;
        assert_eq!((status, &sent["state"]), (202, &json!("queued")), "{sent}");
        assert_eq!(sent["to"][0]["session"], "s1");
        let queued = letters(&rig, MAIN).await;
        assert_eq!((queued.len(), &queued[0]["state"], &queued[0]["turn"]), (1, &json!("queued"), &Value::Null));
        rig.say("s1", "main", "k", "Again").await;
        assert!(rig.received().contains("[session-bus] note from cto:\\nNOTE"), "{}", rig.received());
        let delivered = &letters(&rig, &format!("{MAIN}?id={}", sent["id"].as_str().unwrap())).await[0];
        assert_eq!((&delivered["state"], &delivered["from"]), (&json!("delivered"), &json!("cto")), "{delivered}");
        assert!(delivered["delivered_at"].is_string() && delivered["turn"].is_u64(), "{delivered}");
        assert_eq!(letters(&rig, &format!("{MAIN}?id=other")).await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn the_same_id_is_the_same_message() {
    let rig = Rig::start(NOTHING).await;
    rig.say("s1", "main", "k", "Hi").await;
    let message = json!({"text": "NOTE", "id": "m1"});
    assert_eq!(post(&rig, MAIN, message.clone()).await.0, 202);
    let (status, again) = post(&rig, MAIN, message.clone()).await;
    assert_eq!((status, &again["state"]), (200, &json!("queued")));
    rig.say("s1", "main", "k", "Again").await;
    let (status, again) = post(&rig, MAIN, message).await;
    assert_eq!((status, &again["state"]), (200, &json!("delivered")));
    assert_eq!(letters(&rig, MAIN).await.len(), 1);
}

#[tokio::test]
async fn what_can_not_be_taken_in_is_refused_clearly() {
    let rig = Rig::start(NOTHING).await;
    rig.say("s1", "main", "k", "Hi").await;
    for (message, status, code) in [
        (json!({"text": "x".repeat(2049)}), 413, "text_too_long"),
        (json!({"text": "  "}), 400, "invalid_message"),
        (json!({"text": "x", "ttl": "soon"}), 400, "invalid_message"),
        (json!({"text": "x", "kind": "shout"}), 400, "invalid_body"),
        (json!({"text": "x", "to": "y"}), 400, "invalid_body"),
        (json!({}), 400, "invalid_body"),
    ] {
        assert_eq!(refused(&rig, MAIN, message.clone()).await, (status, code.to_owned()), "{message}");
    }
    let elsewhere = "/v1/sessions/unknown/agents/main/messages";
    assert_eq!(refused(&rig, elsewhere, json!({"text": "x"})).await, (404, "no_session".into()));
    let nobody = "/v1/sessions/s1/agents/main%2F*/messages";
    assert_eq!(refused(&rig, nobody, json!({"text": "x"})).await, (404, "no_agent".into()));
    for number in 0..50 {
        assert_eq!(post(&rig, MAIN, json!({"text": number.to_string()})).await.0, 202);
    }
    assert_eq!(refused(&rig, MAIN, json!({"text": "more"})).await, (429, "mailbox_full".into()));
}

#[tokio::test]
async fn a_message_does_not_cross_tenants() {
    let rig = Rig::start(NOTHING).await;
    rig.say("s1", "main", "one", "Hi").await;
    rig.say("s1", "main", "two", "Hi").await;
    let (status, error) = post(&rig, MAIN, json!({"text": "NOTE"})).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("ambiguous")));
    let tenant = error["error"]["tenants"][0].as_str().unwrap().to_owned();
    assert_eq!(post(&rig, &format!("{MAIN}?tenant={tenant}"), json!({"text": "NOTE"})).await.0, 202);
    assert_eq!(refused(&rig, &format!("{MAIN}?tenant=t_other"), json!({"text": "NOTE"})).await.0, 404);
    let mut shown = 0;
    for key in ["one", "two"] {
        rig.say("s1", "main", key, "Again").await;
        shown += usize::from(rig.received().contains("NOTE"));
    }
    assert_eq!(shown, 1);
}

#[tokio::test]
async fn without_isolation_a_session_may_get_a_message_before_it_speaks() {
    let rig = Rig::start("sessions: { isolation: none }").await;
    assert_eq!(post(&rig, MAIN, json!({"text": "NOTE"})).await.0, 202);
    rig.say("s1", "main", "k", "Hi").await;
    assert!(rig.received().contains("NOTE"));
}

#[tokio::test]
async fn agents_are_named_by_their_labels_their_parent_and_all_at_once() {
    for config in [NOTHING, QUIET] {
        let rig = Rig::start(config).await;
        rig.say("s1", "main", "k", "Hi").await;
        for (agent, label) in [("a1", "qa"), ("a2", "dev")] {
            let headers = format!(
                "x-hookgate-session: s1\r\nx-hookgate-agent: {agent}\r\nx-hookgate-parent: main\r\nx-hookgate-label: {label}\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
            );
            let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]});
            let mut client = crate::support::Client::connect(rig.gateway.addr()).await;
            assert_eq!(client.request("POST", "/v1/messages", &headers, body.to_string()).await.status(), 200);
        }
        let agents = async |agents: &str| {
            let target = format!("/v1/sessions/s1/agents/{agents}/messages");
            let (status, sent) = post(&rig, &target, json!({"text": "NOTE"})).await;
            assert_eq!(status, 202, "{sent}");
            let mut agents: Vec<String> =
                sent["to"].as_array().unwrap().iter().map(|to| to["agent"].as_str().unwrap().to_owned()).collect();
            agents.sort();
            agents
        };
        assert_eq!(agents("qa").await, ["a1"]);
        assert_eq!(agents("a2").await, ["a2"]);
        assert_eq!(agents("*").await, ["a1", "a2", "main"]);
        assert_eq!(agents("main%2F*").await, ["a1", "a2"]);
        let label = "/v1/sessions/s1/agents/a2/label";
        assert_eq!(rig.admin("PUT", label, r#"{"label":"coder"}"#).await.0, 204);
        assert_eq!(agents("coder").await, ["a2"]);
        assert_eq!(rig.admin("DELETE", label, "").await.0, 204);
        assert_eq!(agents("dev").await, ["a2"], "what the client calls it");
        assert_eq!(rig.refused("PUT", label, r#"{"label":" "}"#).await.0, 400);
    }
}

#[tokio::test]
async fn the_command_line_sends_and_waits() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    let sent = hookgate(&rig, &["send", "--session", "s1", "--id", "m1", "NOTE"]).await;
    assert_eq!((sent.status.code(), said(&sent).as_str()), (Some(0), "queued m1\n"));

    let waits = hookgate(&rig, &["send", "--session", "s1", "--id", "m1", "--wait", "NOTE"]);
    let (waited, _) = tokio::join!(waits, rig.say("s1", "main", "k", "Again"));
    let line = said(&waited);
    assert!(line.starts_with("m1 main: delivered 2") && line.trim_end().ends_with("in turn 2"), "{line}");
    assert_eq!(waited.status.code(), Some(0));

    let late = ["send", "--session", "s1", "--id", "m2", "--ttl", "1ms", "--wait", "LATE"];
    let late = hookgate(&rig, &late).await;
    assert_eq!((late.status.code(), said(&late).as_str()), (Some(1), "m2 main: expired\n"));

    let unknown = hookgate(&rig, &["send", "--session", "unknown", "NOTE"]).await;
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there is no such session"));

    let named = hookgate(&rig, &["sessions", "label", "s1", "boss"]).await;
    assert_eq!(said(&named), "s1 main is boss\n");
    let list = hookgate(&rig, &["sessions", "list"]).await;
    assert!(said(&list).contains("boss"), "{}", said(&list));
    let to_boss = hookgate(&rig, &["send", "--session", "s1", "--agent", "boss", "--json", "NOTE"]).await;
    let sent: Value = serde_json::from_str(&said(&to_boss)).unwrap();
    assert_eq!(sent["to"][0]["agent"], "main");
}
