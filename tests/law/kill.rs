//! `kill -9` at every point of a turn (I3, I6, I9): what the model sees and what is stored is as if it never happened.
use crate::support::{Client, soon};
use crate::world::{PROVIDER, REQUEST, Reply, SLOT, Stage, marks};
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SESSION: &str = "s1";

/// The real binary; it dies with the test.
struct Process {
    child: Child,
    addr: SocketAddr,
}

impl Process {
    fn start(folder: &Path, stage: &Stage) -> Self {
        let hooks =
            [("begin", SLOT, "session.start"), ("notes", "notes", "prompt.submit"), ("keep", SLOT, "session.stop")];
        let hooks: Vec<Value> = hooks
            .iter()
            .map(|(name, slot, on)| {
                let url = format!("http://{}/{name}", stage.hook_server());
                json!({"name": name, "slot": slot, "on": on, "run": {"http": {"url": url}}})
            })
            .collect();
        let config = json!({"listen": "127.0.0.1:0", "admin": {"listen": "127.0.0.1:0"},
            "upstreams": [{"name": "anthropic", "dialect": "anthropic", "base_url": format!("http://{}", stage.provider())}],
            "store": {"kind": "sled", "path": "./data"},
            "injection": {"layout": "stable", "retain": "history"}, "hooks": hooks});
        let file = folder.join("hookgate.yaml");
        std::fs::write(&file, config.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookgate"));
        command.args(["serve", "--log-format", "json", "--config"]).arg(file);
        let mut child = command.current_dir(folder).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let addr = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let line: Value = serde_json::from_str(&line).ok()?;
            line.pointer("/fields/addr").or(line.get("addr"))?.as_str()?.parse().ok()
        });
        // Nobody may wait for a reader of the log.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, addr: addr.expect("it listens") }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends the history; what the provider got of it, and whether the client got an answer.
    async fn send(&self, stage: &Stage, messages: &[Value], id: &str) -> (Option<Bytes>, bool) {
        let reply = json!({"id": id, "type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": id}], "usage": {"input_tokens": 1, "output_tokens": 1}});
        let number = stage.prepare(Reply::Answer(reply));
        let body = json!({"model": "claude-opus-5-5", "max_tokens": 4096, "messages": messages}).to_string();
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: gateway\r\nx-api-key: key\r\ncontent-type: application/json\r\n\
             x-hookgate-session: {SESSION}\r\n{REQUEST}: {number}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut client = Client::connect(self.addr).await;
        client.send(head + &body).await;
        // The client panics when it gets none.
        let answer = tokio::spawn(async move { client.answer("POST").await }).await;
        let answered = answer.is_ok_and(|answer| answer.whole && answer.status() == 200);
        (stage.up(number), answered)
    }

    /// The same where nothing gets in the way.
    async fn answered(&self, stage: &Stage, messages: &[Value], id: &str) -> Bytes {
        match self.send(stage, messages, id).await {
            (Some(up), true) => up,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(id: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": id}]})
}

/// The runs of an event, and how many different ones they were.
fn fired(stage: &Stage, event: &str) -> (usize, usize) {
    let all = stage.fired(SESSION);
    let ids: Vec<&str> = all.iter().filter(|f| f.event == event).map(|f| f.event_id.as_str()).collect();
    (ids.len(), ids.iter().collect::<HashSet<_>>().len())
}

/// A body's messages with what was added to them.
fn messages(body: &Bytes) -> Vec<Value> {
    serde_json::from_slice::<Value>(body).unwrap()["messages"].as_array().unwrap().clone()
}

/// Kills the gateway in the second turn when `at` is reached, and sees what the model and the hooks see of it.
async fn killed(at: &'static str) {
    let stage = Stage::start().await;
    let folder = tempfile::tempdir().unwrap();
    let gateway = Process::start(folder.path(), &stage);
    let held = stage.hold(at, 1);
    let first = [user("one")];
    let before = gateway.answered(&stage, &first, "msg_1").await;
    let second = [user("one"), assistant("msg_1"), user("two")];
    // Only at the end of the turn the answer comes before.
    let at_end = at == "session.stop";
    let ((sent, answered), ()) = tokio::join!(gateway.send(&stage, &second, "msg_2"), async {
        soon(held.reached.opened()).await;
        if !at_end {
            gateway_dies(&gateway);
        }
    });
    assert_eq!(answered, at_end, "{at}");
    gateway.kill();
    held.go.open();

    let gateway = Process::start(folder.path(), &stage);
    let again = gateway.answered(&stage, &second, "msg_2").await;
    let third = [user("one"), assistant("msg_1"), user("two"), assistant("msg_2"), user("three")];
    let last = gateway.answered(&stage, &third, "msg_3").await;
    gateway.kill();

    if let Some(sent) = sent {
        assert_eq!(sent, again, "{at}: the ledger replays the same bytes");
    }
    let [before, again, last] = [&before, &again, &last].map(messages);
    assert_eq!(before[..], again[..1], "{at}");
    assert_eq!(again[..], last[..3], "{at}");
    let text = json!(last).to_string();
    let all = marks(&text);
    assert_eq!(all.iter().filter(|mark| mark.starts_with("[[EPH")).count(), 3, "{at}: {text}");
    assert!(text.contains("[[STATE-msg_1]]") && text.contains("[[STATE-msg_2]]"), "{at}: {text}");
    assert_eq!(fired(&stage, "session.start"), (1, 1), "{at}");
    let (submits, prompts) = fired(&stage, "prompt.submit");
    assert_eq!((prompts, submits), (3, if at == "prompt.submit" { 4 } else { 3 }), "{at}");
    // The last one may still have been on its way; one that was killed runs again under its id.
    let (runs, stops) = fired(&stage, "session.stop");
    assert!(stops >= 2 && (runs > stops) == at_end, "{at}: {stops} stops in {runs} runs");
}

/// By signal: its connections break, nothing of it runs on.
fn gateway_dies(gateway: &Process) {
    let pid = nix::unistd::Pid::from_raw(gateway.child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i9_a_kill_while_the_prompt_hook_runs_leaves_no_trace() {
    killed("prompt.submit").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i9_a_kill_while_the_model_thinks_leaves_no_trace() {
    killed(PROVIDER).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i9_a_kill_while_the_stop_hook_runs_leaves_no_trace() {
    killed("session.stop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i9_a_session_whose_start_was_killed_starts_once_more_under_the_same_id() {
    let stage = Stage::start().await;
    let folder = tempfile::tempdir().unwrap();
    let first = [user("one")];
    for round in 0..3 {
        let gateway = Process::start(folder.path(), &stage);
        let held = stage.hold("session.start", 0);
        let (sent, ()) = tokio::join!(gateway.send(&stage, &first, "msg_1"), async {
            soon(held.reached.opened()).await;
            gateway_dies(&gateway);
        });
        assert_eq!(sent, (None, false), "round {round}");
        held.go.open();
    }
    let gateway = Process::start(folder.path(), &stage);
    let up = gateway.answered(&stage, &first, "msg_1").await;
    let text = String::from_utf8(up.to_vec()).unwrap();
    assert_eq!(marks(&text).iter().filter(|mark| mark.starts_with("[[BASE")).count(), 1, "{text}");
    assert_eq!(fired(&stage, "session.start"), (4, 1));
    assert_eq!(fired(&stage, "prompt.submit"), (1, 1));
}
