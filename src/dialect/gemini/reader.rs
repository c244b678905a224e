//! Reads an answer: the chunks of a stream (server-sent events or elements of an array), or a whole response.
use super::chunk::{Candidate, Chunk, FunctionCall, Part, Tokens};
use super::partial_args::PartialArgs;
use crate::context::answer::Ending;
use crate::context::{Answer, Finish, Usage};
use crate::dialect::AnswerReader;
use crate::dialect::transcript::Transcript;
use crate::dialect::upstream_error::{error_body, error_text};
use crate::json::raw;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The state of one answer. Of several candidates only the first is kept: nothing is continued from more than one.
#[derive(Debug, Default)]
pub(super) struct Reader {
    id: Option<String>,
    transcript: Transcript,
    /// A call whose arguments are still arriving.
    open: Option<OpenCall>,
    /// The last `finishReason`, or the reason why the prompt was blocked.
    reason: Option<String>,
    blocked: bool,
    /// A whole body was read: there is nothing to be cut off.
    whole: bool,
    usage: Usage,
    signed: bool,
    many: bool,
    /// What the server says about an abnormal finish.
    finish_message: Option<String>,
    error: Option<String>,
}

#[derive(Debug, Default)]
struct OpenCall {
    id: String,
    name: String,
    args: PartialArgs,
}

impl AnswerReader for Reader {
    fn event(&mut self, _event: Option<&[u8]>, data: &[u8]) {
        if let Ok(values) = values(data) {
            values.iter().for_each(|value| self.chunk(value.get()));
        }
    }

    fn body(&mut self, body: &[u8]) {
        match values(body) {
            Ok(values) => {
                values.iter().for_each(|value| self.chunk(value.get()));
                if self.reason.is_none() && self.id.is_none() && self.error.is_none() {
                    self.error = Some(error_body(body));
                }
                self.whole = true;
            }
            // Bytes that end too early were cut on the way.
            Err(error) if error.is_eof() => {}
            Err(_) => self.error = Some(error_body(body)),
        }
    }

    /// There is no end marker: the finish reason is the nearest thing, though token counts may follow it.
    fn is_terminal(&self) -> bool {
        self.is_closed() || self.reason.is_some()
    }

    /// There is no end marker: what follows the finish reason still counts.
    fn is_closed(&self) -> bool {
        self.whole || self.error.is_some()
    }

    fn finish(&mut self) -> Answer {
        if let Some(open) = self.open.take() {
            // It never came to its end: its arguments are not to be run.
            self.transcript.call(0, &open.id, &open.name, "");
        }
        let (text, calls) = self.transcript.take();
        let ending = match &self.error {
            Some(_) => Ending::Failed,
            None if self.whole || self.reason.is_some() => Ending::Complete,
            None => Ending::Cut,
        };
        let finish = match ending {
            Ending::Complete if self.blocked => Finish::Refusal,
            Ending::Complete => finish(self.reason.as_deref(), !calls.is_empty()),
            Ending::Cut | Ending::Failed => Finish::Error,
        };
        Answer {
            id: self.id.take(),
            text,
            calls,
            finish,
            native_finish: self.reason.take(),
            ending,
            usage: self.usage,
            signed: self.signed,
            many: self.many,
            loose_ids: true,
            refused: false,
            error: self.error.take().or(self.finish_message.take()),
        }
    }
}

impl Reader {
    fn chunk(&mut self, data: &str) {
        if self.error.is_some() {
            return;
        }
        let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(data) else { return };
        if let Some(error) = chunk.error {
            self.error = Some(error_text(error.get()));
            return;
        }
        if self.id.is_none() {
            self.id = chunk.response_id.map(|id| string(id).into_owned());
        }
        self.tokens(chunk.usage_metadata);
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            self.reason = Some(string(reason).into_owned());
            self.blocked = true;
        }
        let candidates = chunk.candidates.unwrap_or_default();
        self.many |= candidates.len() > 1;
        for candidate in candidates {
            match candidate.index.unwrap_or_default() {
                0 => self.candidate(candidate),
                _ => self.many = true,
            }
        }
    }

    fn candidate(&mut self, candidate: Candidate<'_>) {
        for part in candidate.content.and_then(|content| content.parts).unwrap_or_default() {
            self.part(part);
        }
        if let Some(reason) = candidate.finish_reason.map(string).filter(|reason| !reason.is_empty()) {
            self.reason = Some(reason.into_owned());
            self.finish_message = candidate.finish_message.map(|message| string(message).into_owned());
        }
    }

    fn part(&mut self, part: Part<'_>) {
        self.signed |= part.thought_signature.is_some_and(|signature| !string(signature).is_empty());
        if let Some(call) = part.function_call {
            self.call(call);
        } else if let Some(text) = part.text.filter(|_| part.thought != Some(true)) {
            self.transcript.text(&string(text));
        }
    }

    /// A call comes whole, or in pieces of which only the first has a name.
    fn call(&mut self, call: FunctionCall<'_>) {
        let id = call.id.map(string).unwrap_or_default();
        let name = call.name.map(string).unwrap_or_default();
        let continues = call.will_continue == Some(true);
        if self.open.is_none() && call.partial_args.is_none() && !continues {
            self.transcript.call(0, &id, &name, call.args.map_or("{}", RawValue::get));
            return;
        }
        let mut open = self.open.take().unwrap_or_default();
        if open.name.is_empty() {
            open.id = id.into_owned();
            open.name = name.into_owned();
        }
        call.partial_args.unwrap_or_default().iter().for_each(|piece| open.args.add(piece));
        if continues {
            self.open = Some(open);
        } else {
            self.transcript.call(0, &open.id, &open.name, &open.args.into_json());
        }
    }

    fn tokens(&mut self, usage: Option<&RawValue>) {
        let Some(tokens) = usage.and_then(|usage| serde_json::from_str::<Tokens>(usage.get()).ok()) else { return };
        let prompt = tokens.prompt_token_count.saturating_add(tokens.tool_use_prompt_token_count);
        self.usage = Usage {
            input: prompt.saturating_sub(tokens.cached_content_token_count),
            cached_input: tokens.cached_content_token_count,
            output: tokens.candidates_token_count.saturating_add(tokens.thoughts_token_count),
        };
    }
}

/// The neutral word for a finish reason (`FinishReason` of the Python SDK). What is not known is no natural end.
fn finish(reason: Option<&str>, has_calls: bool) -> Finish {
    match reason {
        Some("STOP") if has_calls => Finish::ToolCalls,
        Some("STOP") => Finish::Stop,
        Some("CONTINUATION") => Finish::Pause,
        Some("MAX_TOKENS") => Finish::Length,
        Some(
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "ESCALATION"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION",
        ) => Finish::Refusal,
        _ => Finish::Error,
    }
}

/// One value, or those of an array: the form without `alt=sse`, and its errors.
fn values(data: &[u8]) -> Result<Vec<&RawValue>, serde_json::Error> {
    match data.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(data),
        _ => serde_json::from_slice(data).map(|value| vec![value]),
    }
}

/// A string's text; nothing for what is no string.
fn string(raw: &RawValue) -> Cow<'_, str> {
    raw::string(raw.get()).unwrap_or_default()
}
