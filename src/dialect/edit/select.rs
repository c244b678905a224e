//! Which messages an edit means.
use crate::context::edit::{MessageRole, Selector};
use crate::context::{RequestView, Role};

/// The items that `which` names, in order; `text` gives the text of one. Items are counted as hooks see them, as messages.
pub(in crate::dialect) fn selected(view: &RequestView, which: &Selector, text: &dyn Fn(usize) -> String) -> Vec<usize> {
    let last = view.items.len().saturating_sub(1);
    let is_meant = |index: &usize| {
        let role = view.items.get(*index).map_or(Role::Other, |item| item.role());
        which.index.is_none_or(|from_end| from_end.checked_add(*index) == Some(last))
            && which.role.is_none_or(|wanted| wanted == named(role))
            && which.regex.as_ref().is_none_or(|regex| regex.0.is_match(&text(*index)))
    };
    (0..view.items.len()).filter(is_meant).collect()
}

/// The role as hooks see it.
const fn named(role: Role) -> MessageRole {
    match role {
        Role::System | Role::Other => MessageRole::System,
        Role::User => MessageRole::User,
        Role::Assistant => MessageRole::Assistant,
        Role::Tool => MessageRole::Tool,
    }
}
