//! Sections: maps with known keys.
//!
//! [`section!`] is the only place where a key is named: the struct, reading, unknown-key hints, the JSON schema and the
//! test over `config/hookgate.yaml` all come from it.
use super::node::{Content, Name, Node};
use super::reader::{Reader, Value};
use serde_json::{Map, Value as Json, json};

/// Below this likeness (Jaro-Winkler, 0 to 1) another key is no hint but noise.
const LIKELY: f64 = 0.75;

/// A key of a section.
pub(super) struct Key {
    /// Its name.
    pub(super) name: &'static str,
    /// What it is for.
    pub(super) doc: String,
    /// Its default as YAML; `None`: it has to be written.
    pub(super) default: Option<&'static str>,
    /// The schema of its value.
    pub(super) schema: fn() -> Json,
}

/// A key that is agreed on but does nothing yet.
pub(super) struct Later {
    /// Its name.
    pub(super) name: &'static str,
    /// What it will do.
    pub(super) feature: &'static str,
}

/// A map with known keys.
pub(super) trait Section: Sized {
    /// What it is for.
    fn about() -> String;
    /// Its keys in the order of the documentation.
    fn keys() -> Vec<Key>;
    /// Keys that are refused with a reason.
    const LATER: &'static [Later];
    /// Reads every key; `None` when one that has no default was refused.
    fn fill(node: &Node, reader: &mut Reader<'_>) -> Option<Self>;
}

/// Declares sections: the struct, its keys, their defaults and what they are for.
macro_rules! section {
    ($(
        $(#[doc = $about:literal])*
        struct $section:ident {
            $( $(#[doc = $doc:literal])* $key:ident : $type:ty $(= $default:literal)? , )*
        }
        $( later { $( $later:literal : $feature:literal , )* } )?
    )*) => { $(
        $(#[doc = $about])*
        #[derive(Debug, Clone)]
        pub(in crate::config) struct $section {
            $( $(#[doc = $doc])* pub(in crate::config) $key: $type, )*
        }

        impl $crate::config::section::Section for $section {
            const LATER: &'static [$crate::config::section::Later] =
                &[$($( $crate::config::section::Later { name: $later, feature: $feature } ),*)?];

            fn about() -> String {
                [$($about),*].concat().trim().to_owned()
            }

            fn keys() -> Vec<$crate::config::section::Key> {
                vec![$( $crate::config::section::Key {
                    name: $crate::config::section::key_name(stringify!($key)),
                    doc: [$($doc),*].concat().trim().to_owned(),
                    default: [$($default)?].first().copied(),
                    schema: <$type as $crate::config::reader::Value>::schema,
                } ),*]
            }

            fn fill(
                node: &$crate::config::node::Node,
                reader: &mut $crate::config::reader::Reader<'_>,
            ) -> Option<Self> {
                $(
                    let name = $crate::config::section::key_name(stringify!($key));
                    let $key = $crate::config::section::field(node, name, [$($default)?].first().copied(), reader);
                )*
                Some(Self { $($key: $key?),* })
            }
        }

        impl $crate::config::reader::Value for $section {
            const WRITE: &'static str = "a map of its keys";

            fn read(
                node: &$crate::config::node::Node,
                reader: &mut $crate::config::reader::Reader<'_>,
            ) -> Option<Self> {
                let (section, clean) = $crate::config::section::read::<Self>(node, reader);
                section.filter(|_| clean)
            }

            fn schema() -> serde_json::Value {
                $crate::config::section::schema::<Self>()
            }
        }
    )* };
}
pub(in crate::config) use section;

/// Reads a section, and says whether all its keys were known.
pub(in crate::config) fn read<S: Section>(node: &Node, reader: &mut Reader<'_>) -> (Option<S>, bool) {
    if node.is_null() {
        return (S::fill(node, reader), true);
    }
    let Content::Map(members) = &node.content else {
        reader.refuse(node.place, format!("{} where a map belongs, write `key: value` lines", node.content.kind()));
        return (None, false);
    };
    let keys: Vec<_> = S::keys().iter().map(|key| key.name).collect();
    let before = reader.problems.len();
    for (index, (name, _)) in members.iter().enumerate() {
        let twice = members.iter().take(index).any(|(earlier, _)| earlier.text == name.text);
        if let Some(what) = fault::<S>(name, &keys, twice) {
            reader.member(&name.text, |reader| reader.refuse(name.place, what));
        }
    }
    let clean = reader.problems.len() == before;
    (S::fill(node, reader), clean)
}

fn fault<S: Section>(name: &Name, keys: &[&str], twice: bool) -> Option<String> {
    if twice {
        return Some("written twice, keep one of them".into());
    }
    if keys.contains(&name.text.as_str()) {
        return None;
    }
    Some(match S::LATER.iter().find(|later| later.name == name.text) {
        Some(later) => not_yet(later.feature),
        None => unknown("key", &name.text, keys),
    })
}

/// The message for what is agreed on but not there.
fn not_yet(feature: &str) -> String {
    format!("not available yet: {feature}; leave it out")
}

/// The message for a word that is none of `known`, with the nearest of them.
pub(in crate::config) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let likeness = |candidate: &&&str| strsim::jaro_winkler(word, candidate);
    match known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).filter(|best| likeness(best) >= LIKELY) {
        Some(best) => format!("unknown {what}, did you mean `{best}`?"),
        None => format!("unknown {what}, write one of {}", known.join(", ")),
    }
}

/// One key of a section. A refused value is replaced by the default, so that reading goes on and finds the next problem.
pub(in crate::config) fn field<T: Value>(
    section: &Node,
    name: &str,
    default: Option<&'static str>,
    reader: &mut Reader<'_>,
) -> Option<T> {
    reader.member(name, |reader| {
        let written = section.get(name).filter(|node| !node.is_null());
        match (written, default) {
            (Some(node), None) => T::read(node, reader),
            (Some(node), Some(default)) => T::read(node, reader).or_else(|| read_default(default, section, reader)),
            (None, Some(default)) => read_default(default, section, reader),
            (None, None) => {
                reader.refuse(section.place, format!("missing, write {}", T::WRITE));
                None
            }
        }
    })
}

fn read_default<T: Value>(default: &str, section: &Node, reader: &mut Reader<'_>) -> Option<T> {
    let node = Node::parse(default).ok()?;
    T::read(&Node { place: section.place, ..node }, reader)
}

/// The schema of a section.
pub(in crate::config) fn schema<S: Section>() -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in S::keys() {
        let mut schema = (key.schema)();
        if let Json::Object(schema) = &mut schema {
            schema.insert("description".into(), key.doc.into());
            match key.default.and_then(|default| super::yaml::value(default).ok()) {
                None => required.push(key.name),
                Some(Json::Object(_) | Json::Null) => {}
                Some(default) => {
                    schema.insert("default".into(), default);
                }
            }
        }
        properties.insert(key.name.into(), schema);
    }
    let mut schema =
        json!({"type": "object", "description": S::about(), "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A key that is a word of Rust is a raw identifier in [`section!`].
pub(in crate::config) const fn key_name(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}
