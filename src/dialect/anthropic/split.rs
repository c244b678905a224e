//! What is the last leg's in the client's copy of a joined answer.
use super::view::content;
use crate::context::Leg;
use crate::dialect::object::{Object, slice};
use crate::dialect::split::{Border, Share, rest_of};
use crate::json::{Kind, raw};
use std::collections::HashSet;

/// The messages of the copy without what the legs said; `None` when the copy does not begin with their text. What stays
/// keeps its bytes, cache markers too.
pub(super) fn taken_apart(copy: &[&str], legs: &[Leg]) -> Option<Vec<String>> {
    let mut cut = Cut::new(legs)?;
    let mut rest = vec![];
    for message in copy {
        rest.extend(cut.message(message)?);
    }
    cut.border.is_reached().then_some(rest)
}

/// One copy on its way through the shears.
struct Cut {
    border: Border,
    /// Blocks of the legs that are no text, by [`identity`].
    theirs: HashSet<String>,
}

impl Cut {
    fn new(legs: &[Leg]) -> Option<Self> {
        let (mut texts, mut theirs) = (vec![], HashSet::new());
        for message in legs.iter().flat_map(|leg| &leg.answer) {
            let blocks = content(message)?;
            for span in raw::array(blocks)? {
                let block = slice(blocks, span);
                let object = Object::parse(block).ok()?;
                match object.string("type").as_deref() {
                    Some("text") => texts.push(object.string("text")?.into_owned()),
                    _ => theirs.extend(identity(&object)),
                }
            }
        }
        Some(Self { border: Border::behind(texts), theirs })
    }

    /// What is left of a message: `Some(None)` is nothing. `None`: the copy is not the legs'.
    fn message(&mut self, message: &str) -> Option<Option<String>> {
        let Some(span) = Object::parse(message).ok()?.span("content") else { return Some(Some(message.to_owned())) };
        let content = slice(message, span);
        let rest = match raw::kind(content)? {
            Kind::String => match self.border.walk(content)? {
                Share::Theirs => return Some(None),
                Share::Kept => return Some(Some(message.to_owned())),
                Share::From(at) => rest_of(content, at),
            },
            Kind::Array => {
                let blocks = raw::array(content)?;
                let mut kept = vec![];
                for span in &blocks {
                    kept.extend(self.block(slice(content, *span))?);
                }
                if kept.is_empty() && !blocks.is_empty() {
                    return Some(None);
                }
                format!("[{}]", kept.join(","))
            }
            _ => return Some(Some(message.to_owned())),
        };
        Some(Some([message.get(..span.start)?, &rest, message.get(span.end..)?].concat()))
    }

    /// What is left of a block, in the same words as [`Self::message`].
    fn block(&mut self, block: &str) -> Option<Option<String>> {
        let object = Object::parse(block).ok()?;
        let kept = || Some(Some(block.to_owned()));
        let kind = object.string("type").unwrap_or_default();
        if kind == "text" {
            let span = object.span("text")?;
            let text = slice(block, span);
            return match self.border.walk(text)? {
                Share::Theirs => Some(None),
                Share::Kept => kept(),
                Share::From(at) => {
                    let rest = rest_of(text, at);
                    Some(Some([block.get(..span.start)?, &rest, block.get(span.end..)?].concat()))
                }
            };
        }
        let is_theirs = match identity(&object) {
            Some(identity) => self.theirs.contains(&identity),
            // Thinking that nobody signed is not sent back; ahead of the border it is not the last leg's.
            None => kind == "thinking" && !self.border.is_reached(),
        };
        if is_theirs { Some(None) } else { kept() }
    }
}

/// What tells a block that is no text from others: the signature, the data or the ids that the server gave it.
fn identity(block: &Object<'_>) -> Option<String> {
    let kind = block.string("type")?;
    let value = ["signature", "data", "id", "tool_use_id"].iter().find_map(|key| block.string(key))?;
    (!value.is_empty()).then(|| format!("{kind} {value}"))
}
