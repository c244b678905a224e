//! Edits of a later leg's chunks, so that they go on with the message that the first leg began.
use super::chunk::{Chunk, is_filled};
use super::joiner::{Leg, Past};
use crate::dialect::object::slice;
use crate::dialect::openai::usage;
use crate::dialect::rewrite::edited;
use crate::dialect::{JoinError, blocks};
use crate::json::{Kind, Span, Splice, raw};

/// What all chunks of a message have in common.
const SHARED: [&str; 4] = ["id", "created", "model", "system_fingerprint"];

/// What stands between the texts of two legs: the client sees one string.
pub(super) const BLANK_LINE: &str = "\n\n";

/// The first leg's values of [`SHARED`], as written. Taken from the first chunk with an id and a choice: Azure begins with
/// one that has neither.
#[derive(Debug, Default)]
pub(super) struct Identity(Vec<(&'static str, String)>);

impl Identity {
    pub(super) fn learn(&mut self, data: &[u8], chunk: &Chunk<'_>) {
        let named = chunk.id.is_some_and(|id| !matches!(id.get(), "null" | "\"\""));
        let chosen = chunk.choices.as_ref().is_some_and(|choices| !choices.is_empty());
        if self.0.is_empty()
            && named
            && chosen
            && let Ok(text) = std::str::from_utf8(data)
        {
            *self = Self::of(text);
        }
    }

    /// Those of a chunk, or of a whole answer.
    pub(super) fn of(text: &str) -> Self {
        let value = |key| Some((key, text.get(raw::get(text, key).map(|s| s.start..s.end)?)?.to_owned()));
        Self(SHARED.into_iter().filter_map(value).collect())
    }

    /// Puts these values in the place of those in `text`.
    pub(super) fn put(&self, splice: &mut Splice, text: &str) {
        for (key, value) in &self.0 {
            match raw::get(text, key) {
                Some(span) if text.get(span.start..span.end) != Some(value) => splice.replace(span, value.clone()),
                _ => {}
            }
        }
    }
}

const DELTA: &str = "/choices/0/delta";
const FINISH: &str = "/choices/0/finish_reason";

/// Whether all that the delta says is who speaks.
pub(super) fn names_only_the_role(text: &str) -> bool {
    let Some(delta) = raw::pointer(text, DELTA).map(|span| slice(text, span)) else { return false };
    let says_more = |field: &raw::Field<'_>| field.key != "role" && is_filled(slice(delta, field.value));
    raw::object(delta).is_ok_and(|fields| !fields.iter().any(says_more))
}

/// The edits of one chunk. It has one choice at most.
///
/// # Errors
/// [`JoinError::Unreadable`] for content that is no string: nothing can be put between two texts then.
pub(super) fn renewed(
    text: &str,
    chunk: &Chunk<'_>,
    identity: &Identity,
    past: &Past,
    leg: &Leg,
) -> Result<Splice, JoinError> {
    let mut splice = Splice::new();
    identity.put(&mut splice, text);
    if let Some(last) = chunk.usage
        && let Some(span) = raw::get(text, "usage")
        && raw::kind(last.get()) == Some(Kind::Object)
    {
        splice.replace(span, usage::summed(last.get(), &past.usage, "completion"));
    }
    // OpenRouter's last chunk, with the costs, has the finish once more (langchain #38349, qwen-code #2402).
    if leg.finished
        && let Some(again) = raw::pointer(text, FINISH)
    {
        splice.replace(again, "null");
    }
    let Some(delta) = raw::pointer(text, DELTA) else { return Ok(splice) };
    leave_out(&mut splice, text, delta);
    if past.text && !leg.said.has_text() {
        blank_line(&mut splice, text)?;
    }
    if past.calls > 0 {
        indexes(&mut splice, text, past.calls);
    }
    Ok(splice)
}

/// Members of a later leg's delta that are wrong in the message: it has its role already, and citations count the
/// characters of their own leg. SDKs would add the second role to the first, letter by letter, and fail at a second list
/// of citations.
const LEFT_OUT: [&str; 2] = ["role", "annotations"];

fn leave_out(splice: &mut Splice, text: &str, delta: Span) {
    let Ok(fields) = raw::object(slice(text, delta)) else { return };
    blocks::remove_members(splice, delta.start, &fields, |key| LEFT_OUT.contains(&key));
}

fn blank_line(splice: &mut Splice, text: &str) -> Result<(), JoinError> {
    let Some(content) = raw::pointer(text, "/choices/0/delta/content") else { return Ok(()) };
    match text.get(content.start..content.end) {
        Some("null" | "\"\"") => Ok(()),
        Some(value) if raw::kind(value) == Some(Kind::String) => {
            splice.insert(content.start + 1, raw::escape(BLANK_LINE));
            Ok(())
        }
        _ => Err(JoinError::Unreadable("content is no string".to_owned())),
    }
}

fn indexes(splice: &mut Splice, text: &str, before: u64) {
    let Some(calls) = raw::pointer(text, "/choices/0/delta/tool_calls") else { return };
    let list = text.get(calls.start..calls.end).unwrap_or_default();
    for call in raw::array(list).unwrap_or_default() {
        let call = call.offset(calls.start);
        let index = text.get(call.start..call.end).and_then(|call| raw::get(call, "index"));
        if let Some(index) = index.map(|span| span.offset(call.start))
            && let Some(Ok(number)) = text.get(index.start..index.end).map(str::parse::<u64>)
        {
            splice.replace(index, number.saturating_add(before).to_string());
        }
    }
}

/// Parts a chunk with text and finish in two: the text without the end, and the end without the text.
///
/// # Errors
/// [`JoinError::Unreadable`] if a key stands twice.
pub(super) fn split(text: &str) -> Result<(String, String), JoinError> {
    let mut head = Splice::new();
    let mut end = Splice::new();
    let null = |splice: &mut Splice, pointer: &str| {
        if let Some(span) = raw::pointer(text, pointer) {
            splice.replace(span, "null");
        }
    };
    null(&mut head, FINISH);
    null(&mut head, "/usage");
    null(&mut end, "/choices/0/logprobs");
    if let Some(delta) = raw::pointer(text, DELTA) {
        end.replace(delta, "{}");
    }
    let edited = |splice| edited(text, splice).map_err(JoinError::unreadable);
    Ok((edited(head)?, edited(end)?))
}
