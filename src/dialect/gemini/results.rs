//! Edits of function responses: text in the place of what a function said, and text inside of it.
//!
//! A response is an object of the function's own. What a client writes into it for the model is `output`, and `error` where
//! the function failed (the API's words for both); text goes into that string, else into a further member.
use super::part::{FunctionResponse, Part, PartKind};
use super::view::parts_span;
use crate::context::Item;
use crate::dialect::object::{Object, slice};
use crate::dialect::plan::{ResultEdit, ResultEdits};
use crate::dialect::{LowerError, ToolResult, blocks};
use crate::json::{Doc, Kind, ScanError, Span, Splice, raw};
use std::collections::HashMap;

/// The member for text where the function's object has no string of its own that the model reads.
const ASIDE: &str = "context";

/// The function responses of one content: index among the distinct ones (as in [`crate::context::ItemFacts::results`]; a
/// client may repeat them), where it stands, and what it says.
fn responses(content: &str) -> Result<Vec<(usize, Span, FunctionResponse<'_>)>, ScanError> {
    let Some(list) = parts_span(content) else { return Ok(vec![]) };
    let parts = match raw::array(slice(content, list)) {
        Some(parts) => parts.into_iter().map(|part| part.offset(list.start)).collect(),
        None => vec![list],
    };
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut found = vec![];
    for span in parts {
        let part = Part::parse(slice(content, span))?;
        let Some(written) = part.response() else { continue };
        let next = known.len();
        let index = *known.entry(written).or_insert(next);
        if let PartKind::Response(response) = part.kind
            && let Some(at) = Object::parse_proto(slice(content, span))?.span("functionResponse")
        {
            found.push((index, at.offset(span.start), response));
        }
    }
    Ok(found)
}

/// The results of one item, in order.
pub(super) fn results(doc: &Doc, item: &Item) -> Vec<ToolResult> {
    let content = doc.text(item.span);
    let mut results: Vec<ToolResult> = vec![];
    for (index, span, response) in responses(content).unwrap_or_default() {
        if index == results.len() {
            let object = Object::parse_proto(slice(content, span));
            let string = |key| object.as_ref().ok().and_then(|object| object.string(key)).unwrap_or_default();
            results.push(ToolResult {
                id: string("id").into_owned(),
                name: string("name").into_owned(),
                text: response.text.into_owned(),
                is_error: response.is_error,
            });
        }
    }
    results
}

/// Edits the responses of the content at `span`. `None`: one of them is not there, or has no place for it.
pub(super) fn edit(
    doc: &Doc,
    span: Span,
    edits: &ResultEdits<'_>,
    splice: &mut Splice,
) -> Result<Option<()>, LowerError> {
    let found = responses(doc.text(span))?;
    if !edits.keys().all(|index| found.iter().any(|(found, ..)| found == index)) {
        return Ok(None);
    }
    for (index, at, response) in found {
        let Some(edit) = edits.get(&index) else { continue };
        let done = match edit.replace {
            Some(_) => replace(doc, at.offset(span.start), edit, response.is_error, splice)?,
            None => append(doc, at.offset(span.start), &joined(edit), splice)?,
        };
        if done.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

fn joined(edit: &ResultEdit<'_>) -> String {
    edit.texts().collect::<Vec<_>>().join("\n\n")
}

/// Writes the response anew. Media that stand in its `parts` are a part of what the function said, and go.
fn replace(
    doc: &Doc,
    at: Span,
    edit: &ResultEdit<'_>,
    is_error: bool,
    splice: &mut Splice,
) -> Result<Option<()>, LowerError> {
    let fields = raw::object(doc.text(at))?;
    let value = format!(r#"{{"{}":{}}}"#, if is_error { "error" } else { "output" }, raw::quote(&joined(edit)));
    set_response(doc, at, &value, splice);
    blocks::remove_members(splice, at.start, &fields, |key| key == "parts");
    Ok(Some(()))
}

fn set_response(doc: &Doc, at: Span, value: &str, splice: &mut Splice) {
    let written = doc.text(at);
    match raw::get(written, "response") {
        Some(response) => splice.replace(response.offset(at.start), value.to_owned()),
        None => {
            let comma = if raw::object(written).is_ok_and(|fields| fields.is_empty()) { "" } else { "," };
            splice.insert(at.end.saturating_sub(1), format!(r#"{comma}"response":{value}"#));
        }
    }
}

fn append(doc: &Doc, at: Span, text: &str, splice: &mut Splice) -> Result<Option<()>, LowerError> {
    if text.is_empty() {
        return Ok(Some(()));
    }
    let response = raw::get(doc.text(at), "response").map(|response| response.offset(at.start));
    let Some(response) = response.filter(|response| doc.text(*response) != "null") else {
        set_response(doc, at, &format!(r#"{{"output":{}}}"#, raw::quote(text)), splice);
        return Ok(Some(()));
    };
    let written = doc.text(response);
    if raw::kind(written) != Some(Kind::Object) {
        return Ok(None);
    }
    let object = Object::parse(written)?;
    let is_string = |key: &&str| object.get(key).is_some_and(|value| raw::kind(value) == Some(Kind::String));
    match ["output", "result", "error"].iter().find(|key| is_string(key)).and_then(|key| object.span(key)) {
        Some(string) => {
            let gap = if string.len() == 2 { "" } else { "\n\n" };
            splice.insert(response.start + string.end - 1, raw::escape(&format!("{gap}{text}")));
        }
        None => {
            let comma = if object.entries().next().is_some() { "," } else { "" };
            let member = format!("{comma}{}:{}", raw::quote(&free_key(&object)), raw::quote(text));
            splice.insert(response.end.saturating_sub(1), member);
        }
    }
    Ok(Some(()))
}

/// A key that the function does not use.
fn free_key(object: &Object<'_>) -> String {
    let mut key = ASIDE.to_owned();
    while object.span(&key).is_some() {
        key.push('_');
    }
    key
}
