//! The client's side: two turns through a gateway of its own, and what was seen of them.
use super::house::House;
use super::provider::Provider;
use super::script::{PROMPTS, Said};
use super::{DemoError, transcript, wire};
use crate::app::{self, GRACE, Running};
use crate::context::{Answer, AnswerForm};
use crate::dialect::{self, DialectId};
use crate::sse::Framer;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The client's session.
const SESSION: &str = "demo";
/// The header that names it.
const SESSION_HEADER: &str = "x-hookgate-session";

/// What was seen.
pub(super) struct Conversation {
    /// What the client spoke.
    pub(super) dialect: DialectId,
    /// Turn by turn.
    pub(super) turns: Vec<Turn>,
}

/// One prompt and all requests that it took.
pub(super) struct Turn {
    /// Its requests.
    pub(super) exchanges: Vec<Exchange>,
    /// The event of its `session.stop`.
    pub(super) stop: Value,
    /// The session's slots after that.
    pub(super) stored: BTreeMap<String, String>,
}

/// One request and its answer.
pub(super) struct Exchange {
    /// The body that the client sent.
    pub(super) sent: Bytes,
    /// The body that the provider received.
    pub(super) received: Bytes,
    /// The answer that the client received.
    pub(super) answer: Answer,
}

/// A client with its history.
struct Client<'a> {
    http: reqwest::Client,
    gateway: &'a Running,
    provider: &'a Provider,
    dialect: DialectId,
    history: Vec<Said>,
}

impl Conversation {
    /// Starts what it takes, talks, and stops all of it.
    pub(super) async fn hold(dialect: DialectId, layout: &str) -> Result<Self, DemoError> {
        let provider = Provider::start(dialect).await?;
        let house = House::build()?;
        let gateway = app::start(house.config(provider.addr(), layout)?).await?;
        let turns = talk(dialect, &gateway, &provider, &house).await;
        gateway.shutdown(GRACE).await;
        Ok(Self { dialect, turns: turns? })
    }

    /// For scripts.
    pub(super) fn json(&self) -> Result<Value, DemoError> {
        let turns = self.turns.iter().map(|turn| turn.json(self.dialect)).collect::<Result<Vec<_>, _>>()?;
        Ok(json!({ "dialect": self.dialect.name(), "turns": turns }))
    }
}

impl Turn {
    fn json(&self, dialect: DialectId) -> Result<Value, DemoError> {
        let exchange = |seen: &Exchange| {
            Ok(json!({
                "sent": serde_json::from_slice::<Value>(&seen.sent)?,
                "received": serde_json::from_slice::<Value>(&seen.received)?,
                "added": transcript::added(dialect, &seen.sent, &seen.received)?,
                "answer": seen.answer.text,
                "tool_calls": seen.answer.calls,
            }))
        };
        let requests = self.exchanges.iter().map(exchange).collect::<Result<Vec<_>, DemoError>>()?;
        Ok(json!({ "requests": requests, "stop": self.stop, "stored": self.stored }))
    }
}

async fn talk(
    dialect: DialectId,
    gateway: &Running,
    provider: &Provider,
    house: &House,
) -> Result<Vec<Turn>, DemoError> {
    // reqwest has no TLS provider of its own here; a second installation is refused and harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // The gateway is near: a proxy from the environment has no part in this.
    let http = reqwest::Client::builder().no_proxy().build()?;
    let mut client = Client { http, gateway, provider, dialect, history: Vec::new() };
    let mut turns = Vec::new();
    for prompt in PROMPTS {
        let exchanges = client.turn(prompt).await?;
        let stored = stored(gateway).await?;
        let stop = house.stops()?.pop().unwrap_or_default();
        turns.push(Turn { exchanges, stop, stored });
    }
    Ok(turns)
}

/// The session's slots once its stop hooks are done.
async fn stored(gateway: &Running) -> Result<BTreeMap<String, String>, DemoError> {
    let turns = gateway.turns();
    let sessions = turns.sessions();
    let Some(key) = sessions.records.find(SESSION).await?.into_iter().next() else { return Ok(BTreeMap::new()) };
    sessions.barrier.passed(&key).await;
    let record = sessions.records.get(&key).await?;
    let slots = record.iter().flat_map(|record| &record.slots);
    Ok(slots.map(|(name, slot)| (name.clone(), slot.text.clone())).collect())
}

impl Client<'_> {
    /// Asks until the model calls no tool any more.
    async fn turn(&mut self, prompt: &'static str) -> Result<Vec<Exchange>, DemoError> {
        let mut exchanges = Vec::new();
        self.history.push(Said::User(prompt));
        loop {
            let exchange = self.ask().await?;
            self.history.push(Said::Model(Box::new(exchange.answer.clone())));
            self.history.extend(exchange.answer.calls.iter().map(|call| Said::Tool(call.id.clone())));
            let is_last = exchange.answer.calls.is_empty();
            exchanges.push(exchange);
            if is_last {
                return Ok(exchanges);
            }
        }
    }

    async fn ask(&self) -> Result<Exchange, DemoError> {
        let url = format!("http://{}{}", self.gateway.addr(), wire::target(self.dialect));
        let sent = Bytes::from(wire::body(self.dialect, &self.history).to_string());
        let request = self.http.post(url).header(CONTENT_TYPE, "application/json").header(SESSION_HEADER, SESSION);
        let response = request.body(sent.clone()).send().await?;
        let status = response.status();
        let body = response.bytes().await?;
        if !status.is_success() {
            return Err(DemoError::Status { status, body: String::from_utf8_lossy(&body).into_owned() });
        }
        Ok(Exchange { sent, received: self.provider.received(), answer: read(self.dialect, &body) })
    }
}

/// The answer that a stream brought.
fn read(dialect: DialectId, stream: &[u8]) -> Answer {
    let mut reader = dialect::of(dialect).reader(AnswerForm::Sse);
    let mut framer = Framer::new();
    framer.push(stream, |frame| reader.event(frame.event, &frame.data));
    framer.finish(|frame| reader.event(frame.event, &frame.data));
    reader.finish()
}
