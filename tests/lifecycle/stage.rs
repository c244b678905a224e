//! A gateway between an agent, a scripted provider and a scripted hook server.
use crate::speech::{Item, Speech, Words};
use crate::support::provider::answer;
use crate::support::{Answer, Client, Gate, PATIENCE, Provider, Recorded, Step, soon};
use hookgate::app::{AppError, Running};
use hookgate::config::{Source, parse};
use hookgate::session::store::StoreError;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What the provider says to its `n`th request (from 0).
pub type Says = dyn Fn(&Recorded, usize) -> Vec<Step> + Send + Sync;
/// What a hook answers to an event, maybe only when a gate opens; `null`: it hangs up.
pub type Answers = dyn Fn(&Value) -> (Option<Gate>, Value) + Send + Sync;

/// Long enough for a request that does not wait to arrive at the provider.
pub const A_WHILE: Duration = Duration::from_millis(300);

/// A hook for every event of the lifecycle, at the scripted hook server.
pub const EVERY_HOOK: &str = "
hooks:
  - { name: start, slot: memory, on: session.start, run: { http: { url: 'HOOKS' } } }
  - { name: prompt, on: prompt.submit, run: { http: { url: 'HOOKS' } } }
  - { name: stop, slot: memory, on: session.stop, run: { http: { url: 'HOOKS' } } }
  - { name: fail, on: session.fail, run: { http: { url: 'HOOKS' } } }
  - { name: end, slot: memory, on: session.end, run: { http: { url: 'HOOKS' } } }
";

/// What differs from test to test. `HOOKS` in the YAML stands for the hook server's URL.
pub struct Play {
    pub hooks: &'static str,
    pub settings: &'static str,
    /// Further keys of every upstream, each behind a comma.
    pub upstream: &'static str,
    pub says: Box<Says>,
    pub answers: Box<Answers>,
}

impl Default for Play {
    /// Every hook; a provider that answers `ANSWERn`; `SYS` at session.start and `EPH(prompt)` at prompt.submit.
    fn default() -> Self {
        Self {
            hooks: EVERY_HOOK,
            settings: "",
            upstream: "",
            says: Box::new(says_answer_n),
            answers: Box::new(|e| (None, usual(e))),
        }
    }
}

/// `ANSWERn` in the form asked for.
pub fn says_answer_n(request: &Recorded, n: usize) -> Vec<Step> {
    Speech::of(request).answer(request, n, &Words::text(format!("ANSWER{n}")))
}

/// What the usual hooks say.
pub fn usual(event: &Value) -> Value {
    match event["event"].as_str().unwrap() {
        "session.start" => json!({"context": "SYS"}),
        "prompt.submit" => json!({"context": format!("EPH({})", event["prompt"]["text"].as_str().unwrap())}),
        _ => json!({}),
    }
}

pub struct Stage {
    pub provider: Provider,
    pub hooks: Provider,
    yaml: String,
    dir: tempfile::TempDir,
    gateway: Option<Running>,
}

impl Stage {
    pub async fn usual() -> Self {
        Self::play(Play::default()).await
    }

    /// Like [`Stage::usual`] with these settings.
    pub async fn set(settings: &'static str) -> Self {
        Self::play(Play { settings, ..Play::default() }).await
    }

    pub async fn play(play: Play) -> Self {
        let mut stage = Self::without_gateway(play).await;
        stage.start().await;
        stage
    }

    pub async fn without_gateway(play: Play) -> Self {
        let Play { hooks, settings, upstream: keys, says, answers } = play;
        let answers = Arc::new(answers);
        let hook_server = Provider::start(move |request, _| {
            let (gate, reply) = answers(&serde_json::from_slice(&request.body).unwrap());
            let mut steps: Vec<Step> = gate.map(Step::Wait).into_iter().collect();
            steps.extend(match reply {
                Value::Null => vec![Step::Close],
                reply => answer("200 OK", "content-type: application/json\r\n", reply.to_string()),
            });
            steps
        })
        .await;
        let provider = Provider::start(says).await;
        let upstream = |name: &str| {
            format!("  - {{ name: {name}, dialect: {name}, base_url: 'http://{}'{keys} }}\n", provider.addr())
        };
        let hooks = hooks.replace("HOOKS", &format!("http://{}/", hook_server.addr()));
        let dir = tempfile::tempdir().unwrap();
        let yaml = format!(
            "listen: 127.0.0.1:0\nadmin: {{ listen: 127.0.0.1:0 }}\nupstreams:\n{}{}{}{hooks}\n{settings}\n",
            upstream("anthropic"),
            upstream("openai"),
            upstream("gemini"),
        );
        let yaml = if settings.contains("store:") { yaml } else { format!("{yaml}store: {{ kind: memory }}\n") };
        Self { provider, hooks: hook_server, yaml, dir, gateway: None }
    }

    /// Starts the gateway, in its own folder.
    pub async fn start(&mut self) {
        let loaded = parse(&self.yaml, Source::File(self.config_path()), &|_| None).unwrap_or_else(|p| panic!("{p}"));
        // sled gives its lock back when the last of its threads has ended, which is a moment after the gateway has.
        let started = soon(async {
            loop {
                match hookgate::app::start(loaded.config.clone()).await {
                    Err(AppError::Store(StoreError::Locked { .. })) => tokio::task::yield_now().await,
                    started => return started,
                }
            }
        });
        self.gateway = Some(started.await.unwrap());
    }

    /// Writes the configuration for a gateway in a process of its own; its path.
    pub fn write_config(&self) -> PathBuf {
        std::fs::write(self.config_path(), &self.yaml).unwrap();
        self.config_path()
    }

    fn config_path(&self) -> PathBuf {
        self.dir.path().join("hookgate.yaml")
    }

    /// Drains and stops the gateway: whatever was going to happen has happened.
    pub async fn stop(&mut self) {
        soon(self.gateway.take().unwrap().shutdown(PATIENCE)).await;
    }

    pub async fn restart(&mut self) {
        self.stop().await;
        self.start().await;
    }

    pub fn addr(&self) -> SocketAddr {
        self.gateway.as_ref().unwrap().addr()
    }

    /// The turns of the gateway, and with them its bus.
    pub fn turns(&self) -> Arc<hookgate::gateway::turn::Turns> {
        self.gateway.as_ref().unwrap().turns()
    }

    /// Sends one request on a connection of its own.
    pub async fn post(&self, target: &str, headers: &str, body: impl AsRef<[u8]>) -> Answer {
        Client::connect(self.addr()).await.request("POST", target, headers, body).await
    }

    pub fn agent(&self, speech: Speech, stream: bool) -> Agent<'_> {
        Agent { stage: self, speech, stream, headers: session("s1"), history: vec![], tools: &["look"] }
    }

    /// The bodies that the provider received.
    pub fn bodies(&self) -> Vec<Value> {
        self.provider.requests().iter().map(|r| serde_json::from_slice(&r.body).unwrap()).collect()
    }

    pub fn last_body(&self) -> Value {
        self.bodies().pop().expect("a request")
    }

    /// The events of one kind so far.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let all = self.hooks.requests().into_iter().map(|r| serde_json::from_slice::<Value>(&r.body).unwrap());
        all.filter(|event| event["event"] == kind).collect()
    }

    /// How often each hook ran: start, prompt, stop, fail, end.
    pub fn runs(&self) -> [usize; 5] {
        ["session.start", "prompt.submit", "session.stop", "session.fail", "session.end"].map(|k| self.events(k).len())
    }

    /// The events of one kind, once there are `count`.
    pub async fn wait_events(&self, kind: &str, count: usize) -> Vec<Value> {
        soon(async {
            while self.events(kind).len() < count {
                tokio::task::yield_now().await;
            }
        })
        .await;
        self.events(kind)
    }

    /// Waits until the provider has received `count` requests.
    pub async fn wait_requests(&self, count: usize) {
        soon(async {
            while self.provider.requests().len() < count {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// The header that names a session, with a credential.
pub fn session(id: &str) -> String {
    format!("x-hookgate-session: {id}\r\nauthorization: Bearer key\r\n")
}

/// A client that keeps its own history, as agents do.
pub struct Agent<'a> {
    pub stage: &'a Stage,
    pub speech: Speech,
    pub stream: bool,
    pub headers: String,
    pub history: Vec<Item>,
    pub tools: &'static [&'static str],
}

impl Agent<'_> {
    #[must_use]
    pub fn headers(mut self, headers: impl Into<String>) -> Self {
        self.headers = headers.into();
        self
    }

    /// Says something and keeps the answer.
    pub async fn prompt(&mut self, text: &str) -> Answer {
        self.history.push(Item::user(text));
        self.send().await
    }

    /// Brings the result of a call and keeps the answer.
    pub async fn result(&mut self, call: &str, text: &str) -> Answer {
        self.history.push(Item::result(call, text));
        self.send().await
    }

    /// Sends the history and keeps the answer.
    pub async fn send(&mut self) -> Answer {
        let answer = self.ask().await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        self.history.push(self.speech.heard(self.stream, &answer.body).item());
        answer
    }

    /// Sends the history as it stands.
    pub async fn ask(&self) -> Answer {
        self.stage.post(self.speech.target(self.stream), &self.headers, self.body()).await
    }

    /// Sends the history as it stands; the connection that the answer comes on.
    pub async fn begin(&self) -> Client {
        self.begin_at(self.stage.addr()).await
    }

    /// [`Agent::begin`] at another gateway.
    pub async fn begin_at(&self, gateway: SocketAddr) -> Client {
        let (body, target) = (self.body(), self.speech.target(self.stream));
        let mut client = Client::connect(gateway).await;
        let head =
            format!("POST {target} HTTP/1.1\r\nhost: g\r\n{}content-length: {}\r\n\r\n", self.headers, body.len());
        client.send(head + &body).await;
        client
    }

    pub fn body(&self) -> String {
        self.speech.body(&self.history, self.stream, self.tools).to_string()
    }
}
