//! `keys`: the entries of the configuration and of the file, told apart by name and hash.
use super::Base;
use crate::config::keys::{Key, KeyHash, Keys, TenantLimits};
use crate::config::node::Node;
use crate::config::problem::Place;
use crate::config::reader::{At, Reader, Value as _};
use crate::config::resolved::{Secret, Upstream};
use crate::config::section::unknown;
use crate::config::value::is_segment;
use crate::config::variables;
use crate::config::written as from;
use std::collections::BTreeMap;
use std::collections::HashMap;

/// The names of tenants that are made of credentials begin so.
const BY_CREDENTIAL: &str = "t_";
/// The tenant of everybody where sessions are not isolated.
const LOCAL: &str = "local";

/// Resolves the keys; `upstreams`: what they may have credentials for.
pub(super) fn resolve(from: from::Keys, upstreams: &[Upstream], base: &Base, reader: &mut Reader<'_>) -> Keys {
    let names = upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
    let mut register = Register { upstreams: names, names: HashMap::new(), hashes: HashMap::new() };
    let mut entries: Vec<_> = from.entries.into_iter().filter_map(|key| register.enter(key, None, reader)).collect();
    let file = from.file.as_ref().map(|file| base.join(&file.value));
    if let (Some(at), Some(path)) = (&from.file, &file) {
        match reader.file(path) {
            Ok(text) => entries.extend(of_file(&text, at, &mut register, reader)),
            Err(error) => reader.refuse_at(at, format!("{}: {error}", path.display())),
        }
    }
    for (tenant, limits) in &from.tenants {
        if !entries.iter().any(|key| key.tenant == *tenant) {
            reader.warn_at(limits, format!("no key has the tenant `{tenant}`, give it to one or leave this out"));
        }
    }
    let tenants = from.tenants.into_iter().map(|(tenant, at)| (tenant, limits(&at.value))).collect();
    Keys { required: from.required, entries, file, limits: limits(&from.limits), tenants }
}

fn limits(from: &from::TenantLimits) -> TenantLimits {
    TenantLimits {
        requests_per_minute: from.requests_per_minute.0,
        concurrent_requests: from.concurrent_requests.0,
        tokens_per_minute: from.tokens_per_minute.0,
    }
}

/// The entries of a file; its problems are those of the key that names it.
fn of_file(text: &str, at: &At<String>, register: &mut Register<'_>, reader: &mut Reader<'_>) -> Vec<Key> {
    let mut inner = reader.of_another_text();
    let entries = match Node::parse(&variables::shield(text)) {
        Ok(node) if node.is_null() => Vec::new(),
        Ok(node) => Vec::<from::Key>::read(&node, &mut inner).unwrap_or_default(),
        Err(error) => {
            inner.refuse(error.place, error.what);
            Vec::new()
        }
    };
    let entries = entries.into_iter().filter_map(|key| register.enter(key, Some(&at.value), &mut inner)).collect();
    for problem in inner.problems {
        let Place { line, column } = problem.place;
        let (file, key, what) = (&at.value, problem.key, problem.what);
        let colon = if key.is_empty() { "" } else { ": " };
        reader.keep_at(at, format!("{file}:{line}:{column}: {key}{colon}{what}"), problem.severity);
    }
    entries
}

/// What was entered so far, and where.
struct Register<'a> {
    upstreams: Vec<&'a str>,
    names: HashMap<String, String>,
    hashes: HashMap<KeyHash, String>,
}

impl Register<'_> {
    /// `None` when something of it was refused.
    fn enter(&mut self, from: from::Key, file: Option<&str>, reader: &mut Reader<'_>) -> Option<Key> {
        let before = reader.problems.len();
        let place =
            |at: Place| format!("line {}{}", at.line, file.map(|file| format!(" of {file}")).unwrap_or_default());
        let from::Key { name, hash, tenant, credentials } = from;
        if let Some(first) = self.names.insert(name.value.clone(), place(name.place)) {
            reader.refuse_at(&name, format!("`{}` is already the name in {first}, write another", name.value));
        }
        if let Some(first) = self.hashes.insert(hash.value, place(hash.place)) {
            reader.refuse_at(&hash, format!("already the key in {first}, make one for each client"));
        }
        let tenant = tenant.unwrap_or(name.clone());
        if !is_segment(&tenant.value) || tenant.value == LOCAL || tenant.value.starts_with(BY_CREDENTIAL) {
            let what = format!(
                "can't be a tenant, write letters, digits, dashes and dots; not `{LOCAL}`, and not {BY_CREDENTIAL} at its beginning"
            );
            reader.refuse_at(&tenant, what);
        }
        let credentials = self.credentials(credentials, reader);
        (reader.problems.len() == before).then_some(Key {
            name: name.value,
            hash: hash.value,
            tenant: tenant.value,
            credentials,
        })
    }

    fn credentials(&self, from: BTreeMap<String, At<Secret>>, reader: &mut Reader<'_>) -> BTreeMap<String, Secret> {
        for (upstream, at) in &from {
            if !self.upstreams.contains(&upstream.as_str()) {
                reader.refuse_at(at, unknown("upstream", upstream, &self.upstreams));
            } else if at.value.0.is_empty() || http::HeaderValue::from_str(&at.value.0).is_err() {
                reader.refuse_at(at, "empty, or not what a header can carry, write the provider's key");
            }
        }
        from.into_iter().map(|(upstream, at)| (upstream, at.value)).collect()
    }
}

#[cfg(test)]
mod tests;
