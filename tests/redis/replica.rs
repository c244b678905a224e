//! Two gateways as an operator runs them, in processes of their own, behind them a scripted provider and a hook server.
use crate::server::Server;
use crate::support::config::ADMIN_TOKEN;
use crate::support::provider::answer;
use crate::support::{Client, Provider};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// One gateway, killed when dropped.
pub(crate) struct Replica {
    child: Child,
    pub(crate) addr: SocketAddr,
    admin: SocketAddr,
    log: Arc<Mutex<String>>,
}

impl Replica {
    pub(crate) fn start(config: &std::path::Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hookgate"))
            .args(["--log-format", "json", "serve", "--config"])
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let (addr, admin) = loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "the gateway ended: {said}");
            said.push_str(&line);
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            let fields = if event["fields"].is_object() { &event["fields"] } else { &event };
            if fields["message"] == "listening" {
                let addr = |name: &str| fields[name].as_str().unwrap().parse().unwrap();
                break (addr("addr"), addr("admin"));
            }
        };
        let log = Arc::new(Mutex::new(said));
        let writer = log.clone();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                writer.lock().push_str(&(line + "\n"));
            }
        });
        Self { child, addr, admin, log }
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().clone()
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends a history; status and the answer's text.
    pub(crate) async fn ask(&self, session: &str, history: &[Value]) -> (u16, String) {
        let headers = format!(
            "x-hookgate-session: {session}\r\nx-api-key: key\r\nanthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n"
        );
        let body = json!({"model": "claude-haiku-4-5", "max_tokens": 9, "messages": history}).to_string();
        let answer = Client::connect(self.addr).await.request("POST", "/v1/messages", &headers, body).await;
        (answer.status(), answer.text())
    }

    /// Asks the admin API.
    pub(crate) async fn admin(&self, method: &str, target: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let headers = format!("authorization: Bearer {ADMIN_TOKEN}\r\n{kind}");
        let answer = Client::connect(self.admin).await.request(method, target, &headers, body).await;
        (answer.status(), serde_json::from_slice(&answer.body).unwrap_or_default())
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What happened at the hook server and at the provider.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) events: Vec<Value>,
    pub(crate) bodies: Vec<Value>,
}

/// Two gateways on one Redis.
pub(crate) struct Pair {
    pub(crate) server: Server,
    pub(crate) replicas: [Replica; 2],
    pub(crate) seen: Arc<Mutex<Seen>>,
    pub(crate) config: std::path::PathBuf,
    _provider: Provider,
    _hooks: Provider,
    _folder: tempfile::TempDir,
}

impl Pair {
    /// `None` where there is no Redis.
    pub(crate) async fn start(test: &str, settings: &str) -> Option<Self> {
        let server = Server::start(test).await?;
        let store = format!("store: {{ kind: redis, url: '{}' }}\n", server.url());
        Some(Self::with(server, &store, settings).await)
    }

    pub(crate) async fn with(server: Server, store: &str, settings: &str) -> Self {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let json = "content-type: application/json\r\n";
        let provider = Provider::start({
            let seen = seen.clone();
            move |request, _| {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                let reply = reply(&body);
                seen.lock().bodies.push(body);
                answer("200 OK", json, reply.to_string())
            }
        })
        .await;
        let hooks = Provider::start({
            let seen = seen.clone();
            move |request, _| {
                let event: Value = serde_json::from_slice(&request.body).unwrap();
                let says = outcome(&event);
                seen.lock().events.push(event);
                answer("200 OK", json, says.to_string())
            }
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("hookgate.yaml");
        let (at, hook) = (provider.addr(), hooks.addr());
        let yaml = format!(
            "listen: 127.0.0.1:0\nadmin: {{ listen: 127.0.0.1:0, token: {ADMIN_TOKEN} }}\n\
             upstreams: [{{ name: anthropic, dialect: anthropic, base_url: 'http://{at}' }}]\n{store}{settings}\nhooks:\n\
             - {{ name: start, on: session.start, run: {{ http: {{ url: 'http://{hook}/' }} }} }}\n\
             - {{ name: prompt, on: prompt.submit, run: {{ http: {{ url: 'http://{hook}/' }} }} }}\n\
             - {{ name: memory, on: session.stop, run: {{ http: {{ url: 'http://{hook}/' }} }} }}\n\
             - {{ name: end, on: session.end, run: {{ http: {{ url: 'http://{hook}/' }} }} }}\n"
        );
        std::fs::write(&config, yaml).unwrap();
        let replicas = [Replica::start(&config), Replica::start(&config)];
        Self { server, replicas, seen, config, _provider: provider, _hooks: hooks, _folder: folder }
    }

    /// The events of one kind, of one session.
    pub(crate) fn events(&self, kind: &str, session: &str) -> Vec<Value> {
        let is_it = |event: &&Value| event["event"] == kind && event["session"]["id"] == session;
        self.seen.lock().events.iter().filter(is_it).cloned().collect()
    }
}

/// The answer to a prompt is made of the prompt, so that a retry gets the same.
fn reply(body: &Value) -> Value {
    let prompt = prompt(body);
    json!({"id": format!("msg_{prompt}"), "type": "message", "role": "assistant", "model": "claude-haiku-4-5",
        "content": [{"type": "text", "text": said(&prompt)}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1}})
}

/// The user's last words, ahead of what hooks have put behind them.
fn prompt(body: &Value) -> String {
    let content = &body["messages"].as_array().unwrap().last().unwrap()["content"];
    content.as_str().or_else(|| content[0]["text"].as_str()).unwrap().split('\n').next().unwrap().to_owned()
}

/// What the model says to a prompt.
pub(crate) fn said(prompt: &str) -> String {
    format!("ANSWER({prompt})")
}

fn outcome(event: &Value) -> Value {
    let prompt = event["prompt"]["text"].as_str().unwrap_or_default();
    match event["event"].as_str().unwrap() {
        "session.start" => json!({"context": "BEGUN"}),
        "prompt.submit" => json!({"context": format!("EPH({prompt})")}),
        "session.stop" => json!({"context": format!("DONE({prompt})")}),
        _ => json!({}),
    }
}
