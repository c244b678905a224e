//! JSON written as YAML, where the configuration has no say in its shape.
use super::node::{Content, Node};
use super::reader::{Reader, Value};
use super::yaml;
use serde_json::{Map, Value as Json, json};

/// Any value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Any(pub(super) Json);

impl Value for Any {
    const WRITE: &'static str = "a value";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        json(node, reader, Self::WRITE).map(Self)
    }

    fn schema() -> Json {
        json!({})
    }
}

/// The node as JSON. Numbers, `true`, `false` and `null` are what they look like where they are written without quotes.
pub(super) fn json(node: &Node, reader: &mut Reader<'_>, write: &str) -> Option<Json> {
    match &node.content {
        Content::Scalar { plain, .. } => {
            let text = reader.text(node, write)?;
            Some(if *plain { yaml::plain(text) } else { Json::String(text) })
        }
        Content::List(elements) => elements.iter().map(|element| json(element, reader, write)).collect(),
        Content::Map(members) => {
            let mut object = Map::new();
            for (name, value) in members {
                let value = json(value, reader, write)?;
                if object.insert(name.text.clone(), value).is_some() {
                    reader.refuse(name.place, format!("`{}` is written twice, keep one of them", name.text));
                    return None;
                }
            }
            Some(Json::Object(object))
        }
    }
}
