//! One chunk of an answer, as the joiner reads it.
use crate::dialect::JoinError;
use crate::dialect::joiner::text;
use crate::dialect::object::{Object, slice};
use crate::dialect::rewrite::Rewrite;
use crate::dialect::upstream_error::error_text;
use crate::json::raw;

/// What the terminal chunk says once its parts have gone down: the end as servers write it behind a text.
const NO_PARTS: &str = r#"[{"text":""}]"#;

/// Members of a candidate that say where its text comes from.
const SOURCES: [&str; 3] = ["groundingMetadata", "citationMetadata", "urlContextMetadata"];

/// A chunk, or a whole response, of one candidate.
#[derive(Debug)]
pub(super) struct Heard<'a> {
    /// All of it.
    pub(super) raw: &'a str,
    object: Object<'a>,
    candidate: Option<&'a str>,
    /// The parts of the candidate's content.
    pub(super) parts: Vec<HeardPart<'a>>,
    /// Why the answer ended.
    pub(super) finish: Option<String>,
}

impl<'a> Heard<'a> {
    /// Reads a chunk.
    ///
    /// # Errors
    /// [`JoinError::Unreadable`] when it is no object or has a key twice, [`JoinError::Failed`] for an error,
    /// [`JoinError::OutOfOrder`] for a second candidate.
    pub(super) fn read(data: &'a [u8]) -> Result<Self, JoinError> {
        let raw = text(data)?;
        let object = parse(raw)?;
        if let Some(error) = object.get("error") {
            return Err(JoinError::Failed(error_text(error)));
        }
        let mut heard = Self { raw, object, candidate: None, parts: vec![], finish: None };
        let candidates = elements(heard.object.get("candidates"));
        if candidates.len() > 1 {
            return Err(JoinError::OutOfOrder("a second candidate".to_owned()));
        }
        heard.candidate = candidates.first().copied();
        if let Some(candidate) = heard.candidate {
            let candidate = parse(candidate)?;
            if candidate.get("index").is_some_and(|index| index != "0") {
                return Err(JoinError::OutOfOrder("another candidate".to_owned()));
            }
            heard.parts = match candidate.get("content") {
                Some(content) => parts(parse(content)?.get("parts"))?,
                None => vec![],
            };
            heard.finish = candidate.string("finishReason").filter(|reason| !reason.is_empty()).map(Into::into);
        }
        if let Some(feedback) = heard.object.get("promptFeedback") {
            heard.finish = heard.finish.or_else(|| raw::get_str(feedback, "blockReason").map(Into::into));
        }
        Ok(heard)
    }

    /// The text of a member's value, unless it is `null`.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.object.get(key)
    }

    /// Whether it holds anything of an answer.
    pub(super) fn has_candidate(&self) -> bool {
        self.candidate.is_some()
    }

    /// The chunk without the answer's end: its parts alone, and where they belong.
    pub(super) fn parts_alone(&self) -> Option<String> {
        self.without_end(|key| matches!(key, "content" | "index"))
    }

    /// What still goes down of a chunk whose end does not, if it says anything: parts, and what backs up the text.
    pub(super) fn leftover(&self) -> Option<String> {
        let backs_up = SOURCES.iter().any(|key| self.candidate.and_then(|raw| raw::get(raw, key)).is_some());
        let says = backs_up || self.parts.iter().any(|part| !part.is_empty_text());
        self.without_end(|key| !matches!(key, "finishReason" | "finishMessage")).filter(|_| says)
    }

    /// The chunk without token counts, which would be no total, and with these members of its candidate.
    fn without_end(&self, stays: impl Fn(&str) -> bool) -> Option<String> {
        let mut candidate = Rewrite::of(self.candidate?).ok()?;
        candidate.retain(stays);
        let mut chunk = Rewrite::of(self.raw).ok()?;
        chunk.retain(|key| key != "usageMetadata");
        chunk.set("candidates", format!("[{}]", candidate.finish()));
        Some(chunk.finish())
    }

    /// The chunk with other parts in its content, which it gets where it has none.
    pub(super) fn with_parts(&self, parts: &str) -> Option<String> {
        let mut candidate = Rewrite::of(self.candidate?).ok()?;
        let content = match candidate.get("content") {
            Some(content) => {
                let mut content = Rewrite::of(content).ok()?;
                content.set("parts", parts);
                content.finish()
            }
            None => format!(r#"{{"parts":{parts},"role":"model"}}"#),
        };
        candidate.set("content", content);
        let mut chunk = Rewrite::of(self.raw).ok()?;
        chunk.set("candidates", format!("[{}]", candidate.finish()));
        Some(chunk.finish())
    }

    /// The chunk without its parts: the end alone.
    pub(super) fn end_alone(&self) -> Option<String> {
        self.with_parts(NO_PARTS)
    }
}

/// What stands between the texts of two legs: clients string all texts of an answer together.
pub(super) const BETWEEN_TEXTS: &str = "\n\n";

/// The parts as an array, the first text of the answer set apart from the text before it.
pub(super) fn separated(parts: &[HeardPart<'_>]) -> String {
    let first = parts.iter().position(HeardPart::answers);
    let apart = |index: usize, part: &HeardPart<'_>| match part.object.span("text").filter(|_| first == Some(index)) {
        Some(text) => {
            let (before, behind) = part.raw.split_at(text.start + 1);
            format!("{before}{}{behind}", raw::escape(BETWEEN_TEXTS))
        }
        None => part.raw.to_owned(),
    };
    let parts: Vec<String> = parts.iter().enumerate().map(|(index, part)| apart(index, part)).collect();
    format!("[{}]", parts.join(","))
}

/// One part, its members read once.
#[derive(Debug)]
pub(super) struct HeardPart<'a> {
    /// All of it.
    pub(super) raw: &'a str,
    /// Its members.
    pub(super) object: Object<'a>,
}

impl HeardPart<'_> {
    /// Whether it is plain text that is empty.
    pub(super) fn is_empty_text(&self) -> bool {
        self.object.entries().all(|member| member == ("text", r#""""#))
    }

    /// Whether it shows the user some text.
    pub(super) fn shows_text(&self) -> bool {
        self.object.string("text").is_some_and(|text| !text.is_empty())
    }

    /// Whether it is text of the answer itself, and not nothing.
    pub(super) fn answers(&self) -> bool {
        self.shows_text() && self.object.get("thought") != Some("true")
    }
}

/// The elements of an array of parts.
fn parts(array: Option<&str>) -> Result<Vec<HeardPart<'_>>, JoinError> {
    elements(array).into_iter().map(|raw| Ok(HeardPart { raw, object: parse(raw)? })).collect()
}

fn parse(raw: &str) -> Result<Object<'_>, JoinError> {
    Object::parse(raw).map_err(JoinError::unreadable)
}

fn elements(array: Option<&str>) -> Vec<&str> {
    let array = array.unwrap_or_default();
    raw::array(array).unwrap_or_default().into_iter().map(|span| slice(array, span)).collect()
}
