//! Edits of the client's instructions where they have to stay as they are.
use super::identify::is_bound;
use super::read::Read;
use crate::context::{Edit, Place, RequestView, Role};
use crate::dialect::{EditError, LowerError};
use crate::json::{Doc, Splice};

/// What an edit changes. With a login that is bound to the client's own instructions, what is to be added to them stands in
/// the first user message instead, as persistent text does; they are never replaced.
pub(super) fn edit(read: &Read, doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError> {
    let text = match edit {
        Edit::SystemPrepend { text } | Edit::SystemAppend { text } if is_bound(read) => text,
        Edit::SystemReplace { .. } if is_bound(read) => return Err(EditError::Bound),
        _ => return read.dialect().edit(doc, view, edit),
    };
    if view.is_delta() {
        // The provider has the message that it stands in.
        return Ok(Splice::new());
    }
    let asks = |item: &crate::context::Item| item.role() == Role::User && item.facts.prompt.is_some();
    let item = view.items.iter().position(asks).ok_or(LowerError::NoPlace { item: 0 })?;
    let place = Place::ItemEnd { item, texts: vec![text.0.clone()] };
    Ok(read.dialect().lower(doc, view, &[place])?)
}
