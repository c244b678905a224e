//! What a hook wrote, read as an [`Outcome`] (README, What a hook gets and says).
use super::HookFailure;
use super::contract::{Outcome, Sending};
use crate::config::EventKind;
use crate::context::Edit;
use crate::knowledge::Draft;
use serde::Deserialize as _;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// How many unknown fields a warning names; a hook that prints some other JSON would fill the log.
const NAMED_FIELDS: usize = 8;

/// How much of each unknown field's name a warning shows, in bytes.
const NAMED_FIELD_BYTES: usize = 40;

/// Scripts written on Windows begin their output with it; it is no text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The reason when a hook blocks and gives none. Going on instead would turn a policy's "no" into a "yes".
const NO_REASON: &str = "A policy refused this prompt.";

/// The same for a tool call.
const NO_CALL_REASON: &str = "A policy refused this tool call.";

/// An outcome, and what was wrong with the answer but not wrong enough to fail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    /// What counts.
    pub outcome: Outcome,
    /// For the operator's log.
    pub warnings: Vec<String>,
}

impl Outcome {
    /// Reads what a hook wrote: a JSON object when its first non-blank character is `{`, else plain context text on
    /// the events that take it. Blank output is an empty outcome. Each text is at most `text_limit` bytes; a longer one
    /// is cut with a warning.
    ///
    /// # Errors
    /// [`HookFailure::InvalidJson`] and [`HookFailure::WrongType`].
    pub fn parse(kind: EventKind, written: &[u8], text_limit: usize) -> Result<Parsed, HookFailure> {
        let mut reader = Reader { kind, text_limit, parsed: Parsed::default() };
        let text = String::from_utf8_lossy(written);
        if matches!(text, Cow::Owned(_)) {
            reader.warn("the output is not UTF-8; the bad bytes were replaced".into());
        }
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
        if text.trim_start().starts_with('{') {
            reader.object(text)?;
        } else {
            reader.plain(text);
        }
        Ok(reader.parsed)
    }

    /// A text as it stands, whatever it begins with: what `text` and `file` hooks give.
    #[must_use]
    pub fn plain(kind: EventKind, text: &str, text_limit: usize) -> Parsed {
        let mut reader = Reader { kind, text_limit, parsed: Parsed::default() };
        reader.plain(text);
        reader.parsed
    }
}

struct Reader {
    kind: EventKind,
    text_limit: usize,
    parsed: Parsed,
}

impl Reader {
    fn warn(&mut self, text: String) {
        self.parsed.warnings.push(text);
    }

    fn plain(&mut self, text: &str) {
        if matches!(self.kind, EventKind::SessionStart | EventKind::PromptSubmit | EventKind::ToolResult) {
            // The line ends at the end belong to `echo` and to the editor, as in a shell's `$(...)`.
            self.push_context(text.trim_end_matches(['\n', '\r']));
        } else if !text.trim().is_empty() {
            tracing::debug!(event = self.kind.name(), bytes = text.len(), "plain output is no context on this event");
        }
    }

    fn object(&mut self, text: &str) -> Result<(), HookFailure> {
        let answer: Map<String, Value> =
            serde_json::from_str(text).map_err(|e| HookFailure::InvalidJson(e.to_string()))?;
        let mut unknown = Vec::new();
        let (mut asks, mut message) = (None, None);
        // `null` is an absent field: serializers write it for one that is not set.
        for (field, value) in answer.iter().filter(|(_, value)| !value.is_null()) {
            match field.as_str() {
                "context" => self.context(value)?,
                "clear_context" => self.clear_context(value)?,
                "block" => self.block(value)?,
                "respond" => self.respond(value)?,
                "continue" => asks = self.flag("continue", value)?,
                "message" => message = self.message(value)?,
                "veto" => self.parsed.outcome.veto = self.flag("veto", value)?.unwrap_or_default(),
                "edits" => self.edits(value)?,
                "tool" => self.tool(value)?,
                "propose" => self.propose(value)?,
                "send" => self.send(value)?,
                // Which event a worker answers: its runner's business.
                "event_id" => {}
                _ => unknown.push(field.as_str()),
            }
        }
        self.unknown_fields(&unknown);
        self.continuation(asks, message);
        Ok(())
    }

    fn context(&mut self, value: &Value) -> Result<(), HookFailure> {
        let wrong = || HookFailure::WrongType { field: "context", expected: "a text or an array of texts" };
        match value {
            Value::String(text) => self.push_context(text),
            Value::Array(texts) => {
                for text in texts {
                    self.push_context(text.as_str().ok_or_else(wrong)?);
                }
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn clear_context(&mut self, value: &Value) -> Result<(), HookFailure> {
        let clear =
            value.as_bool().ok_or(HookFailure::WrongType { field: "clear_context", expected: "true or false" })?;
        match self.kind {
            // A prompt's context is ephemeral; it has no slot that could be emptied. An end that is not decided has no say.
            EventKind::PromptSubmit
            | EventKind::ModelContext
            | EventKind::ToolResult
            | EventKind::ToolCall
            | EventKind::SessionStopping
                if clear =>
            {
                self.ignored("clear_context")
            }
            _ => self.parsed.outcome.clear_context = clear,
        }
        Ok(())
    }

    fn block(&mut self, value: &Value) -> Result<(), HookFailure> {
        let reason = self.member(value, "reason", ("block", "block.reason"))?;
        if !matches!(self.kind, EventKind::PromptSubmit | EventKind::ModelContext) {
            self.ignored("block");
            return Ok(());
        }
        if reason.is_none() {
            self.warn("`block` has no reason".into());
        }
        let reason = reason.unwrap_or(NO_REASON);
        self.parsed.outcome.block = Some(self.cut(reason));
        Ok(())
    }

    fn respond(&mut self, value: &Value) -> Result<(), HookFailure> {
        let text = self.member(value, "text", ("respond", "respond.text"))?;
        match text {
            _ if !matches!(self.kind, EventKind::PromptSubmit | EventKind::ModelContext) => self.ignored("respond"),
            None => self.warn("`respond` has no text and is ignored".into()),
            Some(text) => self.parsed.outcome.respond = Some(self.cut(text)),
        }
        Ok(())
    }

    /// A field that only `session.stopping` knows; `None` on the other events.
    fn flag(&mut self, field: &'static str, value: &Value) -> Result<Option<bool>, HookFailure> {
        let flag = value.as_bool().ok_or(HookFailure::WrongType { field, expected: "true or false" })?;
        Ok(self.on_stopping(field).then_some(flag))
    }

    fn message<'v>(&mut self, value: &'v Value) -> Result<Option<&'v str>, HookFailure> {
        let text = value.as_str().ok_or(HookFailure::WrongType { field: "message", expected: "a text" })?;
        Ok(self.on_stopping("message").then_some(text))
    }

    fn on_stopping(&mut self, field: &str) -> bool {
        let known = self.kind == EventKind::SessionStopping;
        if !known {
            self.ignored(field);
        }
        known
    }

    /// The model can't go on without being told something: an empty message is no legal one in any dialect.
    fn continuation(&mut self, asks: Option<bool>, message: Option<&str>) {
        match (asks, message.filter(|text| !text.trim().is_empty())) {
            (Some(true), Some(text)) => self.parsed.outcome.continue_with = Some(self.cut(text)),
            (Some(true), None) => self.warn("`continue` has no message; nothing continues".into()),
            (None, Some(_)) => self.warn("`message` has no effect without `continue: true`".into()),
            _ => {}
        }
    }

    fn edits(&mut self, value: &Value) -> Result<(), HookFailure> {
        let edits = value.as_array().ok_or(HookFailure::WrongType { field: "edits", expected: "an array of edits" })?;
        if !matches!(self.kind, EventKind::ModelContext | EventKind::SessionStart | EventKind::PromptSubmit) {
            self.ignored("edits");
            return Ok(());
        }
        let read = |(index, edit): (usize, &Value)| {
            Edit::deserialize(edit).map_err(|error| HookFailure::Edit { index, reason: error.to_string() })
        };
        self.parsed.outcome.edits = edits.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// A proposal that can't be read is left out: the others are no worse for it.
    fn propose(&mut self, value: &Value) -> Result<(), HookFailure> {
        let wrong = HookFailure::WrongType { field: "propose", expected: "an array of proposals" };
        for (index, proposal) in value.as_array().ok_or(wrong)?.iter().enumerate() {
            match Draft::deserialize(proposal) {
                Ok(draft) => self.parsed.outcome.propose.push(draft),
                Err(error) => self.warn(format!("`propose[{index}]` was left out: {error}")),
            }
        }
        Ok(())
    }

    /// A message that can't be read is left out: the others are no worse for it.
    fn send(&mut self, value: &Value) -> Result<(), HookFailure> {
        let wrong = HookFailure::WrongType { field: "send", expected: "an array of messages" };
        for (index, message) in value.as_array().ok_or(wrong)?.iter().enumerate() {
            match Sending::deserialize(message) {
                Ok(message) => self.parsed.outcome.send.push(message),
                Err(error) => self.warn(format!("`send[{index}]` was left out: {error}")),
            }
        }
        Ok(())
    }

    fn tool(&mut self, value: &Value) -> Result<(), HookFailure> {
        let wrong = |field, expected| HookFailure::WrongType { field, expected };
        let members = value.as_object().ok_or_else(|| wrong("tool", "an object"))?;
        let mut unknown = Vec::new();
        for (field, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            match field.as_str() {
                "deny" => self.deny(value.as_str().ok_or_else(|| wrong("tool.deny", "a text"))?),
                "input" if value.is_object() || value.is_string() => self.tool_input(value),
                "input" => return Err(wrong("tool.input", "an object, or the text of a free-form tool")),
                "result" => self.tool_result(value.as_str().ok_or_else(|| wrong("tool.result", "a text"))?),
                _ => unknown.push(field.as_str()),
            }
        }
        self.unknown_fields(&unknown);
        Ok(())
    }

    fn deny(&mut self, reason: &str) {
        if self.kind != EventKind::ToolCall {
            return self.ignored("tool.deny");
        }
        if reason.trim().is_empty() {
            self.warn("`tool.deny` has no reason".into());
        }
        let reason = if reason.trim().is_empty() { NO_CALL_REASON } else { reason };
        self.parsed.outcome.tool.deny = Some(self.cut(reason));
    }

    fn tool_input(&mut self, input: &Value) {
        match self.kind {
            EventKind::ToolCall => self.parsed.outcome.tool.input = Some(input.clone()),
            _ => self.ignored("tool.input"),
        }
    }

    fn tool_result(&mut self, text: &str) {
        match self.kind {
            EventKind::ToolResult => self.parsed.outcome.tool.result = Some(self.cut(text)),
            _ => self.ignored("tool.result"),
        }
    }

    /// The one text member of an object; `None` when it is absent or blank. `paths`: of the object and of the member.
    fn member<'v>(
        &mut self,
        value: &'v Value,
        name: &str,
        paths: (&'static str, &'static str),
    ) -> Result<Option<&'v str>, HookFailure> {
        let (object, member) = paths;
        let members = value.as_object().ok_or(HookFailure::WrongType { field: object, expected: "an object" })?;
        let unknown: Vec<&str> = members.keys().map(String::as_str).filter(|key| *key != name).collect();
        self.unknown_fields(&unknown);
        match members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.trim().is_empty())),
            Some(_) => Err(HookFailure::WrongType { field: member, expected: "a text" }),
        }
    }

    fn push_context(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        // What a stopping hook has to say to the model is its message; slots are for when the turn is over.
        // What stands in every request is an edit.
        if matches!(self.kind, EventKind::SessionStopping | EventKind::ModelContext | EventKind::ToolCall) {
            return self.ignored("context");
        }
        let text = self.cut(text);
        self.parsed.outcome.context.push(text);
    }

    fn cut(&mut self, text: &str) -> String {
        let end = text.floor_char_boundary(self.text_limit);
        if end < text.len() {
            self.warn(format!("a text of {} bytes was cut at the limit of {}", text.len(), self.text_limit));
        }
        text[..end].to_owned()
    }

    /// Said once, however many texts the field has.
    fn ignored(&mut self, field: &str) {
        let warning = format!("`{field}` has no effect on {}", self.kind.name());
        if !self.parsed.warnings.contains(&warning) {
            self.warn(warning);
        }
    }

    fn unknown_fields(&mut self, names: &[&str]) {
        if names.is_empty() {
            return;
        }
        let named: Vec<String> = names
            .iter()
            .take(NAMED_FIELDS)
            .map(|name| format!("{:?}", &name[..name.floor_char_boundary(NAMED_FIELD_BYTES)]))
            .collect();
        let more = names.len() - named.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        self.warn(format!("unknown fields: {}{more}", named.join(", ")));
    }
}

#[cfg(test)]
mod tests;
