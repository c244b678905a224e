//! Which tool the model is told to call, in all forms that the APIs have.
use super::definition::{Definition, choose};
use super::judge::Judge;
use super::{Body, Style};
use crate::context::edit::ToolChoice;
use crate::dialect::edit::{Changes, Fields, Keys};
use crate::dialect::object::Object;
use crate::dialect::openai::set as member;
use crate::dialect::{EditError, blocks};
use crate::json::{Kind, ScanError, Span, Splice, raw};

/// Members that choose; the second is the old one, of `functions`.
const CHOICES: [&str; 2] = ["tool_choice", "function_call"];

/// Members that are refused where there are no tools.
const OF_TOOLS: [&str; 3] = ["tool_choice", "function_call", "parallel_tool_calls"];

/// The member of a choice with a list of tools: its type in both APIs, and in Chat also the object that holds the list.
const ALLOWED: &str = "allowed_tools";

/// Takes out what is refused without tools.
pub(super) fn remove(changes: &mut Changes<'_>) {
    OF_TOOLS.iter().for_each(|key| changes.remove(&[key]));
}

/// Takes tools that are gone out of the choice. What can't be read may name any.
///
/// # Errors
/// [`ScanError::DuplicateKey`]: what it chooses depends on who reads it.
pub(super) fn repair(
    body: &Body<'_>,
    judge: &Judge<'_>,
    changes: &mut Changes<'_>,
    splice: &mut Splice,
) -> Result<(), ScanError> {
    for key in CHOICES {
        let Some(choice) = member(body.doc, key).filter(|member| member.kind == Kind::Object) else { continue };
        let raw = body.doc.text(choice.value);
        let is_gone = |raw: &str| match Definition::read(raw, None) {
            Err(error @ ScanError::DuplicateKey { .. }) => Err(error),
            read => Ok(read.map_or(true, |named| judge.forbids(&named))),
        };
        if is_gone(raw)? {
            changes.set(&[key], AUTO);
            continue;
        }
        let Some(list) = allowed(raw) else { continue };
        let gone: Vec<bool> = list
            .iter()
            .map(|entry| is_gone(raw.get(entry.start..entry.end).unwrap_or_default()))
            .collect::<Result<_, _>>()?;
        if gone.iter().all(|gone| *gone) && !gone.is_empty() {
            changes.set(&[key], NONE);
        } else {
            let spans: Vec<Span> = list.iter().map(|entry| entry.offset(choice.value.start)).collect();
            blocks::remove(splice, &spans, |index| gone.get(index).copied().unwrap_or_default());
        }
    }
    Ok(())
}

const AUTO: &str = r#""auto""#;
const NONE: &str = r#""none""#;
const REQUIRED: &str = r#""required""#;

/// The entries of a choice with a list: Chat puts it into an object, Responses does not.
fn allowed(raw: &str) -> Option<Vec<Span>> {
    let object = Object::parse(raw).ok()?;
    let list = object.value_span("tools").or_else(|| {
        let inner = object.value_span(ALLOWED)?;
        Some(raw::get(raw.get(inner.start..inner.end)?, "tools")?.offset(inner.start))
    })?;
    let entries = raw::array(raw.get(list.start..list.end)?)?;
    Some(entries.into_iter().map(|entry| entry.offset(list.start)).collect())
}

/// A tool that another one stands for: choices of it are choices of that one.
pub(super) fn rename(body: &Body<'_>, from: &str, to: &str, changes: &mut Changes<'_>, splice: &mut Splice) {
    for key in CHOICES {
        let Some(choice) = member(body.doc, key).filter(|member| member.kind == Kind::Object) else { continue };
        let raw = body.doc.text(choice.value);
        let style = if key == "function_call" { Style::Bare } else { body.form.style };
        let renamed = choose("function", to, style);
        let is_named = |raw: &str| Definition::read(raw, None).is_ok_and(|named| named.is_named(from));
        if is_named(raw) {
            changes.set(&[key], renamed);
            continue;
        }
        for entry in allowed(raw).unwrap_or_default() {
            if is_named(raw.get(entry.start..entry.end).unwrap_or_default()) {
                splice.replace(entry.offset(choice.value.start), renamed.clone());
            }
        }
    }
}

/// `tool_choice.set`.
pub(super) fn set(body: &Body<'_>, choice: &ToolChoice) -> Result<Splice, EditError> {
    let tools = body.definitions();
    if tools.is_empty() {
        return Err(EditError::Missing { what: "tool".to_owned() });
    }
    let is_old = tools.iter().all(|tool| tool.style == Style::Bare);
    let value = match choice {
        ToolChoice::Auto => AUTO.to_owned(),
        ToolChoice::None => NONE.to_owned(),
        ToolChoice::Required if is_old => {
            return Err(EditError::Unknown { dialect: body.form.name, what: "required call of functions" });
        }
        ToolChoice::Required => REQUIRED.to_owned(),
        ToolChoice::Named(name) => {
            let found = tools.iter().find(|tool| tool.definition.is_named(name));
            let found = found.ok_or_else(|| EditError::Missing { what: format!("tool {name}") })?;
            // A namespace's tool is chosen by its own name, whichever spelling the edit has.
            let own = found.definition.names.first().and_then(|names| names.first()).unwrap_or(name);
            let label = found.definition.names.last().and_then(|names| names.last());
            let name = if found.definition.kind == "mcp" { label.unwrap_or(own) } else { own };
            choose(&found.definition.kind, name, found.style)
        }
    };
    let (mut changes, mut splice) = (Changes::default(), Splice::new());
    changes.set(&[if is_old { "function_call" } else { "tool_choice" }], value);
    changes.apply(&Fields::body(body.doc, Keys::Exact)?, &mut splice)?;
    Ok(splice)
}
