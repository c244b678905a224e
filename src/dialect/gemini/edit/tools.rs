//! Tools of a generateContent body: function declarations in any of several tool objects, and the provider's own.
mod carrier;
mod cut;

use super::{NAME, body, changed};
use crate::context::edit::{Edit, Tool, ToolChoice};
use crate::context::{Operation, RequestView};
use crate::dialect::edit::{Changes, Fields, Keys, Sieve};
use crate::dialect::{EditError, blocks};
use crate::json::{Doc, Kind, Span, Splice, raw};
use carrier::{DECLARATIONS, Holder, declarations, holders};

/// The list of functions that may be called.
const ALLOWED: [&str; 3] = ["toolConfig", "functionCallingConfig", "allowedFunctionNames"];
/// Whether functions may or must be called.
const MODE: [&str; 3] = ["toolConfig", "functionCallingConfig", "mode"];

/// What an edit of tools changes.
pub(super) fn edit(doc: &Doc, edit: &Edit) -> Result<Splice, EditError> {
    if let Some(sieve) = Sieve::of(edit) {
        return cut::cut(doc, sieve);
    }
    match edit {
        Edit::ToolsDescribe { name, text } => {
            let mut splice = Splice::new();
            let mut changes = Changes::default();
            changes.set(&["description"], raw::quote(&text.0));
            changes.apply(&find(doc, name)?, &mut splice)?;
            Ok(splice)
        }
        Edit::ToolsReplace { name, tool } => replace(doc, name, tool),
        Edit::ToolsAdd { tool } => add(doc, tool),
        Edit::ToolChoiceSet { choice } => choose(doc, choice),
        _ => Ok(Splice::new()),
    }
}

/// The names that the answer may call; `None` where there are functions that the body does not show.
pub(in crate::dialect::gemini) fn roster(doc: &Doc, view: &RequestView) -> Option<Vec<String>> {
    // A count may wrap a whole request.
    let body = body(doc).ok()?;
    let wraps = ["cachedContent", "generateContentRequest"].iter().any(|key| body.get(key).is_some());
    if view.operation == Operation::Batch || wraps {
        return None;
    }
    let mut names = vec![];
    for holder in holders(doc).ok()? {
        if holder.is_opaque() {
            return None;
        }
        names.extend(holder.named(doc, DECLARATIONS).ok()?.iter().map(declared));
    }
    Some(names)
}

fn declared(declaration: &Fields<'_>) -> String {
    declaration.string("name").unwrap_or_default().into_owned()
}

fn find<'a>(doc: &'a Doc, name: &str) -> Result<Fields<'a>, EditError> {
    let found = declarations(doc)?.into_iter().find(|declaration| declaration.string("name").as_deref() == Some(name));
    found.ok_or_else(|| EditError::Missing { what: format!("tool {name:?}") })
}

fn refuse_twin(doc: &Doc, name: &str) -> Result<(), EditError> {
    match find(doc, name) {
        Ok(_) => Err(EditError::Exists { name: name.to_owned() }),
        Err(EditError::Missing { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A list of allowed functions that names the old one names the new one.
fn replace(doc: &Doc, name: &str, tool: &Tool) -> Result<Splice, EditError> {
    let old = find(doc, name)?;
    if tool.name != name {
        refuse_twin(doc, &tool.name)?;
    }
    let mut splice = Splice::new();
    splice.replace(old.span, declaration(tool));
    for span in allowed(doc)? {
        if raw::string(doc.text(span)).as_deref() == Some(name) {
            splice.replace(span, raw::quote(&tool.name));
        }
    }
    Ok(splice)
}

/// The strings of the list of allowed functions; one may stand without its array.
fn allowed(doc: &Doc) -> Result<Vec<Span>, EditError> {
    let [config, calling, names] = ALLOWED;
    let Some(config) = body(doc)?.object(config)? else { return Ok(vec![]) };
    let Some(calling) = config.object(calling)? else { return Ok(vec![]) };
    Ok(match calling.get(names) {
        Some(span) if raw::kind(doc.text(span)) == Some(Kind::String) => vec![span],
        _ => calling.elements(names),
    })
}

fn add(doc: &Doc, tool: &Tool) -> Result<Splice, EditError> {
    refuse_twin(doc, &tool.name)?;
    let body = body(doc)?;
    if body.get("cachedContent").is_some() {
        return Err(EditError::Unknown { dialect: NAME, what: "tool beside cached content" });
    }
    let mut splice = Splice::new();
    let made = declaration(tool);
    if let Some(list) = holders(doc)?.iter().find_map(|Holder(fields)| fields.get(DECLARATIONS)) {
        append(doc, list, made, &mut splice);
        return Ok(splice);
    }
    let holder = format!(r#"{{"{DECLARATIONS}":[{made}]}}"#);
    if let Some(list) = body.get("tools") {
        append(doc, list, holder, &mut splice);
        return Ok(splice);
    }
    let mut changes = Changes::default();
    changes.set(&["tools"], format!("[{holder}]"));
    changed(doc, &changes)
}

/// Puts an element at the end of a list; a single object becomes one.
fn append(doc: &Doc, list: Span, element: String, splice: &mut Splice) {
    match raw::array(doc.text(list)) {
        Some(elements) => {
            let elements: Vec<Span> = elements.into_iter().map(|span| span.offset(list.start)).collect();
            blocks::extend(splice, list, &elements, 0, &[], &[element]);
        }
        None => blocks::wrap(splice, list, ("", ""), &[], &[element]),
    }
}

fn declaration(tool: &Tool) -> String {
    let description = match tool.description.as_str() {
        "" => String::new(),
        text => format!(r#""description":{},"#, raw::quote(text)),
    };
    format!(r#"{{"name":{},{description}"parametersJsonSchema":{}}}"#, raw::quote(&tool.name), tool.input_schema)
}

/// The mode is about functions: without any it is refused.
fn choose(doc: &Doc, choice: &ToolChoice) -> Result<Splice, EditError> {
    if declarations(doc)?.is_empty() {
        return Err(EditError::Missing { what: "function".to_owned() });
    }
    let mut changes = Changes::default();
    let mode = match choice {
        ToolChoice::Auto => r#""AUTO""#,
        ToolChoice::None => r#""NONE""#,
        ToolChoice::Required | ToolChoice::Named(_) => r#""ANY""#,
    };
    changes.set(&MODE, mode);
    match choice {
        ToolChoice::Named(name) => {
            find(doc, name)?;
            changes.set(&ALLOWED, format!("[{}]", raw::quote(name)));
        }
        _ => changes.remove(&ALLOWED),
    }
    changed(doc, &changes)
}

fn at(doc: &Doc, span: Span) -> Result<Fields<'_>, EditError> {
    Ok(Fields::at(doc, span, Keys::Proto)?)
}
