//! Whole responses, joined to one.
use super::heard::{Heard, HeardPart, separated};
use super::said::Said;
use super::tokens::Tokens;
use crate::dialect::JoinError;
use crate::dialect::body_joiner::Bodies;
use crate::dialect::rewrite::Rewrite;
use crate::json::raw;

/// Responses that came without a stream.
pub(super) struct Responses;

impl Bodies for Responses {
    fn check(body: &str) -> Result<(), JoinError> {
        Heard::read(body.as_bytes()).map(|_| ())
    }

    fn answer(body: &str) -> Option<Vec<String>> {
        let mut said = Said::default();
        Heard::read(body.as_bytes()).ok()?.parts.iter().for_each(|part| said.part(part));
        said.content()
    }

    fn join(bodies: &[&str]) -> Option<String> {
        let all: Vec<Heard<'_>> = bodies.iter().map(|body| Heard::read(body.as_bytes()).ok()).collect::<Option<_>>()?;
        let (first, last) = (all.first()?, all.last()?);
        let (mut parts, mut spent, mut has_text) = (vec![], Tokens::default(), false);
        for (index, heard) in all.iter().enumerate() {
            let answers = heard.parts.iter().any(HeardPart::answers);
            match has_text && answers {
                true => parts.extend(elements(&separated(&heard.parts))),
                false => parts.extend(heard.parts.iter().map(|part| part.raw.to_owned())),
            }
            has_text |= answers;
            if index + 1 < all.len() {
                let mut tokens = Tokens::default();
                tokens.read(heard.get("usageMetadata"));
                spent.add(tokens);
            }
        }
        let joined = last.with_parts(&format!("[{}]", parts.join(",")))?;
        let mut joined = Rewrite::of(&joined).ok()?;
        if let Some(id) = first.get("responseId") {
            joined.set("responseId", id);
        }
        if let Some(usage) = last.get("usageMetadata") {
            joined.set("usageMetadata", spent.joined(usage));
        }
        Some(joined.finish())
    }
}

fn elements(array: &str) -> Vec<String> {
    let spans = raw::array(array).unwrap_or_default();
    spans.into_iter().filter_map(|span| array.get(span.start..span.end)).map(str::to_owned).collect()
}
