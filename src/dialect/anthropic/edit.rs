//! Edits of a Messages body.
mod messages;
mod params;
mod redact;
mod remove;
mod replace;
mod system;
mod tools;

use crate::context::{Edit, Operation, Place, RequestView, Step};
use crate::dialect::edit::{Changes, Fields, Keys, native};
use crate::dialect::{DialectId, EditError, LowerError};
use crate::json::{Doc, Splice};

pub(super) use tools::roster;

/// The dialect's name in errors.
const NAME: &str = DialectId::Anthropic.name();

/// What one edit changes.
pub(super) fn edit(doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError> {
    if let Edit::Native { dialect, patch } = edit {
        return native(doc, DialectId::Anthropic, Keys::Exact, (*dialect, patch));
    }
    if view.operation == Operation::Batch {
        return Err(EditError::Unknown { dialect: NAME, what: "edit of a batch" });
    }
    match edit {
        Edit::SystemPrepend { text } => lower(doc, view, Place::SystemFront { after: 0, texts: vec![text.0.clone()] }),
        Edit::SystemAppend { text } => lower(doc, view, Place::SystemEnd { texts: vec![text.0.clone()] }),
        Edit::SystemReplace { text, matching } => system::replace(doc, view, &text.0, matching.as_ref()),
        Edit::MessagesAppend { text, .. } => lower(doc, view, tail(view, &text.0)?),
        Edit::MessagesRedact { pattern, with } => redact::redact(doc, view, &pattern.0, with),
        Edit::MessagesRemove { which } => remove::remove(doc, view, which),
        Edit::MessagesReplace { which, text } => replace::replace(doc, view, which, &text.0),
        Edit::ToolsRemove { .. }
        | Edit::ToolsKeep { .. }
        | Edit::ToolsDescribe { .. }
        | Edit::ToolsReplace { .. }
        | Edit::ToolsAdd { .. }
        | Edit::ToolChoiceSet { .. } => tools::edit(doc, view, edit),
        Edit::ParamsSet(_) | Edit::ParamsClamp(_) | Edit::ParamsRemove { .. } => params::edit(doc, view, edit),
        Edit::ModelSet { .. } | Edit::HeadersSet { .. } | Edit::HeadersRemove { .. } | Edit::Native { .. } => {
            Ok(Splice::new())
        }
    }
}

fn lower(doc: &Doc, view: &RequestView, place: Place) -> Result<Splice, EditError> {
    Ok(super::lower::lower(doc, view, &[place])?)
}

/// The end of what the model is asked: of the prompt, or inside the last result of a tool step.
fn tail(view: &RequestView, text: &str) -> Result<Place, LowerError> {
    match view.step {
        Step::Prompt { item } | Step::Tool { item } => Ok(Place::ItemEnd { item, texts: vec![text.to_owned()] }),
        Step::Resume | Step::Empty => Err(LowerError::NoPlace { item: view.items.len().saturating_sub(1) }),
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
