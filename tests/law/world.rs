//! The gateway between a provider and a hook server that both do what the test says, with a store that outlives it.
use crate::support::Gate;
use crate::support::provider::{Provider, Recorded, Step, answer};
use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hookgate::bus::Bus;
use hookgate::config::{self, Config, EventKind, Hook, Mode, OnError, Run};
use hookgate::gateway::Gateway;
use hookgate::gateway::turn::Turns;
use hookgate::hooks::Pipeline;
use hookgate::session::Sessions;
use hookgate::session::store::{Change, MemoryStore, Pair, Store, StoreError};
use http::{HeaderName, HeaderValue, Request};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::task::JoinHandle;
use tower::ServiceExt;

/// Names a request to the provider; it is passed on like every header that is not the gateway's.
pub const REQUEST: &str = "x-test-request";
/// The slot that the start hook fills and the stop hook changes.
pub const SLOT: &str = "state";

/// What the provider does with a request.
#[derive(Debug, Clone)]
pub enum Reply {
    Answer(Value),
    Overloaded,
    /// The answer is announced, and the connection ends in the middle of it.
    Cut(Value),
}

/// One run of a hook.
#[derive(Debug, Clone)]
pub struct Fired {
    pub event: String,
    pub event_id: String,
    pub session: String,
    pub agent: String,
}

#[derive(Default)]
struct Shared {
    requests: AtomicUsize,
    /// Of each request: one for each leg.
    replies: Mutex<HashMap<usize, VecDeque<Reply>>>,
    bodies: Mutex<HashMap<usize, Vec<Bytes>>>,
    /// What the model is told behind the answers with these ids.
    messages: Mutex<HashMap<String, String>>,
    fired: Mutex<Vec<Fired>>,
    held: Mutex<Option<Held>>,
}

/// A point where everything stands still.
#[derive(Clone)]
pub struct Held {
    /// The event whose hook does not answer, or [`PROVIDER`].
    at: &'static str,
    /// How many pass before.
    passing: usize,
    /// Opened when it is reached.
    pub reached: Gate,
    /// Opened by the test.
    pub go: Gate,
}

/// The point where the provider has a request and does not answer.
pub const PROVIDER: &str = "provider";

/// Provider and hook server, for many gateways.
pub struct Stage {
    provider: Provider,
    hooks: Provider,
    shared: Arc<Shared>,
}

/// The mark of a text, unique by what it stands for.
pub fn mark(kind: &str, number: impl std::fmt::Display) -> String {
    format!("[[{kind}-{number}]]")
}

/// All marks in a text, in order.
pub fn marks(text: &str) -> Vec<&str> {
    let starts = text.match_indices("[[").map(|(at, _)| &text[at..]);
    starts.map(|rest| &rest[..rest.find("]]").unwrap() + 2]).collect()
}

impl Stage {
    pub async fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let provider = {
            let shared = shared.clone();
            Provider::start(move |request, _| shared.provide(request)).await
        };
        let hooks = {
            let shared = shared.clone();
            Provider::start(move |request, _| shared.hook(request)).await
        };
        Self { provider, hooks, shared }
    }

    /// A configuration whose hooks all leave marks.
    pub fn config(&self) -> Config {
        let url = |path: &str| format!("http://{}/{path}", self.hooks.addr()).parse().unwrap();
        let http = |path: &str| Run::Http { url: url(path), headers: vec![] };
        let hook = |name: &str, slot: &str, on: EventKind, run: Run| Hook {
            name: name.into(),
            on: vec![on],
            run,
            slot: slot.into(),
            when: None,
            timeout: None,
            on_error: OnError::Skip,
            mode: Mode::Enforce,
            include_request: false,
        };
        Config {
            upstreams: crate::support::config::for_provider(self.provider.addr()).upstreams,
            store: config::Store::Memory,
            hooks: vec![
                hook("begin", SLOT, EventKind::SessionStart, http("start")),
                hook("notes", "notes", EventKind::PromptSubmit, http("submit")),
                hook("keep", SLOT, EventKind::SessionStop, http("stop")),
            ],
            ..Config::default()
        }
    }

    /// Holds who comes to this point when `passing` others have passed.
    pub fn hold(&self, at: &'static str, passing: usize) -> Held {
        let held = Held { at, passing, reached: Gate::new(), go: Gate::new() };
        *self.shared.held.lock() = Some(held.clone());
        held
    }

    /// The same with a hook that sends the model back to work as [`Stage::go_on`] says.
    pub fn config_with_check(&self) -> Config {
        let mut config = self.config();
        let check = config.hooks.last().map(|keep| Hook {
            name: "check".into(),
            on: vec![EventKind::SessionStopping],
            slot: "check".into(),
            ..keep.clone()
        });
        config.hooks.extend(check);
        // Answers are all different; how many there are is for the test to say.
        config.continuation.max_per_turn = 100;
        config
    }

    /// Behind the answer with this id the model is told something.
    pub fn go_on(&self, id: &str, message: String) {
        self.shared.messages.lock().insert(id.to_owned(), message);
    }

    /// Prepares a reply; the number goes into the header [`REQUEST`].
    pub fn prepare(&self, reply: Reply) -> usize {
        self.prepare_legs(vec![reply])
    }

    /// Prepares a reply for each leg.
    pub fn prepare_legs(&self, replies: Vec<Reply>) -> usize {
        let number = self.shared.requests.fetch_add(1, Ordering::SeqCst);
        self.shared.replies.lock().insert(number, replies.into());
        number
    }

    /// What the provider got first under this number.
    pub fn up(&self, number: usize) -> Option<Bytes> {
        self.legs(number).into_iter().next()
    }

    /// All that the provider got under this number.
    pub fn legs(&self, number: usize) -> Vec<Bytes> {
        self.shared.replies.lock().remove(&number);
        self.shared.bodies.lock().remove(&number).unwrap_or_default()
    }

    pub fn provider(&self) -> SocketAddr {
        self.provider.addr()
    }

    pub fn hook_server(&self) -> SocketAddr {
        self.hooks.addr()
    }

    /// The runs of hooks for one session, in order.
    pub fn fired(&self, session: &str) -> Vec<Fired> {
        self.shared.fired.lock().iter().filter(|fired| fired.session == session).cloned().collect()
    }
}

impl Shared {
    /// The steps, or none if this is where everything stands still.
    fn unless_held(&self, at: &str, steps: Vec<Step>) -> Vec<Step> {
        let is_here = |held: &mut Held| {
            let passes = held.passing > 0;
            held.passing -= usize::from(held.at == at && passes);
            held.at == at && !passes
        };
        match self.held.lock().take_if(is_here) {
            Some(held) => {
                held.reached.open();
                vec![Step::Wait(held.go), Step::Close]
            }
            None => steps,
        }
    }

    fn provide(&self, request: &Recorded) -> Vec<Step> {
        let number: usize = request.head.get(REQUEST).unwrap().parse().unwrap();
        self.bodies.lock().entry(number).or_default().push(Bytes::copy_from_slice(&request.body));
        let json = "content-type: application/json\r\n";
        let reply = self.replies.lock().get_mut(&number).and_then(VecDeque::pop_front);
        let steps = match reply {
            Some(Reply::Answer(body)) => answer("200 OK", json, body.to_string()),
            Some(Reply::Cut(body)) => {
                let body = body.to_string();
                let head = format!("HTTP/1.1 200 OK\r\n{json}content-length: {}\r\n\r\n", body.len());
                vec![Step::text(head + &body[..body.len() / 2]), Step::Close]
            }
            Some(Reply::Overloaded) | None => answer("529 Overloaded", json, r#"{"error":{"message":"overloaded"}}"#),
        };
        self.unless_held(PROVIDER, steps)
    }

    fn hook(&self, request: &Recorded) -> Vec<Step> {
        let event: Value = serde_json::from_slice(&request.body).unwrap();
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let fired = Fired {
            event: text("/event"),
            event_id: text("/event_id"),
            session: text("/session/id"),
            agent: text("/session/agent"),
        };
        let number = {
            let mut all = self.fired.lock();
            all.push(fired.clone());
            all.len()
        };
        let context = match fired.event.as_str() {
            "session.stopping" => {
                let message = self.messages.lock().get(&text("/turn/message_id")).cloned();
                let reply = json!({"continue": message.is_some(), "message": message.unwrap_or_default()});
                return answer("200 OK", "content-type: application/json\r\n", reply.to_string());
            }
            "session.start" => mark("BASE", &fired.event_id),
            "prompt.submit" => mark("EPH", number),
            // The same for every run of one stop: a crash may make it run twice.
            _ => mark("STATE", text("/turn/message_id")),
        };
        let steps = answer("200 OK", "content-type: application/json\r\n", json!({"context": context}).to_string());
        self.unless_held(&fired.event, steps)
    }
}

/// A store that can be cut off from the process that writes to it, as a kill does.
struct Mortal {
    store: Arc<MemoryStore>,
    dead: AtomicBool,
}

impl Mortal {
    fn alive(&self) -> Result<&MemoryStore, StoreError> {
        if self.dead.load(Ordering::SeqCst) { Err(StoreError::Closed) } else { Ok(&self.store) }
    }
}

impl Store for Mortal {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        async move { self.alive()?.get(key).await }.boxed()
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move { self.alive()?.compare_and_set(key, expected, new).await }.boxed()
    }

    fn write(&self, batch: Vec<Change>) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.alive()?.write(batch).await }.boxed()
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<Vec<u8>>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>> {
        async move { self.alive()?.scan(prefix, after, limit).await }.boxed()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.alive()?.flush().await }.boxed()
    }
}

/// A gateway on this stage.
pub struct World<'a> {
    stage: &'a Stage,
    config: Config,
    running: Running,
}

struct Running {
    store: Arc<Mortal>,
    turns: Arc<Turns>,
    service: hookgate::gateway::Edge,
    sweeper: JoinHandle<()>,
}

/// What became of a request.
pub struct Outcome {
    /// What the client got, if it was whole.
    pub answer: Option<(u16, Bytes)>,
    /// What the provider got first.
    pub up: Option<Bytes>,
    /// What it got after that, to send the model back to work.
    pub further: Vec<Bytes>,
}

impl<'a> World<'a> {
    pub async fn new(stage: &'a Stage, config: Config) -> Self {
        let running = Self::run(&config, Arc::new(MemoryStore::new())).await;
        Self { stage, config, running }
    }

    async fn run(config: &Config, store: Arc<MemoryStore>) -> Running {
        let store = Arc::new(Mortal { store, dead: AtomicBool::new(false) });
        let sessions = Sessions::new(config, store.clone()).await.unwrap();
        let pipeline = Pipeline::new(&config.hooks, &config.limits, hookgate::knowledge::Knowledge::none()).unwrap();
        let bus = Arc::new(Bus::open(sessions.records.clone()).await.unwrap());
        let turns = Turns::new(Arc::new(config.clone()), pipeline, sessions, bus).unwrap();
        turns.recover().await;
        let sweeper = tokio::spawn({
            let turns = turns.clone();
            async move {
                loop {
                    turns.sweep().await;
                    tokio::time::sleep(turns.sweep_pause()).await;
                }
            }
        });
        let service = Gateway::new(config, turns.clone()).unwrap().into_service();
        Running { store, turns, service, sweeper }
    }

    /// An orderly restart.
    pub async fn restart(&mut self) {
        self.drained().await;
        self.running.turns.sessions().records.flush().await;
        self.kill().await;
    }

    /// Nothing that was not stored by now ever is.
    pub async fn kill(&mut self) {
        self.running.store.dead.store(true, Ordering::SeqCst);
        self.running.sweeper.abort();
        self.running = Self::run(&self.config, self.running.store.store.clone()).await;
    }

    /// All hooks that nobody waits for have ended.
    pub async fn drained(&self) {
        crate::support::soon(self.running.turns.drained()).await;
    }

    /// Sends a request through the gateway; `headers` beside the usual ones.
    pub async fn send(&self, path: &str, headers: &[(&str, &str)], body: Bytes, reply: Reply) -> Outcome {
        self.send_legs(path, headers, body, vec![reply]).await
    }

    /// [`World::send`] with a reply for each leg.
    pub async fn send_legs(&self, path: &str, headers: &[(&str, &str)], body: Bytes, replies: Vec<Reply>) -> Outcome {
        let number = self.stage.prepare_legs(replies);
        let mut request = Request::post(path).body(Body::from(body)).unwrap();
        let fields = request.headers_mut();
        fields.insert("content-type", HeaderValue::from_static("application/json"));
        fields.insert("x-api-key", HeaderValue::from_static("key"));
        fields.insert(REQUEST, number.into());
        for (name, value) in headers {
            fields.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        let response = crate::support::soon(self.running.service.clone().oneshot(request)).await.unwrap();
        let status = response.status().as_u16();
        let body = crate::support::soon(response.into_body().collect()).await;
        let mut ups = self.stage.legs(number).into_iter();
        Outcome { answer: body.ok().map(|body| (status, body.to_bytes())), up: ups.next(), further: ups.collect() }
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        self.running.sweeper.abort();
    }
}
