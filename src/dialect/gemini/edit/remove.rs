//! `messages.remove`. Roles alternate strictly: what would stand beside its like becomes part of it.
use super::super::lower::extend;
use super::contents::{contents, elements, is_response, text};
use crate::context::edit::Selector;
use crate::context::{RequestView, Role};
use crate::dialect::edit::{Removal, selected};
use crate::dialect::{EditError, LowerError, blocks};
use crate::json::{Doc, Splice};
use std::collections::BTreeSet;

/// Leaves contents out.
pub(super) fn remove(doc: &Doc, view: &RequestView, which: &Selector) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    let chosen = selected(view, which, &|item| text(doc, view, item));
    if chosen.is_empty() {
        return Ok(splice);
    }
    let removal = Removal::new(view, &chosen, &|item| says_more(doc, view, item))?;
    let left = removal.left();
    begins_with_user(view, &left)?;
    let merged = merge(doc, view, &removal, &left, &mut splice)?;
    for item in removal.without_results.iter().filter(|item| !merged.contains(item)) {
        for content in contents(doc, view, *item)? {
            content.remove(&|_, part| is_response(part), &mut splice);
        }
    }
    blocks::remove(&mut splice, elements(doc), |element| {
        let item = view.items.partition_point(|item| item.elements.end <= element);
        !removal.stays(item) || merged.contains(&item)
    });
    Ok(splice)
}

fn says_more(doc: &Doc, view: &RequestView, item: usize) -> bool {
    let contents = contents(doc, view, item).unwrap_or_default();
    contents.iter().any(|content| content.parts.iter().any(|part| !is_response(part)))
}

/// A history that the user began does not begin with the model.
fn begins_with_user(view: &RequestView, left: &[usize]) -> Result<(), LowerError> {
    let is_models = |item: Option<&usize>| side(view, item) == Some(Side::Model);
    match is_models(left.first()) && !is_models(Some(&0)) {
        true => Err(LowerError::NoPlace { item: 0 }),
        false => Ok(()),
    }
}

/// Puts the parts of items behind those of the one before that is of their side; these are returned, to be left out.
fn merge(
    doc: &Doc,
    view: &RequestView,
    removal: &Removal,
    left: &[usize],
    splice: &mut Splice,
) -> Result<BTreeSet<usize>, EditError> {
    let mut merged = BTreeSet::new();
    let is_one = |a: &usize, b: &usize| side(view, Some(a)).is_some_and(|of_a| Some(of_a) == side(view, Some(b)));
    for group in left.chunk_by(is_one) {
        let [heir, others @ ..] = group else { continue };
        let mut parts: Vec<String> = vec![];
        for item in others {
            let stays = |part: &crate::dialect::edit::Fields<'_>| {
                !(removal.without_results.contains(item) && is_response(part))
            };
            for content in contents(doc, view, *item)? {
                let left = content.parts.iter().filter(|part| stays(part));
                parts.extend(left.map(|part| doc.text(part.span).to_owned()));
            }
            merged.insert(*item);
        }
        if let Some(last) = contents(doc, view, *heir)?.last() {
            extend(doc, last.span, |_| 0, &[], &parts, splice)?.ok_or(LowerError::NoPlace { item: *heir })?;
        }
    }
    Ok(merged)
}

/// Whose turn a content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    User,
    Model,
}

fn side(view: &RequestView, item: Option<&usize>) -> Option<Side> {
    match view.items.get(*item?)?.role() {
        Role::User | Role::Tool => Some(Side::User),
        Role::Assistant => Some(Side::Model),
        Role::System | Role::Other => None,
    }
}
