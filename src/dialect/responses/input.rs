//! The events of a call with another input, which comes in one piece.
use super::bound::{replacement, with_input};
use super::event::{DONE, Event};
use crate::json::{ScanError, raw};
use serde_json::value::RawValue;

/// The member of an event that changes, and its value; `None` for an event that is left out. `has_come` says whether the
/// input has gone down.
pub(super) fn edit(
    event: &Event<'_>,
    input: &str,
    has_come: &mut bool,
) -> Option<(&'static str, Result<String, ScanError>)> {
    let kind = event.kind.as_ref();
    match (event.item.map(RawValue::get), kind) {
        (Some(item), DONE) => Some(("item", with_input(item, Some(input)))),
        (Some(item), _) => Some(("item", first_input(item, input))),
        (None, "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta") => {
            let is_first = !std::mem::replace(has_come, true);
            is_first.then(|| ("delta", Ok(input_string(kind, input))))
        }
        (None, "response.function_call_arguments.done") => Some(("arguments", Ok(input_string(kind, input)))),
        (None, "response.custom_tool_call_input.done") => Some(("input", Ok(input_string(kind, input)))),
        _ => None,
    }
}

/// What a replaced input is before it comes: nothing, or, where no event brings it, itself.
fn first_input(item: &str, input: &str) -> Result<String, ScanError> {
    let kind = raw::get_str(item, "type").unwrap_or_default();
    let is_streamed = matches!(kind.as_ref(), "function_call" | "custom_tool_call");
    with_input(item, (!is_streamed).then_some(input))
}

/// An input as the events of its stream carry it.
fn input_string(event: &str, input: &str) -> String {
    let is_custom = event.starts_with("response.custom_tool_call");
    replacement(if is_custom { "custom_tool_call" } else { "function_call" }, input)
}
