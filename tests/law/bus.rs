//! `kill -9` between every two steps of a message's way (I9): it is in the store as soon as its sender was told so, and the
//! model reads it once.
use crate::support::provider::answer;
use crate::support::{Client, Provider, soon};
use hookgate::bus::fault;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const TOKEN: &str = "token";

/// The real binary; it dies with the test.
struct Process {
    child: Child,
    addr: SocketAddr,
    admin: SocketAddr,
}

impl Process {
    /// Ends itself at this step.
    fn start(folder: &Path, provider: SocketAddr, dies_at: Option<&str>) -> Self {
        let config = json!({"listen": "127.0.0.1:0", "admin": {"listen": "127.0.0.1:0", "token": TOKEN},
            "upstreams": [{"name": "anthropic", "dialect": "anthropic", "base_url": format!("http://{provider}")}],
            "store": {"kind": "sled", "path": "./data"}});
        let file = folder.join("hookgate.yaml");
        std::fs::write(&file, config.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookgate"));
        command.args(["serve", "--log-format", "json", "--config"]).arg(file);
        command.envs(dies_at.map(|step| (fault::VARIABLE, step)));
        let mut child = command.current_dir(folder).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let listens = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let line: Value = serde_json::from_str(&line).ok()?;
            let field =
                |name: &str| line.pointer(&format!("/fields/{name}")).or(line.get(name))?.as_str()?.parse().ok();
            Some((field("addr")?, field("admin")?))
        });
        // Nobody may wait for a reader of the log.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let (addr, admin) = listens.expect("it listens");
        Self { child, addr, admin }
    }

    /// Sends the message, always under the same id; whether the gateway took it in.
    async fn enqueue(&self) -> bool {
        let body = json!({"text": "MESSAGE", "kind": "correction", "id": "m1"}).to_string();
        let path = "/v1/sessions/s1/agents/main/messages";
        matches!(self.ask(self.admin, path, &format!("authorization: Bearer {TOKEN}\r\n"), body).await, Some(200 | 202))
    }

    /// Sends the history; whether there was an answer.
    async fn prompt(&self, messages: &[Value]) -> bool {
        let body = json!({"model": "claude-opus-5-5", "max_tokens": 9, "messages": messages}).to_string();
        self.ask(self.addr, "/v1/messages", "x-api-key: key\r\nx-hookgate-session: s1\r\n", body).await == Some(200)
    }

    async fn ask(&self, to: SocketAddr, path: &str, headers: &str, body: String) -> Option<u16> {
        let (path, headers) = (path.to_owned(), format!("{headers}content-type: application/json\r\n"));
        // The client panics when it gets no answer.
        let asked = tokio::spawn(async move {
            let answer = Client::connect(to).await.request("POST", &path, &headers, body).await;
            answer.whole.then(|| answer.status())
        });
        soon(asked).await.ok().flatten()
    }

    fn kill(mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
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

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn shown(body: &[u8]) -> usize {
    String::from_utf8_lossy(body).matches("MESSAGE").count()
}

/// Ends the gateway at this step. Sender and agent do what they do then: send again what was not answered.
async fn killed_at(step: &str) {
    let reply = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "ok"}], "usage": {"input_tokens": 1, "output_tokens": 1}});
    let provider = Provider::always(answer("200 OK", "content-type: application/json\r\n", reply.to_string())).await;
    let folder = tempfile::tempdir().unwrap();
    let mut gateway = Process::start(folder.path(), provider.addr(), Some(step));
    assert!(gateway.prompt(&[user("one")]).await, "{step}");

    let taken = gateway.enqueue().await;
    if !taken {
        gateway.kill();
        gateway = Process::start(folder.path(), provider.addr(), None);
        // Nobody was told of the session by headers since then.
        assert!(gateway.prompt(&[user("one")]).await, "{step}");
        assert!(gateway.enqueue().await, "{step}");
    }
    let second = [user("one"), assistant("ok"), user("two")];
    let answered = gateway.prompt(&second).await;
    if taken {
        // The mark may be written a moment after the answer.
        soon(async {
            while gateway.child.try_wait().unwrap().is_none() {
                tokio::task::yield_now().await
            }
        })
        .await;
        gateway = Process::start(folder.path(), provider.addr(), None);
    }
    if !answered {
        assert!(gateway.prompt(&second).await, "{step}");
    }
    let third = [user("one"), assistant("ok"), user("two"), assistant("ok"), user("three")];
    assert!(gateway.prompt(&third).await, "{step}");

    let requests = provider.requests();
    let [.., before, last] = requests.as_slice() else { panic!("{step}") };
    assert_eq!((shown(&before.body), shown(&last.body)), (1, 1), "{step}: the model reads it, and once");
    for earlier in requests.iter().filter(|request| shown(&request.body) > 0) {
        let history = &earlier.body[..earlier.body.len() - b"]}".len()];
        assert!(last.body.starts_with(history), "{step}: it stays where it was, in the same bytes");
    }
    gateway.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_read_once_whatever_step_the_gateway_dies_at() {
    if !cfg!(debug_assertions) {
        return;
    }
    for step in fault::STEPS {
        killed_at(step).await;
    }
}
