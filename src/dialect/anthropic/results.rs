//! Edits of tool results in a user message: text in the place of a result's own, and text inside of it.
use super::block::{blocks, joined_text};
use super::lower::{extend, text_block};
use super::view::content;
use crate::context::Item;
use crate::dialect::object::{Object, slice};
use crate::dialect::plan::{ResultEdit, ResultEdits};
use crate::dialect::rewrite::Rewrite;
use crate::dialect::{LowerError, ToolResult};
use crate::json::{Doc, Kind, Span, Splice, raw};

/// The results of one item, in order.
pub(super) fn results(doc: &Doc, item: &Item) -> Vec<ToolResult> {
    let found = blocks(content(doc.text(item.span))).flatten().filter(|block| block.kind == "tool_result");
    let read = found.map(|block| ToolResult {
        id: block.string("tool_use_id").into_owned(),
        name: String::new(),
        text: joined_text(block.get("content")),
        is_error: block.get("is_error") == Some("true"),
    });
    read.collect()
}

/// Edits the results among the blocks of a message's `content`; `tail` are blocks for the last of them. `None`: one of them
/// is not there, or has no place for it.
pub(super) fn edit(
    doc: &Doc,
    content: Span,
    edits: &ResultEdits<'_>,
    tail: &[String],
    splice: &mut Splice,
) -> Result<Option<()>, LowerError> {
    let mut found = vec![];
    for span in raw::array(doc.text(content)).unwrap_or_default() {
        let span = span.offset(content.start);
        let block = Object::parse(doc.text(span))?;
        if block.string("type").is_some_and(|kind| kind == "tool_result") {
            found.push((span, block));
        }
    }
    let is_there = edits.keys().next_back().is_none_or(|last| *last < found.len());
    if !is_there || found.is_empty() {
        return Ok(None);
    }
    let last = found.len() - 1;
    for (index, (span, block)) in found.iter().enumerate() {
        let edit = edits.get(&index);
        let mut behind: Vec<String> =
            edit.map(|edit| edit.append.iter().map(|text| text_block(text)).collect()).unwrap_or_default();
        if index == last {
            behind.extend_from_slice(tail);
        }
        let content = block.span("content").map(|content| content.offset(span.start));
        let done = match edit {
            Some(ResultEdit { replace: Some(text), .. }) => {
                replace(doc, *span, content, text, &behind, splice);
                Some(())
            }
            _ if behind.is_empty() => Some(()),
            _ => append(doc, *span, content, &behind, splice),
        };
        if done.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

fn append(doc: &Doc, block: Span, content: Option<Span>, texts: &[String], splice: &mut Splice) -> Option<()> {
    let Some(content) = content else {
        splice.insert(block.end.saturating_sub(1), format!(r#","content":[{}]"#, texts.join(",")));
        return Some(());
    };
    extend(doc.text(content), content, &[], texts, splice)
}

/// Writes a result's content anew, in the type that it has.
fn replace(doc: &Doc, block: Span, content: Option<Span>, text: &str, behind: &[String], splice: &mut Splice) {
    let written = content.map(|content| doc.text(content)).unwrap_or_default();
    let marker = marker(written);
    let is_list = raw::kind(written) == Some(Kind::Array) || marker.is_some() || !behind.is_empty();
    // An empty text is no block that the API takes; an empty string is a content.
    let own = (!text.trim().is_empty()).then(|| match marker {
        Some(marker) => {
            let block = text_block(text);
            let mut block = Rewrite::of_any(Some(&block));
            block.set("cache_control", marker);
            block.finish()
        }
        None => text_block(text),
    });
    let blocks: Vec<String> = own.into_iter().chain(behind.iter().cloned()).collect();
    let value = match is_list && !blocks.is_empty() {
        true => format!("[{}]", blocks.join(",")),
        false => raw::quote(text),
    };
    match content {
        Some(content) => splice.replace(content, value),
        None => splice.insert(block.end.saturating_sub(1), format!(r#","content":{value}"#)),
    }
}

/// The last cache marker in a content.
fn marker(content: &str) -> Option<&str> {
    let elements = raw::array(content)?;
    let mut markers =
        elements.into_iter().filter_map(|span| Object::parse(slice(content, span)).ok()?.get("cache_control"));
    markers.next_back()
}
