//! Reads one message of `messages`.
use crate::context::Role;
use crate::dialect::openai::element::{Element, Input, ToolCall};
use crate::dialect::openai::object::{Object, slice};
use crate::json::{ScanError, raw};
use std::borrow::Cow;

/// Reads a message, in a request or in an answer.
///
/// # Errors
/// [`ScanError`] if it is not an object or an object in it has a key twice.
pub(super) fn read(raw: &str) -> Result<Element<'_>, ScanError> {
    let object = Object::read(raw)?;
    let role = match object.text("role").as_deref() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        _ => Role::Other,
    };
    let mut element = Element::of(role);
    element.read_body(raw, object.place("content"))?;
    match role {
        Role::Assistant => read_answer(&mut element, &object, raw)?,
        // The old `function` role names the function, it has no id.
        Role::Tool => element.results.extend(object.text("tool_call_id").or_else(|| object.text("name"))),
        _ => {}
    }
    Ok(element)
}

fn read_answer<'a>(element: &mut Element<'a>, object: &Object<'a>, raw: &'a str) -> Result<(), ScanError> {
    if let Some(refusal) = object.span("refusal") {
        element.push_text(raw, refusal, None);
    }
    if let Some(calls) = object.get("tool_calls") {
        for span in raw::array(calls).unwrap_or_default() {
            element.calls.push(read_call(slice(calls, span))?);
        }
    }
    if let Some(call) = object.get("function_call") {
        element.calls.push(function(Cow::default(), &Object::read(call)?));
    }
    Ok(())
}

fn read_call(raw: &str) -> Result<ToolCall<'_>, ScanError> {
    let object = Object::read(raw)?;
    let id = object.text("id").unwrap_or_default();
    if let Some(custom) = object.get("custom") {
        let custom = Object::read(custom)?;
        let name = custom.text("name").unwrap_or_default();
        let input = Input::Text(custom.text("input").unwrap_or_default());
        return Ok(ToolCall { id, name, input, asynchronous: false });
    }
    match object.get("function") {
        Some(called) => Ok(function(id, &Object::read(called)?)),
        None => Ok(ToolCall { id, name: Cow::default(), input: Input::Json("null"), asynchronous: false }),
    }
}

fn function<'a>(id: Cow<'a, str>, object: &Object<'a>) -> ToolCall<'a> {
    let input = match (object.text("arguments"), object.get("arguments")) {
        (Some(text), _) => Input::Arguments(text),
        // Some compatible servers write the object itself.
        (None, Some(value)) => Input::Json(value),
        (None, None) => Input::Json("null"),
    };
    ToolCall { id, name: object.text("name").unwrap_or_default(), input, asynchronous: false }
}
