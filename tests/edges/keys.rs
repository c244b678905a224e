//! Clients' keys: agents need no provider's key.
use crate::refusal::{ASKED, assert_refused};
use crate::support::config::{ADMIN_TOKEN, for_provider};
use crate::support::provider::answer;
use crate::support::{Client, Provider, gateway_with};
use hookgate::config::{Config, Key, KeyHash, Keys, Secret};
use hookgate::dialect::DialectId;
use serde_json::{Value, json};

const KEY: &str = "hgk_of-alice";

pub(crate) fn key(name: &str, key: &str, tenant: &str) -> Key {
    let credentials = ["anthropic", "openai", "gemini"];
    Key {
        name: name.into(),
        hash: KeyHash::of(key.as_bytes()),
        tenant: tenant.into(),
        credentials: credentials.map(|upstream| (upstream.into(), Secret(format!("up-{upstream}")))).into(),
    }
}

pub(crate) fn keyed(provider: &Provider, entries: Vec<Key>) -> Config {
    Config { keys: Keys { required: true, entries, ..Keys::default() }, ..for_provider(provider.addr()) }
}

async fn ok() -> Provider {
    Provider::always(answer("200 OK", "content-type: application/json\r\n", "{}")).await
}

#[tokio::test]
async fn a_key_is_taken_wherever_clients_put_theirs_and_the_upstreams_credential_goes_up() {
    let provider = ok().await;
    let gateway = gateway_with(keyed(&provider, vec![key("alice", KEY, "alice")])).await;
    let places = [
        ("/v1/messages", "x-api-key: KEY", "x-api-key", "up-anthropic"),
        ("/v1/messages", "authorization: Bearer KEY", "x-api-key", "up-anthropic"),
        ("/v1/messages", "authorization: Bearer other\r\nx-api-key: KEY", "x-api-key", "up-anthropic"),
        ("/v1/chat/completions", "authorization: bearer KEY", "authorization", "Bearer up-openai"),
        ("/v1/responses", "api-key: KEY", "authorization", "Bearer up-openai"),
        ("/v1beta/models/m:generateContent", "x-goog-api-key: KEY", "x-goog-api-key", "up-gemini"),
        ("/v1beta/models/m:generateContent?alt=sse&key=KEY&x=1", "x-n: 1", "x-goog-api-key", "up-gemini"),
        ("/v1beta/models/m:generateContent?key=KEY", "x-n: 1", "x-goog-api-key", "up-gemini"),
    ];
    for (index, (target, header, name, value)) in places.into_iter().enumerate() {
        let (target, header) = (target.replace("KEY", KEY), header.replace("KEY", KEY));
        let mut client = Client::connect(gateway.addr()).await;
        let answer = client.request("POST", &target, &format!("{header}\r\n"), "{}").await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let request = provider.requests().remove(index);
        assert_eq!(request.head.get(name), Some(value), "{target} {header}");
        let sent = format!("{:?}", request.head);
        assert!(!sent.contains(KEY) && !sent.contains("other"), "{sent}");
        assert_eq!(request.target().contains("x=1"), target.contains("x=1"), "the rest of the query stays");
    }
}

#[tokio::test]
async fn without_a_known_key_nobody_comes_in() {
    let provider = ok().await;
    let gateway = gateway_with(keyed(&provider, vec![key("alice", KEY, "alice")])).await;
    for (target, dialect, place) in ASKED {
        for header in [String::new(), format!("{place}sk-own\r\n"), format!("{place}{KEY}x\r\n")] {
            let mut client = Client::connect(gateway.addr()).await;
            let answer = client.request("POST", target, &header, "{}").await;
            assert_refused(&answer, 401, "unauthorized", dialect);
            assert_eq!(answer.head.get("www-authenticate"), Some("Bearer"));
        }
    }
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn where_keys_are_not_required_others_bring_their_own_credential() {
    let provider = ok().await;
    let mut config = keyed(&provider, vec![key("alice", KEY, "alice")]);
    config.keys.required = false;
    let gateway = gateway_with(config).await;
    let ask = async |headers: &str| {
        Client::connect(gateway.addr()).await.request("POST", "/v1/messages", headers, "{}").await
    };
    assert_eq!(ask("x-api-key: sk-own\r\n").await.status(), 200);
    assert_eq!(provider.request().head.get("x-api-key"), Some("sk-own"));
    assert_eq!(ask("").await.status(), 200);
    assert_refused(&ask("x-api-key: hgk_withdrawn\r\n").await, 401, "unauthorized", DialectId::Anthropic);
    assert_eq!(provider.requests().len(), 2, "a key of the gateway's never goes up");
}

#[tokio::test]
async fn the_upstreams_own_key_is_lent_to_keys_without_a_credential() {
    let provider = ok().await;
    let mut config = keyed(&provider, vec![Key { credentials: Default::default(), ..key("alice", KEY, "alice") }]);
    config.upstreams[0].api_key = Some(Secret("shared".into()));
    let gateway = gateway_with(config).await;
    for (target, place, expected) in
        [("/v1/messages", "x-api-key", Some("shared")), ("/v1/responses", "authorization", None)]
    {
        let headers = format!("authorization: Bearer {KEY}\r\n");
        assert_eq!(Client::connect(gateway.addr()).await.request("POST", target, &headers, "{}").await.status(), 200);
        assert_eq!(provider.requests().last().unwrap().head.get(place), expected);
    }
}

/// A whole answer of Anthropic's API.
pub(crate) fn message(input: u64, output: u64) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": null,
        "content": [{"type": "text", "text": "A"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": input, "cache_read_input_tokens": 1_000_000, "output_tokens": output}})
}

#[tokio::test]
async fn keys_of_one_tenant_share_its_sessions_and_nobody_else_has_them() {
    let provider =
        Provider::always(answer("200 OK", "content-type: application/json\r\n", message(1, 1).to_string())).await;
    let entries = vec![key("a", "hgk_a", "team"), key("b", "hgk_b", "team"), key("c", "hgk_c", "c")];
    let config = keyed(&provider, entries);
    let text = "sessions: { without_id: none }\nhooks: [{ name: h, on: session.start, run: { text: Rules. } }]";
    let hooked = hookgate::config::parse(text, hookgate::config::Source::Program, &|_| None).unwrap().config;
    let gateway = gateway_with(Config { hooks: hooked.hooks, sessions: hooked.sessions, ..config }).await;

    let first = json!([{"role": "user", "content": "hi"}]);
    let grown = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "A"}, {"role": "user", "content": "more"}]);
    for (key, messages) in [("hgk_a", &first), ("hgk_b", &grown), ("hgk_c", &grown)] {
        let headers = format!("x-hookgate-session: s\r\nx-api-key: {key}\r\nanthropic-version: 2023-06-01\r\n");
        let body = json!({"model": "m", "max_tokens": 9, "messages": messages}).to_string();
        let answer = Client::connect(gateway.addr()).await.request("POST", "/v1/messages", &headers, body).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let mut admin = Client::connect(gateway.admin_addr()).await;
    let headers = format!("authorization: Bearer {ADMIN_TOKEN}\r\n");
    let sessions = admin.request("GET", "/v1/sessions", &headers, "").await;
    let sessions: Value = serde_json::from_slice(&sessions.body).unwrap();
    let mut tenants: Vec<_> =
        sessions["items"].as_array().unwrap().iter().map(|s| s["tenant"].as_str().unwrap()).collect();
    tenants.sort_unstable();
    assert_eq!(tenants, ["c", "team"], "a history that is presented opens no other tenant's session: {sessions:#}");
}

#[tokio::test]
async fn a_key_that_is_added_or_withdrawn_counts_from_the_next_reload() {
    let provider = ok().await;
    let folder = tempfile::tempdir().unwrap();
    let [file, keys] = ["hookgate.yaml", "keys.yaml"].map(|name| folder.path().join(name));
    let entry = |name: &str| format!("- {{ name: {name}, hash: '{}' }}\n", KeyHash::of(name.as_bytes()));
    let config = format!(
        "listen: 127.0.0.1:0\nadmin: {{ listen: 127.0.0.1:0, token: {ADMIN_TOKEN} }}\nstore: {{ kind: memory }}\n\
         upstreams: [{{ name: anthropic, dialect: anthropic, base_url: 'http://{}' }}]\nkeys: {{ file: keys.yaml }}\n",
        provider.addr()
    );
    std::fs::write(&file, config).unwrap();
    std::fs::write(&keys, entry("old")).unwrap();
    let loaded = hookgate::config::load(Some(&file), &hookgate::config::process_env).unwrap();
    let gateway = hookgate::app::start(loaded).await.unwrap();
    let ask = async |key: &str| {
        let headers = format!("x-api-key: {key}\r\n");
        Client::connect(gateway.addr()).await.request("POST", "/v1/messages", &headers, "{}").await.status()
    };
    assert_eq!((ask("old").await, ask("new").await), (200, 401));
    std::fs::write(&keys, entry("new")).unwrap();
    let headers = format!("authorization: Bearer {ADMIN_TOKEN}\r\n");
    let reloaded = Client::connect(gateway.admin_addr()).await.request("POST", "/v1/config/reload", &headers, "").await;
    assert_eq!(reloaded.status(), 200, "{}", reloaded.text());
    assert_eq!((ask("old").await, ask("new").await), (401, 200));
    gateway.shutdown(std::time::Duration::ZERO).await;
}

#[test]
fn a_made_key_is_shown_once_with_an_entry_that_knows_it() {
    let made = std::process::Command::new(env!("CARGO_BIN_EXE_hookgate"))
        .args(["keys", "new", "--name", "al: ice", "--tenant", "team", "--json"])
        .output()
        .unwrap();
    assert!(made.status.success());
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let key = made["key"].as_str().unwrap();
    assert!(key.starts_with("hgk_") && key.len() == 4 + 64);
    let text = format!("keys: {{ entries: [{}] }}", made["entry"]);
    let read = hookgate::config::parse(&text, hookgate::config::Source::Program, &|_| None).unwrap().config;
    let expected = Key {
        name: "al: ice".into(),
        hash: KeyHash::of(key.as_bytes()),
        tenant: "team".into(),
        credentials: Default::default(),
    };
    assert_eq!(read.keys.entries, [expected]);
}
