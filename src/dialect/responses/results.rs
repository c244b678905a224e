//! Tool outputs: what they say, and text in the place of outputs that are more than a text.
use super::element;
use crate::context::{Item, Role};
use crate::dialect::object::{Object, slice};
use crate::dialect::{LowerError, ToolResult};
use crate::json::{Doc, Kind, Span, Splice, raw};

/// The result of one item; an output is one. An approval is no tool's result. The API does not say whether a tool failed.
pub(super) fn results(doc: &Doc, item: &Item) -> Vec<ToolResult> {
    let raw = doc.text(item.span);
    let read = || {
        let element = element::read(raw).ok().filter(|_| item.role() == Role::Tool)?;
        let object = Object::parse(raw).ok()?;
        let kind = object.string("type")?;
        let text = if kind == "shell_call_output" { printed(object.get("output")) } else { element.text() };
        let id = element.results.first()?.to_string();
        kind.ends_with("_output").then(|| ToolResult { id, name: String::new(), text, is_error: false })
    };
    read().into_iter().collect()
}

/// What a shell printed, all commands of the call after another.
fn printed(output: Option<&str>) -> String {
    let output = output.unwrap_or_default();
    let commands =
        raw::array(output).unwrap_or_default().into_iter().filter_map(|c| Object::parse(slice(output, c)).ok());
    let texts = commands.flat_map(|command| ["stdout", "stderr"].map(|key| command.string(key).unwrap_or_default()));
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Puts `text` in the place of an output whose shape takes no blocks of text. `None`: it has no place for a text either, as
/// a screenshot.
///
/// # Errors
/// [`LowerError::Scan`] when the item is ambiguous.
pub(super) fn replace_structured(
    doc: &Doc,
    item: Span,
    text: &str,
    splice: &mut Splice,
) -> Result<Option<()>, LowerError> {
    let raw = doc.text(item);
    let object = Object::parse(raw)?;
    let written = object.get("output").unwrap_or_default();
    let value = match object.string("type").as_deref() {
        Some("local_shell_call_output" | "apply_patch_call_output") => raw::quote(text),
        Some("shell_call_output") => format!("[{}]", command(written, text)?),
        _ if raw::kind(written) == Some(Kind::String) => raw::quote(text),
        _ => return Ok(None),
    };
    match object.span("output") {
        Some(output) => splice.replace(output.offset(item.start), value),
        None => splice.insert(item.end.saturating_sub(1), format!(r#","output":{value}"#)),
    }
    Ok(Some(()))
}

/// One command that printed `text` and ended as the last one did.
fn command(written: &str, text: &str) -> Result<String, LowerError> {
    let last = raw::array(written).and_then(|commands| commands.last().map(|command| slice(written, *command)));
    let outcome = last.map(Object::parse).transpose()?.and_then(|last| last.get("outcome"));
    let outcome = outcome.unwrap_or(r#"{"type":"exit","exit_code":0}"#);
    Ok(format!(r#"{{"stdout":{},"stderr":"","outcome":{outcome}}}"#, raw::quote(text)))
}
