//! The configuration in effect, for `GET /v1/config`: in the form of the file, secrets masked.
use super::keys::{Key, Keys, TenantLimits};
use super::resolved::{
    Config, Family, Hook, IdSource, Limits, Run, Secret, Sessions, Store, SystemText, Telemetry, Upstream,
};
use super::units::{show_duration, show_size};
use super::value::Include;
use crate::context::Edit;
use crate::telemetry::audit::Settings;
use serde_json::{Map, Value, json};

/// What stands for a secret.
const MASK: &str = "***";

/// `config` with the keys of the file. Secrets, values of headers and of hooks' variables are masked; profiles are
/// named, not quoted.
pub fn masked(config: &Config) -> Value {
    let Config {
        listen,
        tls,
        trust,
        admin,
        upstreams,
        keys,
        aliases,
        sessions,
        store,
        lifecycle,
        injection,
        limits,
        continuation,
        policies,
        knowledge,
        bus,
        telemetry,
        audit,
        inspect,
        hooks,
        profiles,
        terms: _,
    } = config;
    json!({
        "listen": listen.to_string(),
        "tls": tls.as_ref().map(|tls| json!({"cert": tls.cert, "key": tls.key})),
        "trust": {"proxy_protocol": trust.proxy_protocol.iter().map(ToString::to_string).collect::<Vec<_>>()},
        "admin": {"listen": admin.listen.to_string(), "token": mask(admin.token.as_ref())},
        "upstreams": upstreams.iter().map(upstream).collect::<Vec<_>>(),
        "keys": keys_of(keys),
        "models": {"aliases": aliases},
        "sessions": sessions_of(sessions),
        "store": store_of(store),
        "lifecycle": {
            "max_injected_context_chars": lifecycle.max_injected_context_chars,
            "request_deadline": show_duration(lifecycle.request_deadline),
            "max_requests_per_turn": lifecycle.max_requests_per_turn,
        },
        "injection": {
            "layout": injection.layout.word(),
            "retain": injection.retain.word(),
            "wrap": injection.wrap,
        },
        "limits": limits_of(limits),
        "continuation": {"max_per_turn": continuation.max_per_turn},
        "policies": {"on_opaque": policies.on_opaque.word()},
        "knowledge": {
            "dir": knowledge.dir,
            "approve_token": mask(knowledge.approve_token.as_ref()),
            "max_context_chars": knowledge.max_context_chars,
        },
        "bus": {"maildir": bus.maildir},
        "telemetry": telemetry_of(telemetry),
        "audit": audit_of(audit.as_ref()),
        "inspect": {"requests_per_session": inspect.requests_per_session, "bodies": inspect.bodies},
        "hooks": hooks.iter().map(hook).collect::<Vec<_>>(),
        "profiles": profiles.iter().map(|text| profile_name(text)).collect::<Vec<_>>(),
    })
}

fn keys_of(keys: &Keys) -> Value {
    json!({
        "required": keys.required,
        "file": keys.file,
        "entries": keys.entries.iter().map(key).collect::<Vec<_>>(),
        "limits": tenant_limits(&keys.limits),
        "tenants": keys.tenants.iter().map(|(name, limits)| (name.clone(), tenant_limits(limits))).collect::<Map<_, _>>(),
    })
}

fn sessions_of(sessions: &Sessions) -> Value {
    let sources = |list: &[IdSource]| list.iter().map(source).collect::<Vec<_>>();
    json!({
        "id": sources(&sessions.id),
        "agent": sources(&sessions.agent),
        "parent": sources(&sessions.parent),
        "project": sources(&sessions.project),
        "without_id": sessions.without_id.word(),
        "isolation": sessions.isolation.word(),
        "idle_end": show_duration(sessions.idle_end),
        "retain": show_duration(sessions.retain),
        "side_requests": sessions.side_requests,
    })
}

fn store_of(store: &Store) -> Value {
    match store {
        Store::Sled { path } => json!({"kind": "sled", "path": path}),
        Store::Memory => json!({"kind": "memory"}),
        Store::Redis { url, on_error } => {
            json!({"kind": "redis", "url": url.masked(), "on_store_error": on_error.word()})
        }
    }
}

fn limits_of(limits: &Limits) -> Value {
    json!({
        "request_body": show_size(limits.request_body),
        "buffered_bytes": show_size(limits.buffered_bytes),
        "hook_output": show_size(limits.hook_output),
        "held_response": show_size(limits.held_response),
        "outcome_text": show_size(limits.outcome_text),
        "concurrent_requests": limits.concurrent_requests,
        "request_head": show_size(limits.request_head),
        "head_timeout": show_duration(limits.head_timeout),
        "body_timeout": show_duration(limits.body_timeout),
    })
}

fn telemetry_of(telemetry: &Telemetry) -> Value {
    json!({
        "overhead_header": telemetry.overhead_header,
        "otlp": telemetry.otlp.as_ref().map_or_else(|| json!({"endpoint": null}), |otlp| json!({
            "endpoint": otlp.endpoint,
            "headers": masked_names(otlp.headers.iter().map(|(name, _)| name.as_str())),
            "sample": otlp.sample,
            "timeout": show_duration(otlp.timeout),
        })),
    })
}

fn audit_of(audit: Option<&Settings>) -> Value {
    audit.map_or_else(
        || json!({"file": null}),
        |audit| {
            json!({
                "file": audit.file,
                "max_size": show_size(usize::try_from(audit.max_size).unwrap_or(usize::MAX)),
                "keep": audit.keep,
                "bodies": audit.bodies,
            })
        },
    )
}

fn mask(secret: Option<&Secret>) -> Value {
    secret.map_or(Value::Null, |_| MASK.into())
}

fn masked_names<'a>(names: impl Iterator<Item = &'a str>) -> Map<String, Value> {
    names.map(|name| (name.to_owned(), MASK.into())).collect()
}

fn upstream(upstream: &Upstream) -> Value {
    json!({
        "name": upstream.name,
        "dialect": upstream.provider.word(),
        "base_url": upstream.base_url.to_string(),
        "prefix": upstream.prefix,
        "headers": masked_names(upstream.headers.iter().map(|(name, _)| name.as_str())),
        "api_key": mask(upstream.api_key.as_ref()),
        "connect_timeout": show_duration(upstream.connect_timeout),
        "idle_timeout": show_duration(upstream.idle_timeout),
        "cached": upstream.cached,
    })
}

/// A hash gives no key away, but is nobody's business either.
fn key(key: &Key) -> Value {
    json!({
        "name": key.name,
        "hash": MASK,
        "tenant": key.tenant,
        "credentials": masked_names(key.credentials.keys().map(String::as_str)),
    })
}

fn tenant_limits(limits: &TenantLimits) -> Value {
    json!({
        "requests_per_minute": limits.requests_per_minute,
        "concurrent_requests": limits.concurrent_requests,
        "tokens_per_minute": limits.tokens_per_minute,
    })
}

fn source(source: &IdSource) -> Value {
    match source {
        IdSource::Header(name) => name.as_str().into(),
        IdSource::Body { pointer, matching } => json!({"body": pointer, "match": matching}),
    }
}

fn hook(hook: &Hook) -> Value {
    json!({
        "name": hook.name,
        "on": hook.on.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
        "run": run(&hook.run),
        "slot": hook.slot,
        "when": hook.when,
        "timeout": hook.timeout.map(show_duration),
        "on_error": hook.on_error.word(),
        "mode": hook.mode.word(),
        "include": if hook.include_request { vec![Include::Request.word()] } else { Vec::new() },
    })
}

fn run(run: &Run) -> Value {
    match run {
        Run::Text(text) => json!({"text": text}),
        Run::Edits(edits) => json!({"edits": edits.iter().map(edit).collect::<Vec<_>>()}),
        Run::File(path) => json!({"file": path}),
        Run::Command { argv, cwd, env, env_pass } => json!({
            "command": argv,
            "cwd": cwd,
            "env": masked_names(env.keys().map(String::as_str)),
            "env_pass": env_pass,
        }),
        Run::Worker { argv, cwd, env, env_pass, workers } => json!({
            "worker": argv,
            "cwd": cwd,
            "env": masked_names(env.keys().map(String::as_str)),
            "env_pass": env_pass,
            "workers": workers,
        }),
        Run::ModelContext(context) => json!({"model_context": {
            "families": context.families.iter().map(|f| (f.name.clone(), family(f))).collect::<Map<_, _>>(),
            "default": context.default.as_ref().map(family),
            "edit_tools": context.edit_tools,
            "place": context.place.word(),
        }}),
        Run::ClaudeCode(scripts) => json!({"claude_code": {
            "settings": scripts.settings,
            "project_dir": scripts.project_dir,
            "cwd": scripts.cwd,
            "agent_type": scripts.agent_type,
            "on_ask": scripts.on_ask.word(),
            "env": masked_names(scripts.env.keys().map(String::as_str)),
            "env_pass": scripts.env_pass,
        }}),
        Run::Knowledge { max_entries } => json!({"knowledge": {"max_entries": max_entries}}),
        Run::Http { url, headers } => json!({"http": {
            "url": without_query(url),
            "headers": masked_names(headers.iter().map(|(name, _)| name.as_str())),
        }}),
    }
}

fn family(family: &Family) -> Value {
    let (text, file) = match &family.system {
        Some(SystemText::Text(text)) => (Some(text), None),
        Some(SystemText::File(path)) => (None, Some(path)),
        None => (None, None),
    };
    json!({"match": family.matching, "system": text, "system_file": file, "tools": family.tools})
}

/// A header's value may be a key.
fn edit(edit: &Edit) -> Value {
    let mut shown = serde_json::to_value(edit).unwrap_or_default();
    if let Edit::HeadersSet { .. } = edit {
        shown["value"] = MASK.into();
    }
    shown
}

/// A query may hold a key.
fn without_query(url: &http::Uri) -> String {
    let url = url.to_string();
    url.split_once('?').map_or(url.clone(), |(path, _)| format!("{path}?{MASK}"))
}

fn profile_name(text: &str) -> Value {
    super::yaml::value(text).ok().and_then(|profile| profile.get("name").cloned()).unwrap_or(Value::Null)
}
