//! What is shown of requests: kept as far as `inspect` says, and live.
use crate::rig::Rig;
use crate::support::Client;
use crate::support::config::ADMIN_TOKEN;
use hookgate::app::GRACE;
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};

/// Text at the start, text with every prompt, and a rule.
const HOOKS: &str = r#"
hooks:
  - { name: house, on: session.start, run: { text: Write tests. } }
  - { name: notes, on: prompt.submit, run: { command: [echo, Look at the notes.] } }
  - { name: rule, on: model.context, run: { edits: [{ op: system.append, text: No shell. }] } }
  - { name: broken, on: prompt.submit, run: { command: ['false'] } }
  - { name: watched, on: prompt.submit, mode: audit, run: { command: [echo, Only watched.] } }
"#;
const REQUESTS: &str = "/v1/sessions/s1/agents/main/requests";

async fn requests(rig: &Rig) -> Vec<Value> {
    let (status, page) = rig.admin("GET", REQUESTS, "").await;
    assert_eq!((status, &page["next"]), (200, &Value::Null), "{page}");
    page["items"].as_array().unwrap().clone()
}

async fn whole(rig: &Rig, request: &Value) -> Value {
    let (status, whole) = rig.admin("GET", &format!("{REQUESTS}/{}", request["id"].as_str().unwrap()), "").await;
    assert_eq!(status, 200, "{whole}");
    whole
}

fn run<'a>(request: &'a Value, hook: &str) -> &'a Value {
    request["hooks"].as_array().unwrap().iter().find(|run| run["hook"] == hook).unwrap()
}

#[tokio::test]
async fn a_request_is_shown_with_what_hooks_did_and_nothing_of_what_people_and_models_said() {
    let rig = Rig::start(HOOKS).await;
    let answer = rig.say("s1", "main", "k", "My secret question").await;
    let all = requests(&rig).await;
    assert_eq!(all.len(), 1);
    let [listed] = all.as_slice() else { panic!() };
    assert_eq!(listed["id"], answer.head.get("x-hookgate-request-id").unwrap());
    for (member, value) in [
        ("session", json!("s1")),
        ("agent", json!("main")),
        ("kind", json!("turn")),
        ("step", json!("prompt")),
        ("turn", json!(1)),
        ("model", json!("claude-haiku-4-5")),
        ("state", json!("done")),
        ("status", json!(200)),
        ("outcome", json!("completed")),
        ("finish", json!("stop")),
        ("usage", json!({"input": 1, "cached_input": 0, "output": 1})),
        ("standing", json!(2)),
    ] {
        assert_eq!(listed[member], value, "{member}: {listed}");
    }
    assert!(listed["sent"].as_u64() > listed["received"].as_u64(), "{listed}");
    assert_eq!(run(listed, "rule")["edits"], json!([{"op": "system.append"}]), "a list has no texts");
    assert_eq!(
        (&run(listed, "broken")["result"], &run(listed, "broken")["failure"]),
        (&json!("failed"), &json!("exit status 1"))
    );
    assert_eq!(
        (&run(listed, "watched")["audit"], &run(listed, "watched")["effects"]),
        (&json!(true), &json!(["context"]))
    );
    assert_eq!(run(listed, "notes")["context_chars"], 18);

    let whole = whole(&rig, listed).await;
    assert_eq!(run(&whole, "notes")["said"], json!([{"what": "context", "text": "Look at the notes."}]));
    assert!(run(&whole, "rule")["edits"][0]["arguments"].as_str().unwrap().contains("No shell."), "{whole}");
    let texts = whole["texts"].as_array().unwrap();
    let sources: Vec<_> =
        texts.iter().map(|text| (text["source"].as_str().unwrap(), text["kind"].as_str().unwrap())).collect();
    assert_eq!(sources, [("house", "persistent"), ("notes", "ephemeral")], "{whole}");
    assert!(texts.iter().all(|text| text["is_new"] == true), "{whole}");
    assert_eq!(whole["bodies"], Value::Null);
    for said in ["secret question", "Hello."] {
        assert!(!whole.to_string().contains(said) && !listed.to_string().contains(said), "{said}");
    }
}

#[tokio::test]
async fn bodies_are_kept_only_where_they_are_wanted() {
    let rig = Rig::start(&format!("inspect: {{ bodies: true }}{HOOKS}")).await;
    rig.say("s1", "main", "k", "My question").await;
    let bodies = whole(&rig, &requests(&rig).await[0]).await["bodies"].clone();
    assert_eq!(bodies["after"], rig.received());
    assert!(bodies["before"].as_str().unwrap().contains("My question"), "{bodies}");
    let added: Vec<_> = bodies["diff"].as_str().unwrap().lines().filter(|line| line.starts_with('+')).collect();
    assert!(added.iter().any(|line| line.contains("No shell.")), "{added:?}");
}

#[tokio::test]
async fn the_last_requests_are_kept_newest_first_and_none_of_a_session_that_is_deleted() {
    let rig = Rig::start(&format!("inspect: {{ requests_per_session: 2 }}{HOOKS}")).await;
    let mut ids = Vec::new();
    for prompt in ["One", "Two", "Three"] {
        let answer = rig.say("s1", "main", "k", prompt).await;
        ids.insert(0, answer.head.get("x-hookgate-request-id").unwrap().to_owned());
    }
    let kept: Vec<_> = requests(&rig).await.iter().map(|request| request["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kept, ids[..2]);
    assert_eq!(rig.refused("GET", &format!("{REQUESTS}/{}", ids[2]), "").await, (404, "no_request".into()));
    rig.admin("DELETE", "/v1/sessions/s1/agents/main", "").await;
    rig.say("s1", "main", "k", "Anew").await;
    assert_eq!(requests(&rig).await.len(), 1, "what was kept before is gone");
}

#[tokio::test]
async fn nothing_is_kept_where_nothing_is_wanted() {
    let rig = Rig::start(&format!("inspect: {{ requests_per_session: 0 }}{HOOKS}")).await;
    rig.say("s1", "main", "k", "Hi").await;
    assert_eq!(requests(&rig).await, Vec::<Value>::new());
}

#[tokio::test]
async fn hooks_are_listed_with_their_rules_and_what_became_of_them() {
    let rig = Rig::start(HOOKS).await;
    rig.say("s1", "main", "k", "Hi").await;
    let (status, page) = rig.admin("GET", "/v1/hooks", "").await;
    let names: Vec<_> = page["items"].as_array().unwrap().iter().map(|hook| hook["name"].as_str().unwrap()).collect();
    assert_eq!((status, names), (200, vec!["house", "notes", "rule", "broken", "watched"]));
    assert_eq!(page["items"][2]["config"]["run"]["edits"][0]["text"], "No shell.");
    let broken = &page["items"][3]["events"][0];
    assert_eq!((&broken["ran"], &broken["failed"]), (&json!(0), &json!(1)));
    assert_eq!(broken["last_failure"]["what"], "exit status 1");
    assert_eq!(page["items"][4]["events"][0]["would"], json!({"context": 1}));
    assert_eq!(page["items"][0]["cache"], json!({"count": 0, "bytes": 0, "reread_tokens": 0}));
}

/// The events that come until one is what is waited for.
async fn until(client: &mut Client, mut is_last: impl FnMut(&str, &Value) -> bool) -> Vec<(String, Value)> {
    let (mut text, mut events) = (String::new(), Vec::new());
    loop {
        text += &String::from_utf8(client.chunk().await.unwrap().unwrap()).unwrap();
        while let Some((event, rest)) = text.split_once("\n\n").map(|(event, rest)| (event.to_owned(), rest.to_owned()))
        {
            text = rest;
            let Some((name, data)) = event.strip_prefix("event: ").and_then(|event| event.split_once("\ndata: "))
            else {
                continue;
            };
            let data: Value = serde_json::from_str(data).unwrap();
            events.push((name.to_owned(), data.clone()));
            if is_last(name, &data) {
                return events;
            }
        }
    }
}

#[tokio::test]
async fn who_watches_sees_requests_hooks_messages_and_changes_as_they_happen() {
    let rig = Rig::start(HOOKS).await;
    rig.say("other", "main", "k", "Hi").await;
    let addr = rig.gateway.admin_addr();
    let mut client = Client::connect(addr).await;
    let get =
        format!("GET /v1/events?session=s1 HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {ADMIN_TOKEN}\r\n\r\n");
    client.send(get).await;
    assert_eq!(client.head().await.get("content-type"), Some("text/event-stream"));
    until(&mut client, |name, data| name == "config" && data["version"] == 1).await;

    rig.say("other", "main", "k", "Again").await;
    rig.say("s1", "main", "k", "Hi").await;
    let events = until(&mut client, |name, data| name == "request" && data["state"] == "done").await;
    assert!(events.iter().all(|(_, data)| data["session"] == "s1"), "only this session: {events:?}");
    let states: Vec<_> = events
        .iter()
        .filter(|(name, _)| name == "request")
        .map(|(_, data)| (data["state"].as_str().unwrap(), data["sent"].is_u64()))
        .collect();
    assert_eq!(states, [("asking", false), ("asking", true), ("answering", true), ("done", true)]);
    let mut hooks: Vec<_> = events
        .iter()
        .filter(|(name, _)| name == "hook")
        .map(|(_, data)| data["run"]["hook"].as_str().unwrap())
        .collect();
    hooks.sort_unstable();
    assert_eq!(hooks, ["broken", "house", "notes", "rule", "watched"]);
    assert!(events.iter().filter(|(name, _)| name == "hook").all(|(_, data)| data["request"] == events[0].1["id"]));

    rig.admin("PUT", "/v1/sessions/s1/agents/main/context/house", r#"{"text":"New"}"#).await;
    rig.admin("POST", "/v1/sessions/s1/agents/main/messages", r#"{"text":"Note","id":"m1"}"#).await;
    rig.say("s1", "main", "k", "Next").await;
    rig.admin("POST", "/v1/sessions/s1/agents/main/end", "").await;
    let events = until(&mut client, |name, data| name == "session" && data["state"] == "ended").await;
    let position = |wanted: &str, matches: &dyn Fn(&Value) -> bool| {
        events
            .iter()
            .position(|(name, data)| name == wanted && matches(data))
            .unwrap_or_else(|| panic!("{wanted}: {events:?}"))
    };
    let set = position("context", &|data| data["slot"] == "house");
    let queued = position("message", &|data| data["id"] == "m1" && data["state"] == "queued");
    let delivered = position("message", &|data| data["id"] == "m1" && data["state"] == "delivered");
    let done = position("request", &|data| data["state"] == "done" && data["messages"] == json!(["m1"]));
    assert!(set < queued && queued < delivered && queued < done, "{events:?}");
}

/// `hookgate sessions watch --json`
fn terminal(rig: &Rig) -> tokio::process::Child {
    let url = format!("http://{}", rig.gateway.admin_addr());
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_hookgate"));
    command.args(["sessions", "watch", "--json", "--admin", &url, "--token", ADMIN_TOKEN]).env_clear();
    command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap()
}

#[tokio::test]
async fn a_gateway_that_stops_ends_what_is_watched_and_breaks_nothing_off() {
    let rig = Rig::start(HOOKS).await;
    let mut watching = terminal(&rig);
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    assert!(lines.next_line().await.unwrap().is_some(), "connected");
    rig.gateway.shutdown(GRACE).await;
    assert!(watching.wait().await.unwrap().success());
}

#[tokio::test]
async fn the_terminal_shows_a_line_for_every_event() {
    let rig = Rig::start(HOOKS).await;
    let mut watching = terminal(&rig);
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut next = async || -> Value { serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap() };
    assert_eq!(next().await["event"], "config", "connected");
    rig.say("s1", "main", "k", "Hi").await;
    let mut seen = Vec::new();
    loop {
        let event = next().await;
        seen.push(event["event"].as_str().unwrap().to_owned());
        if event["state"] == "done" {
            break;
        }
    }
    assert!(seen.contains(&"hook".to_owned()) && seen.len() >= 9, "{seen:?}");
}
