//! Reads one item of `input` or `output`.
use crate::context::Role;
use crate::dialect::object::Object;
use crate::dialect::openai::element::{Element, Input, ToolCall};
use crate::json::{Kind, ScanError, Span, raw};
use std::borrow::Cow;

/// Results that only clients make. A shell runs on either side, and a type that is not known here may be a new tool of
/// the provider's.
const CLIENT_RESULTS: [&str; 5] = [
    "function_call_output",
    "custom_tool_call_output",
    "computer_call_output",
    "local_shell_call_output",
    "apply_patch_call_output",
];

/// Reads an item, in a request or in an answer.
///
/// # Errors
/// [`ScanError`] if it is not an object or an object in it has a key twice.
pub(super) fn read(raw: &str) -> Result<Element<'_>, ScanError> {
    let object = Object::parse(raw)?;
    let kind = object.string("type").unwrap_or(Cow::Borrowed("message"));
    match kind.as_ref() {
        "message" => message(&object, raw),
        "agent_message" => agent_message(&object, raw),
        "reasoning" => Ok(reasoning(&object)),
        "compaction" | "compaction_summary" => Ok(Element { compaction: true, ..Element::of(Role::Assistant) }),
        "mcp_approval_request" => Ok(Element { asks_approval: true, ..Element::of(Role::Assistant) }),
        "mcp_approval_response" => Ok(approval(&object)),
        "additional_tools" => Ok(additional_tools(&object)),
        // Written by the provider: the program that calls tools, what it printed, the tools of an MCP server.
        "program" | "program_output" | "mcp_list_tools" => Ok(Element::of(Role::Assistant)),
        "tool_search_output" if runs_at_provider(&object)? => Ok(Element::of(Role::Assistant)),
        kind if kind.ends_with("_output") => result(kind, &object, raw),
        kind if kind.ends_with("_call") => {
            let mut element = Element::of(Role::Assistant);
            element.calls.extend(call(kind, &object)?);
            Ok(element)
        }
        _ => Ok(Element::default()),
    }
}

/// Reads an `input` that is a string: it stands for one user message.
///
/// # Errors
/// None: there is no object that could be ambiguous. The result is there because both are a `Read`.
pub(super) fn read_prompt(raw: &str) -> Result<Element<'_>, ScanError> {
    let mut element = Element::of(Role::User);
    element.read_body(raw, Some(Span::new(0, raw.len())))?;
    Ok(element)
}

fn message<'a>(object: &Object<'a>, raw: &'a str) -> Result<Element<'a>, ScanError> {
    let role = match object.string("role").as_deref() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => Role::Other,
    };
    let mut element = Element::of(role);
    element.read_body(raw, object.span("content"))?;
    element.commentary = object.string("phase").as_deref() == Some("commentary");
    Ok(element)
}

/// What one agent of Codex tells another: the prompt of a sub-agent, or its report. It is read like a user message; its
/// body may be encrypted, and nothing can be put into it.
fn agent_message<'a>(object: &Object<'a>, raw: &'a str) -> Result<Element<'a>, ScanError> {
    let mut element = Element::of(Role::User);
    element.read_body(raw, object.span("content"))?;
    element.attachments.extend(object.value_span("encrypted_content"));
    element.body = None;
    Ok(element)
}

fn reasoning<'a>(object: &Object<'a>) -> Element<'a> {
    let signed = object.string("encrypted_content").is_some_and(|content| !content.is_empty());
    Element { signed, ..Element::of(Role::Assistant) }
}

fn approval<'a>(object: &Object<'a>) -> Element<'a> {
    let mut element = Element::of(Role::Tool);
    element.results.extend(object.string("approval_request_id"));
    element
}

fn additional_tools<'a>(object: &Object<'a>) -> Element<'a> {
    let tools = object.get("tools").and_then(raw::array).unwrap_or_default();
    Element { defines_tools: !tools.is_empty(), ..Element::default() }
}

/// Only the outputs of functions and custom tools are text for the model; a shell's is structured, or JSON in a string,
/// and a screenshot has no place for text.
fn result<'a>(kind: &str, object: &Object<'a>, raw: &'a str) -> Result<Element<'a>, ScanError> {
    let mut element = Element::of(Role::Tool);
    element.results.extend(id(object));
    element.read_body(raw, object.value_span("output"))?;
    if !matches!(kind, "function_call_output" | "custom_tool_call_output") {
        element.body = None;
    }
    element.may_be_hosted = !CLIENT_RESULTS.contains(&kind);
    Ok(element)
}

/// Calls that the provider runs, whatever ids they have.
const PROVIDERS: [&str; 5] =
    ["mcp_call", "code_interpreter_call", "web_search_call", "file_search_call", "image_generation_call"];

/// The call that the client is to answer; `None` for tools that the provider runs itself.
fn call<'a>(kind: &str, object: &Object<'a>) -> Result<Option<ToolCall<'a>>, ScanError> {
    let name = || object.string("name").unwrap_or_default();
    let text = |key: &str| object.string(key).unwrap_or_default();
    let json = |key: &str| Input::Json(object.get(key).unwrap_or("null"));
    let (name, input) = match kind {
        "function_call" => (name(), Input::Arguments(text("arguments"))),
        "custom_tool_call" => (name(), Input::Text(text("input"))),
        "computer_call" if object.get("actions").is_some() => ("computer".into(), json("actions")),
        "computer_call" => ("computer".into(), json("action")),
        "local_shell_call" => ("local_shell".into(), json("action")),
        "shell_call" if !runs_at_provider(object)? => ("shell".into(), json("action")),
        "apply_patch_call" => ("apply_patch".into(), json("operation")),
        "tool_search_call" if !runs_at_provider(object)? => ("tool_search".into(), json("arguments")),
        // What comes next: only what the client answers has an id for the answer.
        kind if PROVIDERS.contains(&kind) => return Ok(None),
        kind if kind.ends_with("_call") && object.get("call_id").is_some() && !runs_at_provider(object)? => {
            let of_kind = || Cow::Owned(kind.trim_end_matches("_call").to_owned());
            (object.string("name").unwrap_or_else(of_kind), Input::Json("null"))
        }
        _ => return Ok(None),
    };
    let asynchronous = object.get("async") == Some("true");
    Ok(Some(ToolCall { id: id(object).unwrap_or_default(), name, input, asynchronous }))
}

/// Whether the provider executes the call: a shell in its container, a tool search that says so.
fn runs_at_provider(object: &Object<'_>) -> Result<bool, ScanError> {
    let container = match object.get("environment").filter(|e| raw::kind(e) == Some(Kind::Object)) {
        Some(environment) => Object::parse(environment)?.string("type").is_some_and(|kind| kind != "local"),
        None => false,
    };
    Ok(container || object.string("execution").is_some_and(|execution| execution == "server"))
}

fn id<'a>(object: &Object<'a>) -> Option<Cow<'a, str>> {
    object.string("call_id").or_else(|| object.string("id"))
}
