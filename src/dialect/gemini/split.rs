//! What is the last leg's in the client's copy of a joined answer.
use super::heard::BETWEEN_TEXTS;
use super::view::parts_span;
use crate::context::Leg;
use crate::context::answer::call_key;
use crate::dialect::object::{Object, slice};
use crate::dialect::rewrite::Rewrite;
use crate::dialect::split::{Border, Share, rest_of};
use crate::json::{Span, raw};
use std::collections::HashSet;

/// The contents of the copy without what the legs said; `None` when the copy does not begin with their text. What stays
/// keeps its bytes.
pub(super) fn taken_apart(copy: &[&str], legs: &[Leg]) -> Option<Vec<String>> {
    let mut cut = Cut::new(legs)?;
    let mut rest = vec![];
    for content in copy {
        rest.extend(cut.content(content)?);
    }
    cut.border.is_reached().then_some(rest)
}

/// One copy on its way through the shears.
struct Cut {
    border: Border,
    /// Whether the legs had text, so that the last leg's was set apart from it.
    is_apart: bool,
    /// Calls and signatures of the legs.
    theirs: HashSet<String>,
}

impl Cut {
    fn new(legs: &[Leg]) -> Option<Self> {
        let (mut texts, mut theirs) = (vec![], HashSet::new());
        for content in legs.iter().flat_map(|leg| &leg.answer) {
            let parts = slice(content, parts_span(content)?);
            for span in raw::array(parts)? {
                let part = Object::parse_proto(slice(parts, span)).ok()?;
                theirs.extend(call(&part));
                theirs.extend(signature(&part));
                texts.extend(text_span(&part).and_then(|_| part.string("text")));
            }
        }
        let is_apart = texts.iter().any(|text| !text.trim().is_empty());
        Some(Self { border: Border::behind(&texts), is_apart, theirs })
    }

    /// What is left of a content: `Some(None)` is nothing. `None`: the copy is not the legs'.
    fn content(&mut self, content: &str) -> Option<Option<String>> {
        let Some(span) = parts_span(content) else { return Some(Some(content.to_owned())) };
        let parts = slice(content, span);
        let Some(elements) = raw::array(parts) else { return Some(Some(content.to_owned())) };
        let mut kept = vec![];
        for element in &elements {
            kept.extend(self.part(slice(parts, *element))?);
        }
        if kept.is_empty() && !elements.is_empty() {
            return Some(None);
        }
        let parts = format!("[{}]", kept.join(","));
        Some(Some([content.get(..span.start)?, &parts, content.get(span.end..)?].concat()))
    }

    /// What is left of a part, in the same words as [`Self::content`].
    fn part(&mut self, part: &str) -> Option<Option<String>> {
        let object = Object::parse_proto(part).ok()?;
        let kept = || Some(Some(part.to_owned()));
        let is_theirs = signature(&object).is_some_and(|signature| self.theirs.contains(&signature));
        let Some(span) = text_span(&object) else {
            // A thought that nobody signed does not go back; ahead of the border it is not the last leg's.
            let is_old_thought = object.get("thought") == Some("true") && !self.border.is_reached();
            let is_their_call = call(&object).is_some_and(|call| self.theirs.contains(&call));
            return if is_theirs || is_their_call || is_old_thought { Some(None) } else { kept() };
        };
        let text = slice(part, span);
        let from = match self.border.walk(text)? {
            Share::Theirs => return Some(None),
            Share::From(at) => at,
            // At the border: a signature of the legs by itself, or what is left of the distance between two texts.
            Share::Kept if is_blank(text) && (is_theirs || (self.is_apart && signature(&object).is_none())) => {
                return Some(None);
            }
            Share::Kept => match self.behind_gap(text) {
                Some(at) => at,
                None => return kept(),
            },
        };
        self.is_apart = false;
        let rest = rest_of(text, from);
        let mut part = Rewrite::of(part).ok()?;
        part.set("text", rest);
        if is_theirs {
            part.retain(|key| !matches!(key, "thoughtSignature" | "thought_signature"));
        }
        Some(Some(part.finish()))
    }

    /// Where the first text behind the border begins, without the distance that the joiner put before it.
    fn behind_gap(&mut self, text: &str) -> Option<usize> {
        if is_blank(text) || !std::mem::take(&mut self.is_apart) {
            return None;
        }
        let mut chars = raw::chars(text);
        let is_gap = BETWEEN_TEXTS.chars().all(|gap| chars.next().is_some_and(|(_, c)| c == gap));
        chars.next().filter(|_| is_gap).map(|(at, _)| at)
    }
}

fn is_blank(quoted: &str) -> bool {
    raw::chars(quoted).all(|(_, c)| c.is_whitespace())
}

/// Where a part has text of the answer.
fn text_span(part: &Object<'_>) -> Option<Span> {
    let is_thought = part.get("thought") == Some("true");
    part.value_span("text").filter(|_| !is_thought && part.string("text").is_some())
}

fn signature(part: &Object<'_>) -> Option<String> {
    let signature = part.string("thoughtSignature").filter(|signature| !signature.is_empty())?;
    Some(format!("signature {signature}"))
}

fn call(part: &Object<'_>) -> Option<String> {
    let call = Object::parse_proto(part.get("functionCall")?).ok()?;
    let string = |key| call.string(key).unwrap_or_default();
    Some(format!("call {}", call_key(&string("id"), &string("name"), call.get("args").unwrap_or("{}"))))
}
