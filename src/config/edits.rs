//! `run.edits`: what a rule hook changes, read into [`Edit`]s with the place of the one that is wrong.
use super::any;
use super::node::{Content, Node};
use super::reader::{Reader, Value};
use super::section::unknown;
use crate::context::Edit;
use crate::context::edit::OPERATIONS;
use serde_json::Value as Json;

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
        let written = any::json(node, reader, Self::WRITE)?;
        if let Some(op) = written.get("op").and_then(Json::as_str).filter(|op| !OPERATIONS.contains(op)) {
            reader.refuse(node.place, unknown("operation", op, &OPERATIONS));
            return None;
        }
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
