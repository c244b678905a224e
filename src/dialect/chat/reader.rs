//! Reads an answer: chunks of a stream, or a whole `chat.completion`.
use super::chunk::{self, Choice, Chunk};
use super::element;
use super::said::Said;
use crate::context::answer::{Answer, Call, Ending};
use crate::context::{Finish, Usage};
use crate::dialect::AnswerReader;
use crate::dialect::openai::answer::{unseen, usage};
use crate::dialect::openai::element::ToolCall;
use crate::dialect::openai::error;
use crate::json::raw;

/// The reader. Of several choices it reads the first.
#[derive(Debug, Default)]
pub(super) struct Reader {
    id: Option<String>,
    said: Said,
    /// Text, calls and refusal of an answer that is no stream.
    text: String,
    calls: Vec<Call>,
    refused: bool,
    reason: Option<String>,
    usage: Usage,
    many: bool,
    done: bool,
    error: Option<String>,
}

impl AnswerReader for Reader {
    fn event(&mut self, _event: Option<&[u8]>, data: &[u8]) {
        if chunk::is_done(data) {
            self.done = true;
        } else if let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) {
            self.chunk(chunk);
        }
    }

    fn body(&mut self, body: &[u8]) {
        match serde_json::from_slice::<Chunk<'_>>(body) {
            Ok(chunk) => {
                let answered = chunk.choices.as_ref().is_some_and(|c| !c.is_empty());
                self.chunk(chunk);
                if !answered && self.error.is_none() {
                    self.error = Some("no choices".to_owned());
                }
                self.done = true;
            }
            // Half a body is a cut answer; anything else that is not JSON is somebody's error page.
            Err(error) if error.is_eof() => {}
            Err(_) => self.error = Some("not JSON".to_owned()),
        }
    }

    fn is_terminal(&self) -> bool {
        // Each of several choices has its own finish_reason: there only the marker tells.
        self.is_closed() || (self.reason.is_some() && !self.many)
    }

    /// The chunk with the token counts comes between the finish and the marker.
    fn is_closed(&self) -> bool {
        self.done || self.error.is_some()
    }

    fn finish(&mut self) -> Answer {
        let mut calls = std::mem::take(&mut self.calls);
        let said = std::mem::take(&mut self.said);
        let refused = self.refused || said.is_refusal();
        let mut text = std::mem::take(&mut self.text);
        calls.extend(said.close(&mut text));
        let ending = match (&self.error, &self.reason) {
            (Some(_), _) => Ending::Failed,
            (None, Some(_)) => Ending::Complete,
            (None, None) if self.done => Ending::Complete,
            (None, None) => Ending::Cut,
        };
        let finish = match (&self.reason, ending) {
            (Some(reason), Ending::Complete) => finish(reason, !calls.is_empty()),
            _ => Finish::Error,
        };
        Answer {
            id: self.id.take(),
            text,
            calls,
            finish,
            native_finish: self.reason.take(),
            ending,
            usage: self.usage,
            many: self.many,
            refused,
            error: self.error.take(),
            ..unseen()
        }
    }
}

/// What a `finish_reason` means. Compatible servers say `stop` also when they call tools.
fn finish(reason: &str, calls: bool) -> Finish {
    match reason {
        "stop" if calls => Finish::ToolCalls,
        "stop" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" => Finish::Length,
        "content_filter" => Finish::Refusal,
        _ => Finish::Error,
    }
}

impl Reader {
    fn chunk(&mut self, chunk: Chunk<'_>) {
        if let Some(error) = chunk.error {
            self.error.get_or_insert_with(|| error::text(error.get()));
        }
        if self.id.is_none() {
            self.id = chunk.id.and_then(|id| raw::string(id.get())).filter(|id| !id.is_empty()).map(Into::into);
        }
        if let Some(usage) = chunk.usage.and_then(|u| usage(u.get(), "prompt", "completion")) {
            self.usage = usage;
        }
        for choice in chunk.choices.into_iter().flatten() {
            self.choice(choice);
        }
    }

    fn choice(&mut self, choice: Choice<'_>) {
        if choice.index != 0 {
            self.many = true;
            return;
        }
        if let Some(delta) = choice.delta {
            self.said.add(&delta);
        }
        if let Some(message) = choice.message {
            self.message(message.get());
        }
        if let Some(reason) = choice.finish_reason.and_then(|r| raw::string(r.get())).filter(|r| !r.is_empty()) {
            self.reason = Some(reason.into_owned());
        }
    }

    fn message(&mut self, message: &str) {
        match element::read(message) {
            Ok(element) => {
                self.text = element.text();
                self.refused = element.refused;
                self.calls = element.calls.iter().map(ToolCall::call).collect();
            }
            Err(error) => self.error = Some(error.to_string()),
        }
    }
}
