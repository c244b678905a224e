//! The escape hatch: a JSON Patch of the native body.
use super::EditError;
use super::fields::Keys;
use crate::context::edit::{NativeDialect, PatchStep};
use crate::dialect::DialectId;
use crate::dialect::object::camel_case;
use crate::json::patch::{Step, patch};
use crate::json::{Doc, Span, Splice};

/// What a patch changes; nothing where it is for bodies of another dialect.
///
/// # Errors
/// [`EditError::Patch`]
pub(in crate::dialect) fn native(
    doc: &Doc,
    dialect: DialectId,
    meant: NativeDialect,
    steps: &[PatchStep],
) -> Result<Splice, EditError> {
    if id(meant) != dialect {
        return Ok(Splice::new());
    }
    let steps: Vec<Step<'_>> = steps.iter().map(step).collect();
    let same = match Keys::of(dialect) {
        Keys::Exact => |_: &str, _: &str| false,
        Keys::Proto => |a: &str, b: &str| camel_case(a) == camel_case(b),
    };
    let whole = doc.text(Span::new(0, doc.bytes().len()));
    patch(whole, &steps, same).map_err(|(step, error)| EditError::Patch { step, why: error.to_string() })
}

const fn id(dialect: NativeDialect) -> DialectId {
    match dialect {
        NativeDialect::Anthropic => DialectId::Anthropic,
        NativeDialect::Chat => DialectId::Chat,
        NativeDialect::Responses => DialectId::Responses,
        NativeDialect::Gemini => DialectId::Gemini,
    }
}

const fn step(step: &PatchStep) -> Step<'_> {
    match step {
        PatchStep::Add { path, value } => Step::Add(path.as_str(), value),
        PatchStep::Remove { path } => Step::Remove(path.as_str()),
        PatchStep::Replace { path, value } => Step::Replace(path.as_str(), value),
        PatchStep::Move { from, path } => Step::Move { from: from.as_str(), to: path.as_str() },
        PatchStep::Copy { from, path } => Step::Copy { from: from.as_str(), to: path.as_str() },
        PatchStep::Test { path, value } => Step::Test(path.as_str(), value),
    }
}
