//! `run.edits`: what a rule hook changes, read into [`Edit`]s with the place of the one that is wrong.
use super::node::{Content, Node};
use super::reader::{Reader, Value};
use super::yaml;
use crate::context::Edit;
use serde_json::{Map, Value as Json};

/// One edit that is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written(pub(super) Edit);

impl Value for Written {
    const WRITE: &'static str = "an edit such as { op: system.append, text: Be brief. }";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if !matches!(node.content, Content::Map(_)) {
            reader.refuse(node.place, format!("{} where an edit belongs, write {}", node.content.kind(), Self::WRITE));
            return None;
        }
        let written = json(node, reader)?;
        match serde_json::from_value(written) {
            Ok(edit) => Some(Self(edit)),
            Err(error) => {
                reader.refuse(node.place, format!("{error}, write {}", Self::WRITE));
                None
            }
        }
    }

    fn schema() -> Json {
        crate::context::edit::schema()
    }
}

/// The node as JSON. Numbers, `true`, `false` and `null` are what they look like where they are written without quotes.
fn json(node: &Node, reader: &mut Reader<'_>) -> Option<Json> {
    match &node.content {
        Content::Scalar { plain, .. } => {
            let text = reader.text(node, Written::WRITE)?;
            Some(if *plain { yaml::plain(text) } else { Json::String(text) })
        }
        Content::List(elements) => elements.iter().map(|element| json(element, reader)).collect(),
        Content::Map(members) => {
            let mut object = Map::new();
            for (name, value) in members {
                let value = json(value, reader)?;
                if object.insert(name.text.clone(), value).is_some() {
                    reader.refuse(name.place, format!("`{}` is written twice, keep one of them", name.text));
                    return None;
                }
            }
            Some(Json::Object(object))
        }
    }
}
