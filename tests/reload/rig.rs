//! A gateway that was started from a file, in front of two providers and a scripted hook server.
use crate::support::config::ADMIN_TOKEN;
use crate::support::provider::answer;
use crate::support::{Client, Gate, Provider, Recorded, Step, soon};
use hookgate::app::Running;
use hookgate::config::{load, process_env};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What the hook server answers to the event at a path, maybe only when a gate opens.
pub type Answers = dyn Fn(&str, &Value) -> (Option<Gate>, Value) + Send + Sync;

pub struct Rig {
    /// The provider that the gateway starts with, and the one that it is changed to.
    pub providers: [Provider; 2],
    pub hooks: Provider,
    pub folder: tempfile::TempDir,
    gateway: Option<Running>,
    token: String,
}

/// A whole answer of Anthropic's API.
pub fn message(text: &str) -> Vec<Step> {
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5",
        "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1}});
    answer("200 OK", "content-type: application/json\r\n", message.to_string())
}

impl Rig {
    /// With these hooks; the second provider says `B`.
    pub async fn start(
        hooks: &str,
        says: impl Fn(&Recorded, usize) -> Vec<Step> + Send + Sync + 'static,
        answers: impl Fn(&str, &Value) -> (Option<Gate>, Value) + Send + Sync + 'static,
    ) -> Self {
        let rig = Self::without_gateway(says, answers).await;
        rig.write(&rig.config(0, hooks));
        rig.started().await
    }

    /// From the file as it stands.
    pub async fn started(self) -> Self {
        let loaded = load(Some(&self.file()), &process_env).unwrap_or_else(|problems| panic!("{problems}"));
        Self { gateway: Some(hookgate::app::start(loaded).await.unwrap()), ..self }
    }

    pub async fn without_gateway(
        says: impl Fn(&Recorded, usize) -> Vec<Step> + Send + Sync + 'static,
        answers: impl Fn(&str, &Value) -> (Option<Gate>, Value) + Send + Sync + 'static,
    ) -> Self {
        let hooks = Provider::start(move |request, _| {
            let (gate, reply) = answers(request.target(), &serde_json::from_slice(&request.body).unwrap());
            let mut steps: Vec<Step> = gate.map(Step::Wait).into_iter().collect();
            steps.extend(answer("200 OK", "content-type: application/json\r\n", reply.to_string()));
            steps
        })
        .await;
        let providers = [Provider::start(says).await, Provider::always(message("B")).await];
        let folder = tempfile::tempdir().unwrap();
        Self { providers, hooks, folder, gateway: None, token: ADMIN_TOKEN.into() }
    }

    /// Of hooks that say nothing, and a first provider that says `A`.
    pub async fn plain(hooks: &str) -> Self {
        Self::start(hooks, |_, _| message("A"), |_, _| (None, json!({}))).await
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("hookgate.yaml")
    }

    /// A configuration with one of the providers and these hooks; `HOOKS` in them is the hook server's URL.
    pub fn config(&self, provider: usize, hooks: &str) -> String {
        let addr = self.providers[provider].addr();
        format!(
            "listen: 127.0.0.1:0\nadmin: {{ listen: 127.0.0.1:0, token: {} }}\nstore: {{ kind: memory }}\n\
             upstreams: [{{ name: anthropic, dialect: anthropic, base_url: 'http://{addr}' }}]\n{}\n",
            ADMIN_TOKEN,
            hooks.replace("HOOKS", &format!("http://{}", self.hooks.addr())),
        )
    }

    pub fn write(&self, text: &str) {
        std::fs::write(self.file(), text).unwrap();
    }

    pub fn addr(&self) -> SocketAddr {
        self.gateway.as_ref().unwrap().addr()
    }

    /// What the gateway takes to be its token from now on.
    pub fn has_token(&mut self, token: &str) {
        self.token = token.into();
    }

    pub async fn admin(&self, method: &str, target: &str) -> (u16, Value) {
        let (status, text) = self.admin_text(method, target).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    pub async fn admin_text(&self, method: &str, target: &str) -> (u16, String) {
        let mut client = Client::connect(self.gateway.as_ref().unwrap().admin_addr()).await;
        let answer = client.request(method, target, &format!("authorization: Bearer {}\r\n", self.token), "").await;
        (answer.status(), answer.text())
    }

    /// `GET /v1/config`.
    pub async fn status(&self) -> Value {
        self.admin("GET", "/v1/config").await.1
    }

    /// `GET /v1/config` once it is what `is` says.
    pub async fn until(&self, is: impl Fn(&Value) -> bool) -> Value {
        soon(async {
            loop {
                let status = self.status().await;
                if is(&status) {
                    return status;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    pub async fn version(&self, version: u64) -> Value {
        self.until(|status| status["version"] == version).await
    }

    /// Says something in a session; what the model answers.
    pub async fn say(&self, session: &str, text: &str) -> String {
        let mut client = Client::connect(self.addr()).await;
        let answer = client.request("POST", "/v1/messages", &headers(session), body(text, false)).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        answer["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    /// Asks for a stream; the connection that it comes on.
    pub async fn begin(&self, session: &str, text: &str) -> Client {
        let mut client = Client::connect(self.addr()).await;
        let body = body(text, true);
        let length = body.len();
        let head =
            format!("POST /v1/messages HTTP/1.1\r\nhost: g\r\n{}content-length: {length}\r\n\r\n", headers(session));
        client.send(head + &body).await;
        client
    }

    /// The last body that a provider received.
    pub fn received(&self, provider: usize) -> String {
        let requests = self.providers[provider].requests();
        String::from_utf8(requests.last().expect("a request").body.clone()).unwrap()
    }

    /// Path and event of every hook so far.
    pub fn events(&self) -> Vec<(String, Value)> {
        let event = |request: Recorded| {
            (request.target().to_owned(), serde_json::from_slice::<Value>(&request.body).unwrap()["event"].clone())
        };
        self.hooks.requests().into_iter().map(event).collect()
    }

    pub async fn wait_events(&self, count: usize) -> Vec<(String, Value)> {
        soon(async {
            while self.hooks.requests().len() < count {
                tokio::task::yield_now().await;
            }
        })
        .await;
        self.events()
    }

    pub fn take_gateway(&mut self) -> Running {
        self.gateway.take().unwrap()
    }
}

fn headers(session: &str) -> String {
    format!("x-hookgate-session: {session}\r\nx-api-key: key\r\nanthropic-version: 2023-06-01\r\n")
}

fn body(text: &str, stream: bool) -> String {
    json!({"model": "claude-haiku-4-5", "max_tokens": 9, "stream": stream,
        "messages": [{"role": "user", "content": text}]})
    .to_string()
}
