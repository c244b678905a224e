//! Configurations for tests: the defaults of the contract, on free ports, in memory.
use hookgate::config::{
    Admin, Config, Continuation, Injection, Isolation, Layout, Lifecycle, Limits, Provider, Retain, Secret, Sessions,
    Store, Upstream, WithoutId,
};
use std::net::SocketAddr;
use std::time::Duration;

/// The admin token of all gateways in tests.
pub const ADMIN_TOKEN: &str = "admin-token-of-a-test";

/// One upstream at this address.
pub fn upstream(name: &str, provider: Provider, addr: SocketAddr) -> Upstream {
    Upstream {
        name: name.into(),
        provider,
        base_url: format!("http://{addr}").parse().unwrap(),
        prefix: None,
        headers: vec![],
        api_key: None,
        connect_timeout: Duration::from_secs(10),
        idle_timeout: Duration::from_secs(600),
        cached: true,
    }
}

/// The three built-in upstreams, all at this address.
pub fn for_provider(addr: SocketAddr) -> Config {
    let free: SocketAddr = ([127, 0, 0, 1], 0).into();
    Config {
        listen: free.into(),
        tls: None,
        trust: Default::default(),
        admin: Admin { listen: free, token: Some(Secret(ADMIN_TOKEN.into())) },
        upstreams: vec![
            upstream("anthropic", Provider::Anthropic, addr),
            upstream("openai", Provider::OpenAi, addr),
            upstream("gemini", Provider::Gemini, addr),
        ],
        keys: Default::default(),
        aliases: Default::default(),
        sessions: Sessions {
            id: vec![],
            agent: vec![],
            parent: vec![],
            project: vec![],
            without_id: WithoutId::None,
            isolation: Isolation::Credential,
            idle_end: Duration::from_secs(30 * 60),
            retain: Duration::from_secs(30 * 24 * 3600),
            side_requests: vec![],
        },
        store: Store::Memory,
        lifecycle: Lifecycle {
            max_injected_context_chars: 4000,
            request_deadline: Duration::from_secs(20),
            max_requests_per_turn: 0,
        },
        injection: Injection { layout: Layout::Auto, retain: Retain::Auto, wrap: true },
        limits: Limits {
            request_body: 64 << 20,
            buffered_bytes: 1 << 30,
            hook_output: 1 << 20,
            held_response: 8 << 20,
            outcome_text: 256 << 10,
            concurrent_requests: 4096,
            request_head: 64 << 10,
            head_timeout: Duration::from_secs(20),
            body_timeout: Duration::from_secs(60),
        },
        continuation: Continuation { max_per_turn: 3 },
        policies: hookgate::config::Policies { on_opaque: hookgate::config::OnOpaque::Pass },
        knowledge: hookgate::config::Knowledge { dir: None, approve_token: None, max_context_chars: 2000 },
        bus: hookgate::config::Bus { maildir: None },
        telemetry: Default::default(),
        audit: None,
        inspect: hookgate::config::Inspect { requests_per_session: 20, bodies: false },
        hooks: vec![],
        profiles: vec![],
        terms: Default::default(),
    }
}
