//! `upstreams`: the written ones in order, then the built-in ones that none of them replaced.
use super::first_use;
use crate::config::node::Node;
use crate::config::reader::{Reader, Value};
use crate::config::resolved::Upstream;
use crate::config::terms::Imposed;
use crate::config::value::is_segment;
use crate::config::written as from;

/// The three public APIs, written as in a file so that every other key has its default.
const BUILT_IN: &str = "
- { name: anthropic, dialect: anthropic, base_url: 'https://api.anthropic.com' }
- { name: openai, dialect: openai, base_url: 'https://api.openai.com' }
- { name: gemini, dialect: gemini, base_url: 'https://generativelanguage.googleapis.com' }
";

/// First segments of well-known paths, and of session prefixes (`/s/SESSION/...`): an upstream of that name would take
/// requests away from all others.
const RESERVED: [&str; 4] = ["s", "v1", "v1beta", "v1alpha"];

/// Resolves the list.
pub(super) fn resolve(
    written: Vec<from::Upstream>,
    imposed: Option<&Imposed>,
    reader: &mut Reader<'_>,
) -> Vec<Upstream> {
    check_names(&written, reader);
    check_prefixes(&written, reader);
    let mut upstreams: Vec<_> = written.into_iter().map(convert).collect();
    for mut built_in in built_in() {
        if let Some(url) = imposed.and_then(|imposed| imposed.upstream(built_in.provider)) {
            built_in.base_url = url.clone();
        }
        if !upstreams.iter().any(|upstream| upstream.name == built_in.name) {
            upstreams.push(built_in);
        }
    }
    upstreams
}

fn built_in() -> Vec<Upstream> {
    let mut reader = Reader::new(&|_| None, Default::default());
    let node = Node::parse(BUILT_IN).ok();
    let list = node.and_then(|node| Vec::<from::Upstream>::read(&node, &mut reader)).unwrap_or_default();
    list.into_iter().map(convert).collect()
}

fn convert(from: from::Upstream) -> Upstream {
    Upstream {
        name: from.name.value,
        provider: from.dialect,
        base_url: from.base_url.0,
        prefix: from.prefix.map(|prefix| prefix.value.0),
        headers: from.headers.0,
        api_key: from.api_key.map(|key| key.value),
        connect_timeout: from.connect_timeout,
        idle_timeout: from.idle_timeout,
        cached: from.cached,
    }
}

fn check_names(written: &[from::Upstream], reader: &mut Reader<'_>) {
    let names: Vec<_> = written.iter().map(|upstream| &upstream.name).collect();
    for name in &names {
        if !is_segment(&name.value) {
            reader.refuse_at(name, "a name is part of a path, write letters, digits, dashes and dots");
        } else if RESERVED.contains(&name.value.as_str()) {
            reader.refuse_at(name, format!("/{} is the beginning of well-known paths, write another name", name.value));
        }
    }
    for (name, first) in first_use(&names) {
        reader.refuse_at(name, format!("`{}` is already the name in line {}, write another", name.value, first.line));
    }
}

/// A prefix must lead to one upstream: names are prefixes too.
fn check_prefixes(written: &[from::Upstream], reader: &mut Reader<'_>) {
    let built_in = built_in();
    for (index, upstream) in written.iter().enumerate() {
        let Some(prefix) = &upstream.prefix else { continue };
        let path = prefix.value.0.as_str();
        let first_segment = path.split('/').nth(1).unwrap_or_default();
        let others = written.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, upstream)| upstream);
        let others = others.map(|other| other.name.value.as_str());
        let mut names =
            others.chain(built_in.iter().map(|b| b.name.as_str())).filter(|name| *name != upstream.name.value);
        let earlier = written.iter().take(index).filter_map(|other| other.prefix.as_ref());
        if RESERVED.contains(&first_segment) {
            reader.refuse_at(prefix, format!("/{first_segment} is the beginning of well-known paths, write another"));
        } else if let Some(same) = earlier.clone().find(|other| other.value == prefix.value) {
            reader.refuse_at(prefix, format!("already the prefix in line {}, write another", same.place.line));
        } else if names.any(|name| path.strip_prefix('/') == Some(name)) {
            reader.refuse_at(prefix, format!("{path} already leads to the upstream of that name, write another"));
        }
    }
}
