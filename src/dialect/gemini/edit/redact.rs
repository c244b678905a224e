//! `messages.redact`: text parts of the user's contents, and every string in a function's response.
use super::contents::contents;
use crate::context::{RequestView, Role};
use crate::dialect::EditError;
use crate::dialect::edit::{Fields, Redactor};
use crate::json::{Doc, Splice, string_values};
use regex::Regex;

/// Redacts the texts of the history. Parts with a signature are the model's.
pub(super) fn redact(doc: &Doc, view: &RequestView, pattern: &Regex, with: &str) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    let mut redactor = Redactor::new(pattern, with);
    for (index, _) in view.items.iter().enumerate().filter(|(_, item)| matches!(item.role(), Role::User | Role::Tool)) {
        for content in contents(doc, view, index)? {
            for part in content.parts.iter().filter(|part| !is_signed(part)) {
                redact_part(doc, part, &mut redactor, &mut splice)?;
            }
        }
    }
    Ok(splice)
}

fn is_signed(part: &Fields<'_>) -> bool {
    part.string("thoughtSignature").is_some_and(|signature| !signature.is_empty())
}

fn redact_part(
    doc: &Doc,
    part: &Fields<'_>,
    redactor: &mut Redactor<'_>,
    splice: &mut Splice,
) -> Result<(), EditError> {
    if let Some(text) = part.get("text") {
        redactor.string(doc, text, splice)?;
    }
    let response = part.object("functionResponse")?.and_then(|response| response.get("response"));
    let Some(response) = response else { return Ok(()) };
    let mut strings = string_values(doc.text(response)).map(|string| string.offset(response.start));
    strings.try_for_each(|string| redactor.string(doc, string, splice))
}
