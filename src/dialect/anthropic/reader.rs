//! Reads an answer: the events of a stream, or a whole message.
use super::events::{Event, Message, Piece, Tokens, string};
use crate::context::answer::Ending;
use crate::context::{Answer, Finish, Usage};
use crate::dialect::AnswerReader;
use crate::dialect::transcript::Transcript;
use crate::dialect::upstream_error::{error_body, error_text};
use crate::json::raw;
use serde::de::IgnoredAny;

/// The state of one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    id: Option<String>,
    transcript: Transcript,
    stop_reason: Option<String>,
    usage: Usage,
    signed: bool,
    error: Option<String>,
    /// `message_stop`, a whole body, or an error: nothing that follows counts.
    closed: bool,
}

impl AnswerReader for Reader {
    fn event(&mut self, event: Option<&[u8]>, data: &[u8]) {
        if self.closed {
            return;
        }
        let Some(parsed) = str::from_utf8(data).ok().and_then(|text| Event::parse(text).ok()) else {
            if event == Some(b"error") {
                self.fail(error_body(data));
            }
            return;
        };
        let kind = parsed.kind.map(string).unwrap_or_default();
        match kind.as_ref() {
            "content_block_delta" => self.delta(&parsed),
            "content_block_start" => self.block(parsed.index.unwrap_or_default(), parsed.content_block),
            "message_start" => self.start(parsed.message),
            "message_delta" => self.message_delta(&parsed),
            "message_stop" => self.closed = true,
            "error" => self.fail(parsed.error.map_or_else(|| error_body(data), error_text)),
            // A frame whose data has no type of its own goes by the event's name, as the SDKs do.
            "" if event == Some(b"error") => self.fail(error_body(data)),
            _ => {}
        }
    }

    fn body(&mut self, body: &[u8]) {
        match str::from_utf8(body).ok().and_then(|text| Message::parse(text).ok()) {
            Some(message) if message.error.is_none() && message.kind.is_some_and(|kind| string(kind) == "message") => {
                self.head(&message);
                let content = message.content.unwrap_or_default();
                for (index, block) in raw::array(content).unwrap_or_default().into_iter().enumerate() {
                    self.block(index as u64, content.get(block.start..block.end));
                }
                self.closed = true;
            }
            None if is_cut(body) => {}
            _ => self.fail(error_body(body)),
        }
    }

    fn is_terminal(&self) -> bool {
        self.closed
    }

    fn finish(&mut self) -> Answer {
        let (text, calls) = self.transcript.take();
        let ending = match (&self.error, self.closed, &self.stop_reason) {
            (Some(_), ..) => Ending::Failed,
            // The stop reason comes in the last but one event: a stream that ends behind it has told everything.
            (None, true, _) | (None, false, Some(_)) => Ending::Complete,
            (None, false, None) => Ending::Cut,
        };
        let finish = match ending {
            Ending::Complete => finish(self.stop_reason.as_deref(), !calls.is_empty()),
            Ending::Cut | Ending::Failed => Finish::Error,
        };
        Answer {
            id: self.id.take(),
            text,
            calls,
            finish,
            native_finish: self.stop_reason.take(),
            ending,
            usage: self.usage,
            signed: self.signed,
            many: false,
            loose_ids: false,
            refused: false,
            error: self.error.take(),
        }
    }
}

impl Reader {
    fn start(&mut self, message: Option<&str>) {
        if let Some(message) = message.and_then(|raw| Message::parse(raw).ok()) {
            self.head(&message);
        }
    }

    fn head(&mut self, message: &Message<'_>) {
        if self.id.is_none() {
            self.id = message.id.map(|id| string(id).into_owned());
        }
        self.stop(message.stop_reason);
        self.tokens(message.usage);
    }

    fn block(&mut self, index: u64, block: Option<&str>) {
        let Some(block) = block.and_then(piece) else { return };
        match block.kind.map(string).unwrap_or_default().as_ref() {
            "text" => self.text(block.text),
            "tool_use" => {
                let id = block.id.map(string).unwrap_or_default();
                let name = block.name.map(string).unwrap_or_default();
                self.transcript.call(index, &id, &name, block.input.unwrap_or("{}"));
            }
            "thinking" => self.sign(block.signature),
            "redacted_thinking" => self.signed = true,
            _ => {}
        }
    }

    fn delta(&mut self, event: &Event<'_>) {
        let Some(delta) = event.delta.and_then(piece) else { return };
        match delta.kind.map(string).unwrap_or_default().as_ref() {
            "text_delta" => self.text(delta.text),
            "input_json_delta" => {
                if let Some(json) = delta.partial_json {
                    self.transcript.input(event.index.unwrap_or_default(), &string(json));
                }
            }
            "signature_delta" => self.sign(delta.signature),
            _ => {}
        }
    }

    fn message_delta(&mut self, event: &Event<'_>) {
        self.stop(event.delta.and_then(piece).and_then(|delta| delta.stop_reason));
        self.tokens(event.usage);
    }

    fn text(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.transcript.text(&string(text));
        }
    }

    fn sign(&mut self, signature: Option<&str>) {
        self.signed |= signature.is_some_and(|signature| !string(signature).is_empty());
    }

    fn stop(&mut self, reason: Option<&str>) {
        if let Some(reason) = reason.map(string).filter(|reason| !reason.is_empty()) {
            self.stop_reason = Some(reason.into_owned());
        }
    }

    fn tokens(&mut self, usage: Option<&str>) {
        let Some(tokens) = usage.and_then(|usage| Tokens::parse(usage).ok()) else { return };
        let usage = &mut self.usage;
        usage.input = tokens.input.unwrap_or(usage.input);
        usage.cached_input = tokens.cached_input.unwrap_or(usage.cached_input);
        usage.output = tokens.output.unwrap_or(usage.output);
    }

    fn fail(&mut self, error: String) {
        self.error = Some(error);
        self.closed = true;
    }
}

/// The neutral word for a stop reason (`types/stop_reason.py` of the Python SDK, and the beta's `compaction`). The list is open.
fn finish(stop_reason: Option<&str>, has_calls: bool) -> Finish {
    match stop_reason {
        // Clients run a call that is there, whatever a lax server says about the end.
        Some("end_turn" | "stop_sequence") if has_calls => Finish::ToolCalls,
        Some("end_turn" | "stop_sequence") => Finish::Stop,
        Some("tool_use") => Finish::ToolCalls,
        Some("pause_turn" | "compaction") => Finish::Pause,
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("refusal") => Finish::Refusal,
        _ => Finish::Error,
    }
}

/// Whether these bytes are JSON that ends too early: cut on the way.
fn is_cut(body: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(body).is_err_and(|error| error.is_eof())
}

fn piece(raw: &str) -> Option<Piece<'_>> {
    Piece::parse(raw).ok()
}
