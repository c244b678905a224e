//! Values made of values: optional, lists, maps.
use super::node::{Content, Name, Node};
use super::reader::{Reader, Value};
use super::value::is_blank;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// A list that may be written as its only element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OneOrMany<T>(pub(super) Vec<T>);

/// A map whose order counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InOrder<T>(pub(super) Vec<(String, T)>);

/// The members of a map; one that is written twice is a problem.
pub(super) fn entries<'n>(node: &'n Node, reader: &mut Reader<'_>, write: &str) -> Option<&'n [(Name, Node)]> {
    let Content::Map(members) = &node.content else {
        reader.refuse(node.place, format!("{} where a map belongs, write {write}", node.content.kind()));
        return None;
    };
    for (index, (name, _)) in members.iter().enumerate() {
        if members.iter().take(index).any(|(earlier, _)| earlier.text == name.text) {
            reader.member(&name.text, |reader| reader.refuse(name.place, "written twice, keep one of them"));
        }
    }
    Some(members)
}

/// Absent, `null` and empty are the same: `token: ${TOKEN:-}` without the variable is no token.
impl<T: Value> Value for Option<T> {
    const WRITE: &'static str = T::WRITE;

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if is_blank(node, reader)? { Some(None) } else { T::read(node, reader).map(Some) }
    }

    fn schema() -> Json {
        T::schema()
    }
}

/// Elements that are refused are left out, so that the rest is read too.
impl<T: Value> Value for Vec<T> {
    const WRITE: &'static str = "a list such as [a, b]";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let elements = reader.list(node, Self::WRITE)?;
        let read = |(index, node)| reader.element(index, |reader| T::read(node, reader));
        Some(elements.iter().enumerate().filter_map(read).collect())
    }

    fn schema() -> Json {
        json!({"type": "array", "items": T::schema()})
    }
}

impl<T: Value> Value for OneOrMany<T> {
    const WRITE: &'static str = T::WRITE;

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.content {
            Content::List(_) => Vec::read(node, reader).map(Self),
            _ => T::read(node, reader).map(|one| Self(vec![one])),
        }
    }

    fn schema() -> Json {
        json!({"oneOf": [T::schema(), Vec::<T>::schema()]})
    }
}

impl<T: Value> Value for InOrder<T> {
    const WRITE: &'static str = "a map such as { name: value }";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let members = entries(node, reader, Self::WRITE)?;
        let read = |(name, node): &(Name, Node)| {
            reader.member(&name.text, |reader| T::read(node, reader)).map(|value| (name.text.clone(), value))
        };
        Some(Self(members.iter().filter_map(read).collect()))
    }

    fn schema() -> Json {
        json!({"type": "object", "additionalProperties": T::schema()})
    }
}

impl<T: Value> Value for BTreeMap<String, T> {
    const WRITE: &'static str = InOrder::<T>::WRITE;

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        InOrder::read(node, reader).map(|members| members.0.into_iter().collect())
    }

    fn schema() -> Json {
        InOrder::<T>::schema()
    }
}
