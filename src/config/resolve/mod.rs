//! From written to resolved: paths made absolute, built-in upstreams added, and the rules that concern more than one key.
mod claude_code;
mod hooks;
mod keys;
mod listeners;
mod model_context;
mod upstreams;

use super::listeners::{Listen, Trust};
use super::problem::Place;
use super::reader::{At, Reader};
use super::resolved::{self as to, Config};
use super::terms::Terms;
use super::units::{show_duration, show_size};
use super::value::{Count, StoreKind};
use super::written::{self as from, File};
use crate::telemetry::audit::Settings;
use crate::telemetry::traces;
use std::path::{Path, PathBuf};

/// The folder of the configuration: where relative paths start. Absolute.
#[derive(Debug, Clone)]
pub(super) struct Base(PathBuf);

impl Base {
    /// The folder of `file`; without a file, the working directory.
    pub(super) fn of(file: Option<&Path>) -> Self {
        let folder = file.and_then(Path::parent).unwrap_or(Path::new(""));
        // Without a working directory (it was deleted) relative paths stay relative.
        Self(std::path::absolute(Path::new(".").join(folder)).unwrap_or_else(|_| folder.to_owned()))
    }

    /// `path` as an absolute one.
    pub(super) fn join(&self, path: &str) -> PathBuf {
        let joined = self.0.join(path);
        std::path::absolute(&joined).unwrap_or(joined)
    }
}

/// Resolves `file`. Problems go to `reader`; what has a fatal one is left out of the result.
pub(super) fn resolve(file: File, base: &Base, terms: &Terms, reader: &mut Reader<'_>) -> Config {
    check_listeners(&file, reader);
    let store = store(&file.store, base, reader);
    let keeping = claude_code::Keeping::beside(&store, file.sessions.retain);
    let token = file.admin.token.clone();
    let upstreams = upstreams::resolve(file.upstreams, terms.imposed.as_ref(), reader);
    Config {
        keys: keys::resolve(file.keys, &upstreams, base, reader),
        listen: listeners::at(&file.listen.value, base),
        tls: file.tls.and_then(|tls| listeners::tls(&tls, base, reader)),
        trust: Trust { proxy_protocol: file.trust.proxy_protocol },
        admin: to::Admin { listen: file.admin.listen.value, token: file.admin.token },
        upstreams,
        aliases: file.models.aliases,
        sessions: sessions(file.sessions),
        store,
        lifecycle: to::Lifecycle {
            max_injected_context_chars: file.lifecycle.max_injected_context_chars.0,
            request_deadline: file.lifecycle.request_deadline,
            max_requests_per_turn: file.lifecycle.max_requests_per_turn,
        },
        injection: to::Injection {
            layout: file.injection.layout,
            retain: file.injection.retain,
            wrap: file.injection.wrap,
        },
        limits: limits(&file.limits, reader),
        continuation: to::Continuation { max_per_turn: file.continuation.max_per_turn },
        policies: to::Policies { on_opaque: file.policies.on_opaque },
        knowledge: knowledge(file.knowledge, token.as_ref(), base, reader),
        bus: bus(&file.bus, base),
        telemetry: to::Telemetry { overhead_header: file.telemetry.overhead_header, otlp: otlp(&file.telemetry.otlp) },
        audit: audit(&file.audit, base),
        inspect: inspect(&file.inspect, reader),
        hooks: hooks::resolve(file.hooks, base, &keeping, reader),
        profiles: file.profiles.iter().filter_map(|path| profile(path, base, reader)).collect(),
        terms: terms.clone(),
    }
}

/// What a gateway that runs can't change is refused.
pub(super) fn check_unchanged(file: &File, base: &Base, running: &Config, reader: &mut Reader<'_>) {
    keep(&file.listen, listeners::at(&file.listen.value, base) == running.listen, &running.listen, reader);
    let admin = &file.admin.listen;
    keep(admin, admin.value == running.admin.listen, &running.admin.listen, reader);
    let dir = &file.knowledge.dir;
    let was = running.knowledge.dir.as_ref().map_or("null".into(), |dir| dir.display().to_string());
    keep(dir, dir.value.as_ref().map(|dir| base.join(dir)) == running.knowledge.dir, &was, reader);
    let was = running.bus.maildir.as_ref().map_or("null".into(), |path| path.display().to_string());
    keep(&file.bus.maildir, bus(&file.bus, base) == running.bus, &was, reader);
    keep_audit(&file.audit, base, running, reader);
    keep_otlp(&file.telemetry.otlp, running, reader);
    let from::Store { kind, path, url, .. } = &file.store;
    match (store(&file.store, base, reader), &running.store) {
        (to::Store::Sled { path: new }, to::Store::Sled { path: old }) => {
            keep(path, new == *old, &old.display(), reader);
        }
        (to::Store::Redis { url: new, .. }, to::Store::Redis { url: old, .. }) => {
            keep(url, new == *old, &old.masked(), reader);
        }
        (_, to::Store::Redis { .. }) => keep(kind, false, &StoreKind::Redis.word(), reader),
        (new, old @ to::Store::Sled { .. }) => keep(kind, new == *old, &StoreKind::Sled.word(), reader),
        (new, old @ to::Store::Memory) => keep(kind, new == *old, &StoreKind::Memory.word(), reader),
    }
}

fn keep<T>(written: &At<T>, is_same: bool, running: &dyn std::fmt::Display, reader: &mut Reader<'_>) {
    // The default stands in for a value that was refused, and would be refused once more.
    if !is_same && !reader.has_refused(&written.key) {
        let what = format!("can't change while the gateway runs, restart the gateway or write {running}");
        reader.refuse_at(written, what);
    }
}

/// Its file is open.
fn keep_audit(from: &from::Audit, base: &Base, running: &Config, reader: &mut Reader<'_>) {
    let (new, old) = (audit(from, base), &running.audit);
    let file = |audit: &Option<Settings>| audit.as_ref().map(|audit| audit.file.clone());
    let was = file(old).map_or("null".into(), |file| file.display().to_string());
    keep(&from.file, file(&new) == file(old), &was, reader);
    let Some((new, old)) = new.as_ref().zip(old.as_ref()) else { return };
    keep(&from.max_size, new.max_size == old.max_size, &show_size(from_u64(old.max_size)), reader);
    keep(&from.keep, new.keep == old.keep, &old.keep, reader);
    keep(&from.bodies, new.bodies == old.bodies, &old.bodies, reader);
}

/// Its exporter runs.
fn keep_otlp(from: &from::Otlp, running: &Config, reader: &mut Reader<'_>) {
    let (new, old) = (otlp(from), &running.telemetry.otlp);
    let endpoint = |otlp: &Option<traces::Settings>| otlp.as_ref().map(|otlp| otlp.endpoint.clone());
    let was = endpoint(old).unwrap_or_else(|| "null".into());
    keep(&from.endpoint, endpoint(&new) == endpoint(old), &was, reader);
    let Some((new, old)) = new.as_ref().zip(old.as_ref()) else { return };
    keep(&from.headers, new.headers == old.headers, &"the same headers", reader);
    keep(&from.sample, new.sample == old.sample, &old.sample, reader);
    keep(&from.timeout, new.timeout == old.timeout, &show_duration(old.timeout), reader);
}

fn otlp(from: &from::Otlp) -> Option<traces::Settings> {
    let headers = from.headers.value.0.iter().map(|(name, value)| (name.to_string(), value.0.clone()));
    Some(traces::Settings {
        endpoint: from.endpoint.value.as_ref()?.0.to_string(),
        headers: headers.collect(),
        sample: from.sample.value.0,
        timeout: from.timeout.value,
    })
}

fn audit(from: &from::Audit, base: &Base) -> Option<Settings> {
    let file = base.join(from.file.value.as_ref()?);
    Some(Settings { file, max_size: from.max_size.value.0 as u64, keep: from.keep.value.0, bodies: from.bodies.value })
}

fn from_u64(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

fn bus(from: &from::Bus, base: &Base) -> to::Bus {
    to::Bus { maildir: from.maildir.value.as_ref().map(|path| base.join(path)) }
}

fn inspect(from: &from::Inspect, reader: &mut Reader<'_>) -> to::Inspect {
    let Count(requests_per_session) = from.requests_per_session.value;
    if requests_per_session > to::Inspect::MAX_REQUESTS {
        let what = format!("nobody reads so many, write at most {}", to::Inspect::MAX_REQUESTS);
        reader.refuse_at(&from.requests_per_session, what);
    }
    to::Inspect { requests_per_session, bodies: from.bodies }
}

fn store(from: &from::Store, base: &Base, reader: &mut Reader<'_>) -> to::Store {
    match from.kind.value {
        StoreKind::Sled => to::Store::Sled { path: base.join(&from.path.value) },
        StoreKind::Memory => to::Store::Memory,
        StoreKind::Redis => match from.url.value.clone() {
            Some(url) => to::Store::Redis { url, on_error: from.on_store_error },
            None => {
                // A URL that was refused is no missing one.
                if !reader.has_refused(&from.url.key) {
                    reader.refuse_at(&from.kind, "redis needs `url`, such as redis://127.0.0.1:6379");
                }
                to::Store::Memory
            }
        },
    }
}

/// What only one user may have is refused where others can connect.
fn check_listeners(file: &File, reader: &mut Reader<'_>) {
    let (listen, admin) = (&file.listen, &file.admin.listen);
    if listen.value == Listen::Tcp(admin.value) && admin.value.port() != 0 {
        reader.refuse_at(admin, "the same address as `listen`, write another port");
    }
    if listen.value.is_local() {
        return;
    }
    let isolation = &file.sessions.isolation;
    if isolation.value == to::Isolation::None {
        reader.refuse_at(
            isolation,
            "none needs a loopback listener, write `isolation: credential` or listen on 127.0.0.1",
        );
    }
    let keys = &file.keys;
    if keys.required && (!keys.entries.is_empty() || keys.file.is_some()) {
        return;
    }
    for api_key in file.upstreams.iter().filter_map(|upstream| upstream.api_key.as_ref()) {
        let what = "would be lent to everyone who can connect, give clients `keys` or listen on 127.0.0.1";
        reader.refuse_at(api_key, what);
    }
}

fn knowledge(from: from::Knowledge, admin: Option<&to::Secret>, base: &Base, reader: &mut Reader<'_>) -> to::Knowledge {
    if let Some(token) = from.approve_token.as_ref().filter(|token| Some(&token.value) == admin) {
        reader.refuse_at(token, "the same as admin.token, so that who may propose may approve; write another");
    }
    let dir = from.dir.value.as_ref().map(|dir| base.join(dir));
    if let Some(file) = dir.as_ref().filter(|dir| dir.exists() && !dir.is_dir()) {
        reader.refuse_at(&from.dir, format!("{} is no folder, write another path", file.display()));
    }
    to::Knowledge {
        dir,
        approve_token: from.approve_token.map(|token| token.value),
        max_context_chars: from.max_context_chars.0,
    }
}

fn sessions(from: from::Sessions) -> to::Sessions {
    let sources = |list: Vec<from::IdSource>| list.into_iter().map(source).collect();
    to::Sessions {
        id: sources(from.id),
        agent: sources(from.agent),
        parent: sources(from.parent),
        project: sources(from.project),
        without_id: from.without_id,
        isolation: from.isolation.value,
        idle_end: from.idle_end,
        retain: from.retain,
        side_requests: from.side_requests.into_iter().map(|expression| expression.0).collect(),
    }
}

fn source(from: from::IdSource) -> to::IdSource {
    match from {
        from::IdSource::Header(name) => to::IdSource::Header(name),
        from::IdSource::Body(body) => {
            to::IdSource::Body { pointer: body.body.0, matching: body.r#match.map(|pattern| pattern.0) }
        }
    }
}

fn limits(from: &from::Limits, reader: &mut Reader<'_>) -> to::Limits {
    let Count(concurrent_requests) = from.concurrent_requests.value;
    if concurrent_requests == 0 {
        reader.refuse_at(&from.concurrent_requests, "0 lets no request through, write at least 1");
    }
    to::Limits {
        request_body: from.request_body.0,
        buffered_bytes: from.buffered_bytes.0,
        hook_output: from.hook_output.0,
        held_response: from.held_response.0,
        outcome_text: from.outcome_text.0,
        concurrent_requests,
        request_head: from.request_head.0,
        head_timeout: from.head_timeout,
        body_timeout: from.body_timeout,
    }
}

fn profile(path: &At<String>, base: &Base, reader: &mut Reader<'_>) -> Option<String> {
    let file = base.join(&path.value);
    let fault = match reader.file(&file) {
        Ok(text) => match super::yaml::value(&text) {
            Ok(_) => return Some(text),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    reader.refuse_at(path, format!("{}: {fault}", file.display()));
    None
}

/// Names that occur twice, each with the line of its first use.
fn first_use<'a>(names: &[&'a At<String>]) -> Vec<(&'a At<String>, Place)> {
    let earlier = |index: usize, name: &At<String>| names.iter().take(index).find(|first| first.value == name.value);
    names.iter().enumerate().filter_map(|(i, name)| earlier(i, name).map(|first| (*name, first.place))).collect()
}
