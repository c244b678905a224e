//! `messages.redact`: every text of user messages and tool results, whatever block carries it.
use super::messages::{Block, Content, messages};
use crate::context::{RequestView, Role};
use crate::dialect::EditError;
use crate::dialect::edit::{Fields, Redactor};
use crate::json::{Doc, Splice};
use regex::Regex;

/// Contents within each other that the API knows: a message, a result in it, a document in that, and its blocks.
const MAX_NESTED: usize = 4;

/// Redacts the texts of the history.
pub(super) fn redact(doc: &Doc, view: &RequestView, pattern: &Regex, with: &str) -> Result<Splice, EditError> {
    let mut pass = Pass { doc, redactor: Redactor::new(pattern, with), splice: Splice::new() };
    for (index, item) in view.items.iter().enumerate() {
        if matches!(item.role(), Role::User | Role::Tool) {
            for message in messages(doc, view, index)? {
                pass.content(&message, MAX_NESTED)?;
            }
        }
    }
    Ok(pass.splice)
}

struct Pass<'e> {
    doc: &'e Doc,
    redactor: Redactor<'e>,
    splice: Splice,
}

impl Pass<'_> {
    fn content(&mut self, holder: &Fields<'_>, nested: usize) -> Result<(), EditError> {
        let Some(nested) = nested.checked_sub(1) else { return Ok(()) };
        match Content::of(self.doc, holder)? {
            Content::Absent => Ok(()),
            Content::Text(span) => self.redactor.string(self.doc, span, &mut self.splice),
            Content::Blocks(blocks) => blocks.list.iter().try_for_each(|block| self.block(block, nested)),
        }
    }

    fn block(&mut self, Block { kind, fields }: &Block<'_>, nested: usize) -> Result<(), EditError> {
        match kind.as_ref() {
            "text" => self.strings(fields, &["text"]),
            "tool_result" => self.content(fields, nested),
            "search_result" => {
                self.strings(fields, &["title", "source"])?;
                self.content(fields, nested)
            }
            "document" => {
                self.strings(fields, &["title", "context"])?;
                let Some(source) = fields.object("source")? else { return Ok(()) };
                match source.string("type").as_deref() {
                    Some("text") => self.strings(&source, &["data"]),
                    _ => self.content(&source, nested),
                }
            }
            _ => Ok(()),
        }
    }

    fn strings(&mut self, fields: &Fields<'_>, keys: &[&str]) -> Result<(), EditError> {
        let mut spans = keys.iter().filter_map(|key| fields.get(key));
        spans.try_for_each(|span| self.redactor.string(self.doc, span, &mut self.splice))
    }
}
