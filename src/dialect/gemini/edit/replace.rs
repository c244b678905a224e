//! `messages.replace`: another text; calls, responses and images stay.
use super::contents::{Content, contents, elements, is_text, text as text_of};
use crate::context::edit::Selector;
use crate::context::{RequestView, Role};
use crate::dialect::edit::{Changes, Fields, Keys, selected};
use crate::dialect::{EditError, blocks};
use crate::json::{Doc, Span, Splice, raw};
use std::collections::HashSet;

/// Puts `text` in the place of the text of contents.
pub(super) fn replace(doc: &Doc, view: &RequestView, which: &Selector, text: &str) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    let mut gone: HashSet<Span> = HashSet::new();
    for index in selected(view, which, &|item| text_of(doc, view, item)) {
        let Some(item) = view.items.get(index) else { continue };
        if item.facts.signed {
            return Err(EditError::Signed { index });
        }
        let contents = contents(doc, view, index)?;
        match item.role() {
            Role::Tool => contents.iter().try_for_each(|content| responses(doc, content, text, &mut splice))?,
            _ => gone.extend(speech(doc, &contents, text, &mut splice)?),
        }
    }
    let elements = elements(doc);
    blocks::remove(&mut splice, elements, |index| elements.get(index).is_some_and(|element| gone.contains(element)));
    Ok(splice)
}

/// The text of a content with responses is theirs: each says `text`, and what was said beside them is gone.
fn responses(doc: &Doc, content: &Content<'_>, text: &str, splice: &mut Splice) -> Result<(), EditError> {
    for part in &content.parts {
        let Some(response) = part.object("functionResponse")? else { continue };
        let mut changes = Changes::default();
        changes.set(&["response"], format!("{{{}:{}}}", said_as(doc, &response)?, raw::quote(text)));
        changes.apply(&response, splice)?;
    }
    content.remove(&|_, part| is_text(part), splice);
    Ok(())
}

/// The key that says whether the function failed (the API's page on function calling).
fn said_as(doc: &Doc, response: &Fields<'_>) -> Result<&'static str, EditError> {
    let has_failed = match response.get("response").filter(|span| doc.text(*span).starts_with('{')) {
        Some(span) => Fields::at(doc, span, Keys::Exact)?.get("error").is_some(),
        None => false,
    };
    Ok(if has_failed { r#""error""# } else { r#""output""# })
}

/// The first content with text, or the first of all, says `text`; those that said nothing else are returned, to be left
/// out.
fn speech(doc: &Doc, contents: &[Content<'_>], text: &str, splice: &mut Splice) -> Result<Vec<Span>, EditError> {
    let speaker = contents.iter().position(|content| content.parts.iter().any(is_text)).unwrap_or(0);
    let mut gone = vec![];
    for (index, content) in contents.iter().enumerate() {
        if index == speaker {
            content.retext(doc, text, splice)?;
        } else if !content.parts.is_empty() && content.parts.iter().all(is_text) {
            gone.push(content.span);
        } else {
            content.remove(&|_, part| is_text(part), splice);
        }
    }
    Ok(gone)
}
