//! Edits that only add text in a place that every dialect has.
use crate::context::edit::Text;
use crate::context::{Edit, Place, RequestView, Step};
use crate::dialect::LowerError;

/// The place that an edit fills; `None` for an edit that does something else.
///
/// # Errors
/// [`LowerError::NoPlace`] where the request ends with something that nothing may be added to.
pub(in crate::dialect) fn placed(view: &RequestView, edit: &Edit) -> Result<Option<Place>, LowerError> {
    let texts = |text: &Text| vec![text.0.clone()];
    Ok(Some(match edit {
        Edit::SystemPrepend { text } => Place::SystemFront { after: view.protected, texts: texts(text) },
        Edit::SystemAppend { text } => Place::SystemEnd { texts: texts(text) },
        Edit::MessagesAppend { text, .. } => match view.step {
            // The end of what the model is asked: of the prompt, or inside the last result of a tool step.
            Step::Prompt { item } | Step::Tool { item } => Place::ItemEnd { item, texts: texts(text) },
            Step::Resume | Step::Empty => {
                return Err(LowerError::NoPlace { item: view.items.len().saturating_sub(1) });
            }
        },
        _ => return Ok(None),
    }))
}
