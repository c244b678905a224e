//! Joins answers that are no streams: see `Joiner`.
use super::chunk::Chunk;
use super::said;
use super::splice::{BLANK_LINE, Identity};
use crate::dialect::JoinError;
use crate::dialect::body_joiner::Bodies;
use crate::dialect::object::{Object, slice};
use crate::dialect::openai::{error, usage};
use crate::dialect::rewrite::edited;
use crate::dialect::transcript::MAX_ANSWER;
use crate::json::{Kind, Splice, raw};

/// What is made of a `chat.completion`.
#[derive(Debug)]
pub(super) struct Completion;

const MESSAGE: &str = "/choices/0/message";
const CONTENT: &str = "/choices/0/message/content";
const CITATIONS: &str = "/choices/0/message/annotations";

impl Bodies for Completion {
    fn answer(body: &str) -> Option<Vec<String>> {
        Self::check(body).ok().filter(|()| body.len() <= MAX_ANSWER)?;
        let message = raw::pointer(body, MESSAGE).and_then(|span| body.get(span.start..span.end))?;
        let message = Object::parse(message).ok()?;
        if message.get("audio").is_some() || message.get("function_call").is_some() {
            return None;
        }
        let calls = message.get("tool_calls").filter(|calls| raw::array(calls).is_some_and(|list| !list.is_empty()));
        Some(said::message(&content(body)?, &message.string("refusal").unwrap_or_default(), calls))
    }

    fn check(body: &str) -> Result<(), JoinError> {
        let chunk: Chunk<'_> = serde_json::from_str(body).map_err(JoinError::unreadable)?;
        if let Some(upstream) = chunk.error {
            return Err(JoinError::Failed(error::text(upstream.get())));
        }
        match chunk.choices.as_deref() {
            Some([choice]) if choice.message.is_some() => {}
            _ => return Err(JoinError::OutOfOrder("a number of choices that is not one".to_owned())),
        }
        content(body).map(|_| ()).ok_or_else(|| JoinError::Unreadable("content is no string".to_owned()))
    }

    fn join(bodies: &[&str]) -> Option<String> {
        let (last, before) = bodies.split_last()?;
        let mut splice = Splice::new();
        let first = bodies.first()?;
        Identity::of(first).put(&mut splice, last);
        let texts: Vec<String> = bodies.iter().map(|body| content(body)).collect::<Option<_>>()?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        if !texts.is_empty() {
            put_content(&mut splice, last, &texts.join(BLANK_LINE))?;
        }
        // They count the characters of their own leg, so that only the first leg's are right.
        if let Some(span) = raw::pointer(last, CITATIONS) {
            let first = raw::pointer(first, CITATIONS).and_then(|span| first.get(span.start..span.end));
            splice.replace(span, first.unwrap_or("[]").to_owned());
        }
        if let Some(own) = usage(last) {
            let before: Vec<String> = before.iter().filter_map(|body| usage(body)).map(str::to_owned).collect();
            splice.replace(raw::get(last, "usage")?, usage::summed(own, &before, "completion"));
        }
        edited(last, splice).ok()
    }
}

/// Puts the content into a message, which may lack the member beside calls.
fn put_content(splice: &mut Splice, body: &str, text: &str) -> Option<()> {
    if let Some(span) = raw::pointer(body, CONTENT) {
        splice.replace(span, raw::quote(text));
        return Some(());
    }
    let message = raw::pointer(body, MESSAGE)?;
    let comma = if raw::object(slice(body, message)).ok()?.is_empty() { "" } else { "," };
    splice.insert(message.start + 1, format!(r#""content":{}{comma}"#, raw::quote(text)));
    Some(())
}

fn usage(body: &str) -> Option<&str> {
    let span = raw::get(body, "usage")?;
    body.get(span.start..span.end).filter(|usage| raw::kind(usage) == Some(Kind::Object))
}

/// The content, which is a string or absent; `None` if it is something else.
fn content(body: &str) -> Option<String> {
    let Some(content) = raw::pointer(body, CONTENT).and_then(|span| body.get(span.start..span.end)) else {
        return Some(String::new());
    };
    match raw::kind(content) {
        Some(Kind::Null) => Some(String::new()),
        _ => raw::string(content).map(std::borrow::Cow::into_owned),
    }
}
