//! Edits of a Messages body.
mod messages;
mod params;
mod redact;
mod remove;
mod replace;
mod system;
mod tools;

use crate::context::{Edit, RequestView};
use crate::dialect::edit::{Changes, Fields, Keys};
use crate::dialect::{DialectId, EditError};
use crate::json::{Doc, Splice};

pub(super) use tools::roster;

/// The dialect's name in errors.
const NAME: &str = DialectId::Anthropic.name();

/// What one edit changes: see `Dialect::rewrite`.
pub(super) fn edit(doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError> {
    match edit {
        Edit::SystemReplace { text, matching } => system::replace(doc, view, &text.0, matching.as_ref()),
        Edit::MessagesRedact { pattern, with } => redact::redact(doc, view, &pattern.0, with),
        Edit::MessagesRemove { which } => remove::remove(doc, view, which),
        Edit::MessagesReplace { which, text } => replace::replace(doc, view, which, &text.0),
        Edit::ParamsSet(_) | Edit::ParamsClamp(_) | Edit::ParamsRemove { .. } => params::edit(doc, view, edit),
        _ => tools::edit(doc, view, edit),
    }
}

fn body(doc: &Doc) -> Result<Fields<'_>, EditError> {
    Ok(Fields::body(doc, Keys::Exact)?)
}

/// Changes of the body's members alone.
fn changed(doc: &Doc, changes: &Changes<'_>) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    changes.apply(&body(doc)?, &mut splice)?;
    Ok(splice)
}
