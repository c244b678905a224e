//! Tools of a Messages body: in `tools`, and in the instructions among the messages that add or withdraw some.
mod carrier;
mod cut;

use super::{NAME, body, changed};
use crate::context::edit::{Edit, Tool, ToolChoice};
use crate::context::{Operation, RequestView};
use crate::dialect::edit::{Changes, Fields, Sieve};
use crate::dialect::{EditError, blocks};
use crate::json::{Doc, Kind, Splice, raw};
use carrier::Definition;
use serde_json::json;

/// What an edit of tools changes.
pub(super) fn edit(doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError> {
    if let Some(sieve) = Sieve::of(edit) {
        return cut::cut(doc, view, sieve);
    }
    match edit {
        Edit::ToolsDescribe { name, text } => describe(doc, view, name, &text.0),
        Edit::ToolsReplace { name, tool } => replace(doc, view, name, tool),
        Edit::ToolsAdd { tool } => add(doc, view, tool),
        Edit::ToolChoiceSet { choice } => choose(doc, view, choice),
        _ => Ok(Splice::new()),
    }
}

/// The names that the answer may call; `None` where there are tools that do not show their names.
pub(in crate::dialect::anthropic) fn roster(doc: &Doc, view: &RequestView) -> Option<Vec<String>> {
    let has_servers = body(doc).ok()?.text("mcp_servers").is_some_and(|servers| servers != "[]");
    let holds_tools =
        |item: &crate::context::Item| item.facts.compaction && doc.text(item.span).contains("tool_changes");
    if view.operation == Operation::Batch || has_servers || view.items.iter().any(holds_tools) {
        return None;
    }
    let definitions = carrier::definitions(doc, view).ok()?;
    definitions.iter().map(|tool| (!tool.is_set()).then(|| tool.name.to_string())).collect()
}

fn find<'a>(doc: &'a Doc, view: &RequestView, name: &str) -> Result<Definition<'a>, EditError> {
    let found = carrier::definitions(doc, view)?.into_iter().find(|tool| tool.name == name);
    found.ok_or_else(|| EditError::Missing { what: format!("tool {name:?}") })
}

fn describe(doc: &Doc, view: &RequestView, name: &str, text: &str) -> Result<Splice, EditError> {
    let tool = find(doc, view, name)?;
    if tool.is_built_in() {
        return Err(EditError::Unknown { dialect: NAME, what: "description of a built-in tool" });
    }
    let mut splice = Splice::new();
    let mut changes = Changes::default();
    changes.set(&["description"], raw::quote(text));
    changes.apply(&tool.fields, &mut splice)?;
    Ok(splice)
}

/// Its cache marker stays, and a choice of it is one of the new tool.
fn replace(doc: &Doc, view: &RequestView, name: &str, tool: &Tool) -> Result<Splice, EditError> {
    let old = find(doc, view, name)?;
    if tool.name != name {
        refuse_twin(doc, view, &tool.name)?;
    }
    let mut splice = Splice::new();
    splice.replace(old.fields.span, definition(tool, old.fields.text("cache_control")));
    let body = body(doc)?;
    if let Some(choice) = body.object("tool_choice")?.filter(|choice| choice.string("name").as_deref() == Some(name)) {
        rename(&choice, &tool.name, &mut splice)?;
    }
    Ok(splice)
}

fn rename(choice: &Fields<'_>, name: &str, splice: &mut Splice) -> Result<(), EditError> {
    let mut changes = Changes::default();
    changes.set(&["name"], raw::quote(name));
    Ok(changes.apply(choice, splice)?)
}

fn add(doc: &Doc, view: &RequestView, tool: &Tool) -> Result<Splice, EditError> {
    refuse_twin(doc, view, &tool.name)?;
    let made = definition(tool, None);
    match doc.get("tools").filter(|tools| tools.kind == Kind::Array) {
        Some(tools) => {
            let mut splice = Splice::new();
            blocks::extend(&mut splice, tools.value, &tools.elements, 0, &[], &[made]);
            Ok(splice)
        }
        None => {
            let mut changes = Changes::default();
            changes.set(&["tools"], format!("[{made}]"));
            changed(doc, &changes)
        }
    }
}

fn refuse_twin(doc: &Doc, view: &RequestView, name: &str) -> Result<(), EditError> {
    match carrier::definitions(doc, view)?.iter().any(|tool| tool.name == name) {
        true => Err(EditError::Exists { name: name.to_owned() }),
        false => Ok(()),
    }
}

fn definition(tool: &Tool, marker: Option<&str>) -> String {
    let description = match tool.description.as_str() {
        "" => String::new(),
        text => format!(r#""description":{},"#, raw::quote(text)),
    };
    let marker = marker.map(|marker| format!(r#","cache_control":{marker}"#)).unwrap_or_default();
    format!(r#"{{"name":{},{description}"input_schema":{}{marker}}}"#, raw::quote(&tool.name), tool.input_schema)
}

/// Whether calls may be parallel is the client's, where there may be calls.
fn choose(doc: &Doc, view: &RequestView, choice: &ToolChoice) -> Result<Splice, EditError> {
    if doc.get("tools").is_none_or(|tools| tools.elements.is_empty()) {
        return Err(EditError::Missing { what: "tool".to_owned() });
    }
    let mut changes = Changes::default();
    let kind = match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "any",
        ToolChoice::Named(name) => {
            find(doc, view, name)?;
            changes.set(&["tool_choice", "name"], raw::quote(name));
            "tool"
        }
    };
    changes.set(&["tool_choice", "type"], json!(kind));
    if kind != "tool" {
        changes.remove(&["tool_choice", "name"]);
    }
    if kind == "none" {
        changes.remove(&["tool_choice", "disable_parallel_tool_use"]);
    }
    changed(doc, &changes)
}
