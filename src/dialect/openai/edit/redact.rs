//! `messages.redact`.
use super::Body;
use crate::context::Role;
use crate::context::edit::Pattern;
use crate::dialect::EditError;
use crate::dialect::edit::Redactor;
use crate::json::{Kind, ScanError, Span, Splice, raw};

/// Members of an element that hold what the user or a tool says.
const BODIES: [&str; 3] = ["content", "output", "reason"];

/// Members of parts that hold text: of messages, of results in results, of what a shell printed.
const TEXTS: [&str; 6] = ["text", "refusal", "stdout", "stderr", "content", "output"];

/// How deep parts hold parts: a result in a message is the deepest that any API knows.
const MAX_PARTS_DEPTH: usize = 4;

/// Writes anew what the pattern matches in texts of the user and of tools.
pub(super) fn redact(body: &Body<'_>, pattern: &Pattern, with: &str) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    let mut redactor = Redactor::new(&pattern.0, with);
    for span in &body.list {
        let raw = body.doc.text(*span);
        if !matches!((body.read)(raw)?.role.0, Role::User | Role::Tool) {
            continue;
        }
        let mut texts = Vec::new();
        match raw::kind(raw) {
            Some(Kind::Object) => members(raw, span.start, &BODIES, MAX_PARTS_DEPTH, &mut texts)?,
            _ => texts.push(*span),
        }
        for text in texts {
            redactor.string(body.doc, text, &mut splice)?;
        }
    }
    Ok(splice)
}

/// The strings that are text in the value `raw`, which begins at `base`.
fn collect(raw: &str, base: usize, depth: usize, texts: &mut Vec<Span>) -> Result<(), ScanError> {
    match raw::kind(raw) {
        Some(Kind::String) => texts.push(Span::new(0, raw.len()).offset(base)),
        Some(Kind::Array) => {
            for element in raw::array(raw).unwrap_or_default() {
                let text = raw.get(element.start..element.end).unwrap_or_default();
                collect(text, base + element.start, depth, texts)?;
            }
        }
        Some(Kind::Object) if depth > 0 => members(raw, base, &TEXTS, depth - 1, texts)?,
        _ => {}
    }
    Ok(())
}

fn members(raw: &str, base: usize, keys: &[&str], depth: usize, texts: &mut Vec<Span>) -> Result<(), ScanError> {
    for field in raw::object(raw)?.iter().filter(|field| keys.contains(&field.key.as_ref())) {
        let value = raw.get(field.value.start..field.value.end).unwrap_or_default();
        collect(value, base + field.value.start, depth, texts)?;
    }
    Ok(())
}
