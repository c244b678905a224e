//! The types of values: how each is read, what a wrong one is told, and its schema.
use super::claude_code::OnAsk;
use super::collection::OneOrMany;
use super::condition::{Condition, ConditionError};
use super::keys::KeyHash;
use super::listeners::{self, Listen};
use super::node::{Content, Node};
use super::reader::{Reader, Value};
use super::redis_url::RedisUrl;
use super::resolved::{
    EventKind, Isolation, Layout, Mode, OnError, OnOpaque, OnStoreError, Provider, Retain, Secret, SystemPlace,
    WithoutId,
};
use super::section::unknown;
use super::units;
use crate::context::edit::Globs;
use http::{HeaderName, HeaderValue};
use ipnet::IpNet;
use serde_json::{Value as Json, json};
use std::net::SocketAddr;
use std::time::Duration;

/// Headers of the connection or of the message's framing: set by the gateway, never by a configuration.
const FRAMING: [&str; 7] = ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"];

/// A number of things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count(pub(super) usize);

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) usize);

/// A CEL expression that compiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expression(pub(super) String);

/// A regular expression that compiles and has one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(pub(super) String);

/// A JSON pointer (RFC 6901).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer(pub(super) String);

/// Where requests are sent: scheme, authority, maybe a path; no trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BaseUrl(pub(super) http::Uri);

/// A URL that is asked as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url(pub(super) http::Uri);

/// A part of a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ratio(pub(super) f64);

/// A path prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefix(pub(super) String);

/// Headers with values that may be secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Headers(pub(super) Vec<(HeaderName, Secret)>);

impl Value for String {
    const WRITE: &'static str = "a text";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        reader.text(node, Self::WRITE)
    }

    fn schema() -> Json {
        json!({"type": "string"})
    }
}

/// Values that are parsed from one scalar: type, what to write, schema, parser.
macro_rules! scalar {
    ($( $type:ty, $write:literal, $schema:tt, $parse:expr; )*) => { $(
        impl Value for $type {
            const WRITE: &'static str = $write;

            fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
                reader.parsed(node, Self::WRITE, $parse)
            }

            fn schema() -> Json {
                json!($schema)
            }
        }
    )* };
}

scalar! {
    bool, "true or false", {"type": "boolean"}, |text| text.parse().ok();
    u32, "a whole number", {"type": "integer", "minimum": 0}, |text| text.parse().ok();
    Count, "a whole number", {"type": "integer", "minimum": 0}, |text| text.parse::<u32>().ok().map(|n| Self(n as usize));
    Ratio, "a number from 0 to 1 such as 0.1", {"type": "number", "minimum": 0, "maximum": 1},
        |text| text.parse().ok().filter(|part| (0.0..=1.0).contains(part)).map(Self);
    Size, "a size such as 64MiB, 10MB or 512", {"type": ["string", "integer"], "examples": ["64MiB", "10MB", 512]},
        |text| units::parse_size(text).map(Self);
    Duration, "a duration such as 500ms, 5s, 10m or 30d", {"type": "string", "examples": ["500ms", "5s", "10m", "30d"]},
        units::parse_duration;
    SocketAddr, "an address and a port such as 127.0.0.1:8787", {"type": "string", "examples": ["127.0.0.1:8787"]},
        |text| text.parse().ok();
    Listen, "an address and a port such as 127.0.0.1:8787, or unix:/path", {"type": "string", "examples": ["127.0.0.1:8787", "unix:/run/hookgate/agents.sock"]},
        Listen::parse;
    IpNet, "an address or a network such as 10.0.0.0/8", {"type": "string", "examples": ["10.0.0.0/8"]}, listeners::network;
    HeaderName, "a header's name", {"type": "string"}, |text| text.parse().ok();
    Secret, "a text", {"type": "string"}, |text| Some(Self(text.to_owned()));
    KeyHash, "a hash as `hookgate keys new` prints it: sha256: and 64 hex digits", {"type": "string", "pattern": "^sha256:[0-9a-fA-F]{64}$"},
        KeyHash::parse;
    Pointer, "a JSON pointer such as /metadata/user_id", {"type": "string"},
        |text| text.starts_with('/').then(|| Self(text.to_owned()));
    BaseUrl, "an http or https URL without credentials and query such as https://api.example.com", {"type": "string", "format": "uri"},
        |text| parse_url(text.trim_end_matches('/')).filter(|url| url.query().is_none()).map(Self);
    Url, "an http or https URL without credentials such as http://127.0.0.1:9000/hook", {"type": "string", "format": "uri"},
        |text| parse_url(text).map(Self);
    RedisUrl, "a URL such as redis://:PASSWORD@host:6379/0, rediss:// for TLS, redis+cluster://host,host for a cluster",
        {"type": "string"}, RedisUrl::parse;
    Prefix, "a path such as /local, without a slash at its end", {"type": "string", "pattern": "^(/[A-Za-z0-9_~.-]+)+$"},
        |text| is_prefix(text).then(|| Self(text.to_owned()));
}

/// `http` drops fragments without a word, and user information would end up in logs.
fn parse_url(text: &str) -> Option<http::Uri> {
    let url: http::Uri = text.parse().ok()?;
    let plain =
        !text.contains('#') && url.authority().is_some_and(|a| !a.as_str().contains('@') && !a.host().is_empty());
    (plain && matches!(url.scheme_str(), Some("http" | "https"))).then_some(url)
}

/// Segments of unreserved characters (RFC 3986) that are not dots alone: such a prefix means the same in every encoding.
fn is_prefix(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|path| path.split('/').all(is_segment))
}

/// One segment of a [`Prefix`].
pub(super) fn is_segment(text: &str) -> bool {
    let unreserved = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    !text.is_empty() && text.chars().all(unreserved) && !text.chars().all(|c| c == '.')
}

impl Value for Expression {
    const WRITE: &'static str = "a CEL expression such as 'session.agent == \"main\"'";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let text = reader.text(node, Self::WRITE)?;
        let fault = Condition::compile(&text).err().map(|error| describe(&text, &error));
        match fault {
            Some(what) => reader.refuse(node.place, what),
            None => return Some(Self(text)),
        }
        None
    }

    fn schema() -> Json {
        json!({"type": "string"})
    }
}

/// What the parser would have expected is most of its grammar.
fn describe(text: &str, error: &ConditionError) -> String {
    let what = error.message.split(" expecting ").next().unwrap_or_default();
    let hint = if assigns(text) { "; equal is written ==" } else { "" };
    format!("not a condition: {what} at its line {} column {}{hint}", error.line, error.column)
}

/// Whether an `=` stands alone, which CEL has no use for.
fn assigns(text: &str) -> bool {
    let compares = |byte: &u8| matches!(byte, b'=' | b'!' | b'<' | b'>');
    let bytes = text.as_bytes();
    (0..bytes.len()).any(|at| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        bytes.get(at) == Some(&b'=') && !before.is_some_and(compares) && bytes.get(at + 1) != Some(&b'=')
    })
}

impl Value for Pattern {
    const WRITE: &'static str = "a regular expression with one group such as 'session_(.+)'";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let text = reader.text(node, Self::WRITE)?;
        match regex::Regex::new(&text) {
            // The whole match is a group of its own.
            Ok(regex) if regex.captures_len() == 2 => return Some(Self(text)),
            Ok(regex) => {
                let groups = regex.captures_len() - 1;
                reader.refuse(node.place, format!("{groups} groups, write {}; (?:...) does not count", Self::WRITE));
            }
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
                reader.refuse(node.place, format!("not a regular expression: {reason}"));
            }
        }
        None
    }

    fn schema() -> Json {
        json!({"type": "string", "format": "regex"})
    }
}

impl Value for Globs {
    const WRITE: &'static str = "names, with * for any characters and ? for one, such as [edit, 'write*']";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let OneOrMany(names) = OneOrMany::<String>::read(node, reader)?;
        match Self::new(names) {
            Ok(globs) => Some(globs),
            Err(_) => {
                reader.refuse(node.place, format!("a name that is too long, write {}", Self::WRITE));
                None
            }
        }
    }

    fn schema() -> Json {
        OneOrMany::<String>::schema()
    }
}

impl Value for Headers {
    const WRITE: &'static str = "a map of header names and values";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let entries = super::collection::entries(node, reader, Self::WRITE)?;
        let mut headers = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            reader.member(&name.text, |reader| {
                let Ok(header) = name.text.parse::<HeaderName>() else {
                    return reader.refuse(name.place, "not a header's name, write letters, digits and dashes");
                };
                if FRAMING.contains(&header.as_str()) {
                    return reader.refuse(name.place, "set by the gateway itself, leave it out");
                }
                let Some(text) = reader.text(value, "a header's value") else { return };
                match HeaderValue::from_str(&text) {
                    Ok(_) => headers.push((header, Secret(text))),
                    Err(_) => reader.refuse(value.place, "a control character in a header's value, leave it out"),
                }
            });
        }
        Some(Self(headers))
    }

    fn schema() -> Json {
        json!({"type": "object", "additionalProperties": {"type": "string"}})
    }
}

/// Values that are one of a few words.
macro_rules! choice {
    ($( $type:ident: $write:literal { $( $word:literal => $variant:ident, )* } )*) => { $(
        impl Value for $type {
            const WRITE: &'static str = $write;

            fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
                let word = reader.text(node, Self::WRITE)?;
                match word.as_str() {
                    $( $word => Some(Self::$variant), )*
                    _ => {
                        reader.refuse(node.place, unknown("value", &word, &[$($word),*]));
                        None
                    }
                }
            }

            fn schema() -> Json {
                json!({"enum": [$($word),*]})
            }
        }

        impl $type {
            /// The word in a configuration.
            pub(crate) const fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )* }
            }
        }
    )* };
}

pub(super) use choice;

/// What may be added to a hook's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Include {
    /// The neutral view of the request.
    Request,
}

choice! {
    Provider: "anthropic, openai or gemini" { "anthropic" => Anthropic, "openai" => OpenAi, "gemini" => Gemini, }
    WithoutId: "chain or none" { "chain" => Chain, "none" => None, }
    Isolation: "credential or none" { "credential" => Credential, "none" => None, }
    Layout: "auto, system or stable" { "auto" => Auto, "system" => System, "stable" => Stable, }
    Retain: "auto, turn or history" { "auto" => Auto, "turn" => Turn, "history" => History, }
    OnError: "skip or block" { "skip" => Skip, "block" => Block, }
    OnOpaque: "pass or block" { "pass" => Pass, "block" => Block, }
    StoreKind: "sled, memory or redis" { "sled" => Sled, "memory" => Memory, "redis" => Redis, }
    OnStoreError: "pass or refuse" { "pass" => Pass, "refuse" => Refuse, }
    Mode: "enforce or audit" { "enforce" => Enforce, "audit" => Audit, }
    SystemPlace: "append or prepend" { "append" => Append, "prepend" => Prepend, }
    OnAsk: "allow or deny" { "allow" => Allow, "deny" => Deny, }
    Include: "request" { "request" => Request, }
}

impl Value for EventKind {
    const WRITE: &'static str = "an event such as session.start or prompt.submit";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let word = reader.text(node, Self::WRITE)?;
        let known = Self::ALL.into_iter().find(|kind| kind.name() == word);
        if known.is_none() {
            reader.refuse(node.place, unknown("event", &word, &Self::ALL.map(Self::name)));
        }
        known
    }

    fn schema() -> Json {
        json!({"enum": Self::ALL.map(Self::name)})
    }
}

/// `store.kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreKind {
    /// On disk.
    Sled,
    /// In memory.
    Memory,
    /// On a server that several gateways share.
    Redis,
}

/// Whether a scalar says nothing: null, or empty once its variables are replaced.
pub(super) fn is_blank(node: &Node, reader: &mut Reader<'_>) -> Option<bool> {
    match &node.content {
        Content::Scalar { .. } if node.is_null() => Some(true),
        Content::Scalar { .. } => reader.text(node, "").map(|text| text.is_empty()),
        _ => Some(false),
    }
}
