//! Reads one message of `messages`.
use crate::context::Role;
use crate::dialect::object::{Object, slice};
use crate::dialect::openai::element::{Element, Input, ToolCall};
use crate::json::{ScanError, raw};
use std::borrow::Cow;

/// Reads a message, in a request or in an answer.
///
/// # Errors
/// [`ScanError`] if it is not an object or an object in it has a key twice.
pub(super) fn read(raw: &str) -> Result<Element<'_>, ScanError> {
    let object = Object::parse(raw)?;
    let role = match object.string("role").as_deref() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        _ => Role::Other,
    };
    let mut element = Element::of(role);
    element.read_body(raw, object.span("content"))?;
    match role {
        Role::Assistant => read_answer(&mut element, &object, raw)?,
        // The old `function` role names the function, it has no id.
        Role::Tool => element.results.extend(object.string("tool_call_id").or_else(|| object.string("name"))),
        _ => {}
    }
    Ok(element)
}

fn read_answer<'a>(element: &mut Element<'a>, object: &Object<'a>, raw: &'a str) -> Result<(), ScanError> {
    if let Some(refusal) = object.value_span("refusal") {
        element.push_text(raw, refusal, None);
        element.refused = true;
    }
    element.calls = read_calls(object)?;
    Ok(())
}

/// The calls of a message, the old `function_call` behind the others.
///
/// # Errors
/// [`ScanError`] if one is not an object, or an object in it has a key twice.
pub(super) fn read_calls<'a>(message: &Object<'a>) -> Result<Vec<ToolCall<'a>>, ScanError> {
    let mut read = vec![];
    if let Some(calls) = message.get("tool_calls") {
        for span in raw::array(calls).unwrap_or_default() {
            read.push(read_call(slice(calls, span))?);
        }
    }
    if let Some(call) = message.get("function_call") {
        read.push(function(Cow::default(), &Object::parse(call)?));
    }
    Ok(read)
}

fn read_call(raw: &str) -> Result<ToolCall<'_>, ScanError> {
    let object = Object::parse(raw)?;
    let id = object.string("id").unwrap_or_default();
    if let Some(custom) = object.get("custom") {
        let custom = Object::parse(custom)?;
        let name = custom.string("name").unwrap_or_default();
        let input = Input::Text(custom.string("input").unwrap_or_default());
        return Ok(ToolCall { id, name, input, asynchronous: false });
    }
    match object.get("function") {
        Some(called) => Ok(function(id, &Object::parse(called)?)),
        None => Ok(ToolCall { id, name: Cow::default(), input: Input::Json("null"), asynchronous: false }),
    }
}

fn function<'a>(id: Cow<'a, str>, object: &Object<'a>) -> ToolCall<'a> {
    let input = match (object.string("arguments"), object.get("arguments")) {
        (Some(text), _) => Input::Arguments(text),
        // Some compatible servers write the object itself.
        (None, Some(value)) => Input::Json(value),
        (None, None) => Input::Json("null"),
    };
    ToolCall { id, name: object.string("name").unwrap_or_default(), input, asynchronous: false }
}
