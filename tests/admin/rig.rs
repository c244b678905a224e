//! A gateway with hooks in front of a provider that answers everything alike.
use crate::support::config::{ADMIN_TOKEN, for_provider};
use crate::support::provider::answer;
use crate::support::{Answer, Client, Provider, gateway_with};
use hookgate::app::Running;
use hookgate::config::{self, Config, Source};
use serde_json::{Value, json};

/// A hook that makes the gateway keep sessions, and places nothing.
pub(crate) const QUIET: &str = "hooks: [{ name: quiet, on: session.fail, run: { command: ['true'] } }]";

pub(crate) struct Rig {
    pub(crate) provider: Provider,
    pub(crate) gateway: Running,
}

impl Rig {
    /// With what the file says, but for listeners, upstreams and the store.
    pub(crate) async fn start(file: &str) -> Self {
        Self::with(file, |_| {}).await
    }

    /// The same with a change.
    pub(crate) async fn with(file: &str, change: impl FnOnce(&mut Config)) -> Self {
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5",
            "content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1}});
        let answer = answer("200 OK", "content-type: application/json\r\n", message.to_string());
        let provider = Provider::always(answer).await;
        let written = config::parse(file, Source::BuiltIn, &|_| None).unwrap().config;
        let ours = for_provider(provider.addr());
        let mut config =
            Config { listen: ours.listen, admin: ours.admin, upstreams: ours.upstreams, store: ours.store, ..written };
        change(&mut config);
        Self { provider, gateway: gateway_with(config).await }
    }

    /// A prompt of an agent of a session, by whoever has this key.
    pub(crate) async fn say(&self, session: &str, agent: &str, key: &str, text: &str) -> Answer {
        let headers = format!(
            "x-hookgate-session: {session}\r\nx-hookgate-agent: {agent}\r\nx-api-key: {key}\r\nanthropic-version: 2023-06-01\r\n"
        );
        let body =
            json!({"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": text}]});
        let mut client = Client::connect(self.gateway.addr()).await;
        let answer = client.request("POST", "/v1/messages", &headers, body.to_string()).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer
    }

    /// What the provider last received.
    pub(crate) fn received(&self) -> String {
        String::from_utf8(self.provider.requests().last().unwrap().body.clone()).unwrap()
    }

    /// Asks the admin API with the token; `null` for an empty answer.
    pub(crate) async fn admin(&self, method: &str, target: &str, body: &str) -> (u16, Value) {
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let answer = self.raw(method, target, &format!("authorization: Bearer {ADMIN_TOKEN}\r\n{kind}"), body).await;
        let text = answer.text();
        let json = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap_or(Value::Null) };
        (answer.status(), json)
    }

    /// Asks the admin API with these headers only.
    pub(crate) async fn raw(&self, method: &str, target: &str, headers: &str, body: &str) -> Answer {
        Client::connect(self.gateway.admin_addr()).await.request(method, target, headers, body).await
    }

    /// The code of a refusal.
    pub(crate) async fn refused(&self, method: &str, target: &str, body: &str) -> (u16, String) {
        let (status, answer) = self.admin(method, target, body).await;
        (status, answer["error"]["code"].as_str().unwrap_or_default().to_owned())
    }
}
