//! The configuration as it is written: every key, its default, and what it is for. No side effects: whether a hook's
//! script exists is [`crate::config::resolve`]'s question.
mod hooks;

pub(in crate::config) use hooks::*;

use crate::config::keys::KeyHash;
use crate::config::listeners::Listen;
use crate::config::node::{Content, Node};
use crate::config::reader::{At, Reader, Value};
use crate::config::redis_url::RedisUrl;
use crate::config::resolved::{Isolation, Layout, OnOpaque, OnStoreError, Provider, Retain, Secret, WithoutId};
use crate::config::section::section;
use crate::config::value::{
    BaseUrl, Count, Expression, Headers, Pattern, Pointer, Prefix, Ratio, Size, StoreKind, Url,
};
use http::HeaderName;
use ipnet::IpNet;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

section! {
    /// The configuration of hookgate.
    struct File {
        /// Where agents connect.
        listen: At<Listen> = "127.0.0.1:8787",
        /// Certificate and key of where agents connect; without them it speaks plain HTTP.
        tls: Option<Tls> = "null",
        /// Whose word counts for who a client is.
        trust: Trust = "{}",
        /// The listener for health, metrics and sessions.
        admin: Admin = "{}",
        /// Where requests go. anthropic, openai and gemini are built in; one of the same name replaces it.
        upstreams: Vec<Upstream> = "[]",
        /// Clients' keys: who may come in, as whom, with which credential for the way up.
        keys: Keys = "{}",
        /// Names of models.
        models: Models = "{}",
        /// Whose request it is.
        sessions: Sessions = "{}",
        /// Where state lives.
        store: Store = "{}",
        /// Budgets and deadlines of a turn.
        lifecycle: Lifecycle = "{}",
        /// Where hooks' text goes.
        injection: Injection = "{}",
        /// Bounds.
        limits: Limits = "{}",
        /// Turns that hooks extend.
        continuation: Continuation = "{}",
        /// Rules about tools.
        policies: Policies = "{}",
        /// What was learned, and who approves it.
        knowledge: Knowledge = "{}",
        /// Messages into running sessions.
        bus: Bus = "{}",
        /// What else is told of requests.
        telemetry: Telemetry = "{}",
        /// A file that says what was changed, blocked and denied.
        audit: Audit = "{}",
        /// What is kept of requests, for the admin page.
        inspect: Inspect = "{}",
        /// The pipeline, in order.
        hooks: Vec<Hook> = "[]",
        /// Files with client profiles, tried before the built-in ones.
        profiles: Vec<At<String>> = "[]",
    }

    /// What a listener shows its clients. Files that are replaced count from the next connection on.
    struct Tls {
        /// A PEM file: the certificate, followed by those up to the root.
        cert: At<String>,
        /// A PEM file: its private key.
        key: At<String>,
    }

    /// Whose word counts for who a client is.
    struct Trust {
        /// Addresses and networks of proxies whose connections begin with the PROXY protocol, version 1 or 2.
        proxy_protocol: Vec<IpNet> = "[]",
    }

    /// The admin listener.
    struct Admin {
        /// Where it listens.
        listen: At<SocketAddr> = "127.0.0.1:8788",
        /// The bearer token; without one it is made at start and kept in STORE_PATH/admin.token.
        token: Option<Secret> = "null",
    }

    /// One provider's API.
    struct Upstream {
        /// Its name, also the path prefix /NAME.
        name: At<String>,
        /// What it speaks.
        dialect: Provider,
        /// Scheme, authority and an optional path that is put before every request's path.
        base_url: BaseUrl,
        /// A path prefix of its own, stripped on the way up; without one the well-known paths lead here.
        prefix: Option<At<Prefix>> = "null",
        /// Headers set on the way up.
        headers: Headers = "{}",
        /// Replaces the client's credential.
        api_key: Option<At<Secret>> = "null",
        /// Until a connection stands.
        connect_timeout: Duration = "10s",
        /// Without a byte from the upstream.
        idle_timeout: Duration = "10m",
        /// Whether it caches prompts; without a cache, layout auto rebuilds the system prompt every turn.
        cached: bool = "true",
    }

    /// Clients' keys. Without an entry and without a file every client comes in as it is.
    struct Keys {
        /// Whether a request without a known key is refused; otherwise it goes up with the credential that it brings.
        required: bool = "true",
        /// Further entries: a YAML file with a list of them.
        file: Option<At<String>> = "null",
        /// The keys.
        entries: Vec<Key> = "[]",
        /// What each tenant may use.
        limits: TenantLimits = "{}",
        /// What single tenants may use instead, by their name.
        tenants: BTreeMap<String, At<TenantLimits>> = "{}",
    }

    /// One client's key, as `hookgate keys new` prints it.
    struct Key {
        /// What it is called in logs, unique.
        name: At<String>,
        /// `sha256:` and the SHA-256 of the key in hex.
        hash: At<KeyHash>,
        /// Whose sessions and limits it has; without one a tenant of its own with its name.
        tenant: Option<At<String>> = "null",
        /// By an upstream's name: the credential that takes the key's place on the way up; without one the upstream's api_key.
        credentials: BTreeMap<String, At<Secret>> = "{}",
    }

    /// What the keys of one tenant may use together; 0 is no limit.
    struct TenantLimits {
        /// Requests per minute.
        requests_per_minute: Count = "0",
        /// Requests at once; a stream is one until its last byte.
        concurrent_requests: Count = "0",
        /// Tokens per minute, as upstreams report them: input that came from no cache, and output.
        tokens_per_minute: Count = "0",
    }

    /// Names of models.
    struct Models {
        /// From requested to resolved names.
        aliases: BTreeMap<String, String> = "{}",
    }

    /// Whose request it is. Of several places the first that is present wins.
    struct Sessions {
        /// The session's id.
        id: Vec<IdSource> = "[x-hookgate-session, x-claude-code-session-id, x-session-id, session-id, session_id]",
        /// The agent's id; absent or equal to the session's is `main`.
        agent: Vec<IdSource> = "[x-hookgate-agent, x-claude-code-agent-id, thread-id]",
        /// The parent agent's id.
        parent: Vec<IdSource> = "[x-hookgate-parent, x-claude-code-parent-agent-id, x-codex-parent-thread-id, x-parent-session-id]",
        /// The workspace's name.
        project: Vec<IdSource> = "[x-hookgate-project]",
        /// For clients that send no id: found by their history, or only hooks that need no session.
        without_id: WithoutId = "chain",
        /// Whether a session belongs to the credential that opened it; none is for one user on a loopback listener.
        isolation: At<Isolation> = "credential",
        /// Idle time after which session.end fires.
        idle_end: Duration = "30m",
        /// Age after which an ended session's record is deleted.
        retain: Duration = "30d",
        /// CEL expressions that say what is a side request, beside what the client's profile knows.
        side_requests: Vec<Expression> = "[]",
    }

    /// A place in the body.
    struct BodySource {
        /// A JSON pointer.
        body: Pointer,
        /// A regular expression whose one group is the id; without one the whole text is.
        r#match: Option<Pattern> = "null",
    }

    /// Where state lives.
    struct Store {
        /// sled: on disk, for one gateway; memory: for as long as the process lives; redis: for several gateways.
        kind: At<StoreKind> = "sled",
        /// sled's folder.
        path: At<String> = "./data",
        /// Where Redis or Valkey is.
        url: At<Option<RedisUrl>> = "null",
        /// While Redis can't be reached: requests pass with what this gateway remembers, or those that need a session are
        /// refused with 503.
        on_store_error: OnStoreError = "pass",
    }

    /// Budgets and deadlines of a turn.
    struct Lifecycle {
        /// Hooks' text newly placed in one turn, in characters (Unicode scalar values).
        max_injected_context_chars: Count = "4000",
        /// All hooks before a request goes up, together.
        request_deadline: Duration = "20s",
        /// Requests of one turn beyond which no hook extends it; 0 is no limit.
        max_requests_per_turn: u32 = "0",
    }

    /// Where hooks' text goes.
    struct Injection {
        /// system: rebuilt for every turn; stable: append-only, keeps prompt caches; auto: decided per conversation.
        layout: Layout = "auto",
        /// Ephemeral text in layout stable: gone with its turn, or kept in the history.
        retain: Retain = "auto",
        /// Whether each text stands in an attributed wrapper that its content cannot close.
        wrap: bool = "true",
    }

    /// Bounds.
    struct Limits {
        /// One request body, as sent and decoded.
        request_body: Size = "64MiB",
        /// All bodies in memory at once; beyond it requests are answered with 503.
        buffered_bytes: Size = "1GiB",
        /// What a hook may write.
        hook_output: Size = "1MiB",
        /// What a rule may hold of a response.
        held_response: Size = "8MiB",
        /// One text of a hook's answer.
        outcome_text: Size = "256KiB",
        /// Requests at once.
        concurrent_requests: At<Count> = "4096",
        /// One request's line and headers.
        request_head: Size = "64KiB",
        /// How long the head of a connection's first request may take, once it has begun.
        head_timeout: Duration = "20s",
        /// Without a byte of a body that is waited for; a body that trickles in has no longer than that either.
        body_timeout: Duration = "60s",
    }

    /// Turns that hooks extend.
    struct Continuation {
        /// How often the hooks of session.stopping may send the model back to work in one turn; 0 is never.
        max_per_turn: u32 = "3",
    }

    /// Rules about tools.
    struct Policies {
        /// A request that a rule about tools changes may have further tools that the body does not show (cached content,
        /// stored prompts and conversations, tools of the provider's side): let it pass, with the rule holding for the
        /// names that it says, or answer it like a blocked prompt.
        on_opaque: OnOpaque = "pass",
    }

    /// What was learned, and who approves it.
    struct Knowledge {
        /// A folder that holds every approved entry as a Markdown file; without one they live in the store.
        dir: At<Option<String>> = "null",
        /// The token that approving, rejecting and editing take; without one the admin token.
        approve_token: Option<At<Secret>> = "null",
        /// Approved entries at the start of a session, in characters (Unicode scalar values), within max_injected_context_chars.
        max_context_chars: Count = "2000",
    }

    /// Messages into running sessions.
    struct Bus {
        /// A folder that any process can put messages in, as files; made if need be. One gateway reads it.
        maildir: At<Option<String>> = "null",
    }

    /// What else is told of requests, beside logs and metrics.
    struct Telemetry {
        /// Whether answers say how long the gateway itself took, in microseconds: x-hookgate-overhead-us.
        overhead_header: bool = "false",
        /// Traces, for a collector that speaks OTLP over HTTP.
        otlp: Otlp = "{}",
    }

    /// Where spans go.
    struct Otlp {
        /// The collector's address; without one there are no spans.
        endpoint: At<Option<Url>> = "null",
        /// Headers for it.
        headers: At<Headers> = "{}",
        /// Part of the requests that are traced where the client's trace context does not say.
        sample: At<Ratio> = "1",
        /// How long a batch may take.
        timeout: At<Duration> = "10s",
    }

    /// The audit log: a line of JSON for each decision that changed, blocked or denied something.
    struct Audit {
        /// The file; without one nothing is written.
        file: At<Option<String>> = "null",
        /// When the next file is begun.
        max_size: At<Size> = "64MiB",
        /// Older files that are kept: FILE.1 is the newest.
        keep: At<Count> = "5",
        /// Whether lines hold bodies, which may hold secrets; at most 1 MiB of each.
        bodies: At<bool> = "false",
    }

    /// What is kept of requests in memory, for the admin page.
    struct Inspect {
        /// The last requests of each session; 0 keeps none.
        requests_per_session: At<Count> = "20",
        /// Whether bodies are kept too, as they came and as they went up. Without them: what hooks place and change, and
        /// numbers of the rest.
        bodies: bool = "false",
    }
}

/// Where an id is looked for: a header's name, or a place in the body.
#[derive(Debug, Clone)]
pub(in crate::config) enum IdSource {
    /// A header.
    Header(HeaderName),
    /// The body.
    Body(BodySource),
}

impl Value for IdSource {
    const WRITE: &'static str = "a header's name or { body: /json/pointer, match: 'regex with one group' }";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.content {
            Content::Map(_) => BodySource::read(node, reader).map(Self::Body),
            _ => reader.parsed(node, Self::WRITE, |text| text.parse().ok()).map(Self::Header),
        }
    }

    fn schema() -> Json {
        json!({"oneOf": [HeaderName::schema(), BodySource::schema()]})
    }
}
