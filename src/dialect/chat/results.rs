//! What tool messages say.
use super::view;
use crate::context::{Item, Role};
use crate::dialect::ToolResult;
use crate::dialect::object::Object;
use crate::json::Doc;

/// The result of one item; a message holds one. The API does not say whether a tool failed.
pub(super) fn results(doc: &Doc, item: &Item) -> Vec<ToolResult> {
    let raw = doc.text(item.span);
    let read = || {
        let element = (view::GRAMMAR.read)(raw).ok().filter(|_| item.role() == Role::Tool)?;
        let object = Object::parse(raw).ok()?;
        let string = |key| object.string(key).unwrap_or_default().into_owned();
        Some(ToolResult { id: string("tool_call_id"), name: string("name"), text: element.text(), is_error: false })
    };
    read().into_iter().collect()
}
