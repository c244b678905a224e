//! What an answer says, as the content that goes back to the provider.
use super::heard::HeardPart;
use crate::dialect::transcript::MAX_ANSWER;
use crate::json::raw;

/// What a part counts beyond its bytes, so that empty ones are bounded too.
const PART_COST: usize = 64;

/// The parts of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    parts: Vec<SaidPart>,
    held: usize,
    has_call: bool,
    /// Something was too long, or is not understood.
    lost: bool,
}

#[derive(Debug)]
enum SaidPart {
    /// Text with nothing beside it; neighbours are one text.
    Plain(String),
    /// The part as it came, its signature with it.
    Whole(String),
}

impl Said {
    /// Adds a part. Thoughts that nobody signed are summaries for the user: they do not go back.
    pub(super) fn part(&mut self, HeardPart { raw: part, object }: &HeardPart<'_>) {
        self.has_call |= object.get("functionCall").is_some();
        if !self.take_in(PART_COST + part.len()) {
            return;
        }
        let is_signed = object.string("thoughtSignature").is_some_and(|signature| !signature.is_empty());
        if object.get("thought") == Some("true") && !is_signed {
            return;
        }
        if let Some(call) = object.get("functionCall") {
            // A call in pieces (Vertex) would have to be put together first.
            if ["partialArgs", "willContinue"].iter().any(|key| raw::get(call, key).is_some()) {
                return self.lose();
            }
        }
        let is_plain = object.entries().all(|(key, _)| key == "text");
        match (object.string("text").filter(|_| is_plain), self.parts.last_mut()) {
            (Some(text), _) if text.is_empty() => {}
            (Some(text), Some(SaidPart::Plain(before))) => before.push_str(&text),
            (Some(text), _) => self.parts.push(SaidPart::Plain(text.into_owned())),
            (None, _) => self.parts.push(SaidPart::Whole((*part).to_owned())),
        }
    }

    /// Whether a function is called.
    pub(super) const fn has_call(&self) -> bool {
        self.has_call
    }

    /// The answer can't be given back.
    pub(super) fn lose(&mut self) {
        *self = Self { lost: true, has_call: self.has_call, ..Self::default() };
    }

    /// The content, if anything was said; `None` when it can't be given back whole.
    pub(super) fn content(&self) -> Option<Vec<String>> {
        if self.lost {
            return None;
        }
        if self.parts.is_empty() {
            return Some(vec![]);
        }
        let parts: Vec<String> = self.parts.iter().map(SaidPart::json).collect();
        Some(vec![format!(r#"{{"role":"model","parts":[{}]}}"#, parts.join(","))])
    }

    fn take_in(&mut self, bytes: usize) -> bool {
        self.held = self.held.saturating_add(bytes);
        if self.held > MAX_ANSWER {
            self.lose();
        }
        !self.lost
    }
}

impl SaidPart {
    fn json(&self) -> String {
        match self {
            Self::Plain(text) => super::lower::text_part(text),
            Self::Whole(part) => part.clone(),
        }
    }
}
