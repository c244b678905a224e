//! The lines of a transcript.
use super::super::moment::{Moment, ids, uuid};
use crate::config::claude_code::ClaudeEvent;
use crate::context::{Call, Usage};
use crate::hooks::contract::Event;
use memchr::memmem;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Longest text of a line, in bytes: a tool's result of megabytes would push everything else out of the file.
const MAX_TEXT: usize = 256 * 1024;

/// One line, but for the id of the line before it.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Its id: the same whenever the same message is told again.
    pub(super) id: String,
    members: Map<String, Value>,
}

/// What `moment` tells, in the order in which it was said.
pub(super) fn of(moment: &Moment<'_>, cwd: &Path) -> Vec<Line> {
    let event = moment.of;
    let writer = Writer { event, cwd };
    let mut lines = Vec::new();
    if !moment.is_in_turn() {
        return lines;
    }
    if let Some(prompt) = &event.prompt {
        lines.push(writer.user(&["prompt", &event.session.turn.to_string()], clip(&prompt.text).into()));
    }
    if let Some(tool) = &event.tool {
        // Where a dialect has no ids, the event's is as good.
        let id = if tool.id.is_empty() { &event.event_id } else { &tool.id };
        lines.push(writer.call(id, &tool.name, &tool.input));
        if let Some(result) = &tool.result {
            lines.push(writer.result(id, result, tool.is_error));
        }
    }
    // Without an id a call can't be told from the one that its own event told.
    for tool in event.batch.iter().flat_map(|batch| batch.iter()).filter(|tool| !tool.id.is_empty()) {
        lines.push(writer.call(&tool.id, &tool.name, &tool.input));
        lines.push(writer.result(&tool.id, tool.result.as_deref().unwrap_or_default(), tool.is_error));
    }
    if let Some(turn) = &event.turn {
        let attempt = turn.attempt.to_string();
        let before = turn.text.get(..turn.last_from).unwrap_or_default();
        if turn.attempt == 1 && !before.trim().is_empty() {
            lines.push(writer.assistant(&["before", &turn.id], None, text_block(before), None));
        }
        lines.extend(turn.tool_calls.iter().map(|Call { id, name, input }| writer.call(id, name, input)));
        if !turn.last_text().trim().is_empty() && moment.event != ClaudeEvent::StopFailure {
            let block = text_block(turn.last_text());
            lines.push(writer.assistant(
                &["answer", &turn.id, &attempt],
                turn.message_id.as_deref(),
                block,
                Some(turn.usage),
            ));
        }
    }
    lines
}

/// The history of the request, where the event has it, without the prompt that it ends with.
pub(super) fn history(moment: &Moment<'_>, cwd: &Path) -> Vec<Line> {
    let writer = Writer { event: moment.of, cwd };
    let Some(request) = &moment.of.request else { return Vec::new() };
    let mut messages = request.messages.as_slice();
    while let Some((last, earlier)) = messages.split_last()
        && last.role == "user"
        && last.tool_results.is_empty()
    {
        messages = earlier;
    }
    let mut lines = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let id = ["history", &index.to_string()];
        lines
            .extend(message.tool_results.iter().map(|result| writer.result(&result.id, &result.text, result.is_error)));
        match message.role {
            _ if message.text.trim().is_empty() => {}
            "assistant" => lines.push(writer.assistant(&id, None, text_block(&message.text), None)),
            "user" => lines.push(writer.user(&id, clip(&message.text).into())),
            _ => {}
        }
        lines.extend(message.tool_calls.iter().map(|Call { id, name, input }| writer.call(id, name, input)));
    }
    lines
}

struct Writer<'a> {
    event: &'a Event,
    cwd: &'a Path,
}

impl Writer<'_> {
    fn line(&self, id: &[&str], kind: &str, message: Value) -> Line {
        let (session, agent) = ids(self.event);
        let mut members = Map::new();
        members.insert("isSidechain".into(), agent.is_some().into());
        if let Some(agent) = agent {
            members.insert("agentId".into(), agent.into());
        }
        members.insert("userType".into(), "external".into());
        members.insert("cwd".into(), self.cwd.to_string_lossy().into());
        members.insert("sessionId".into(), session.into());
        members.insert("version".into(), env!("CARGO_PKG_VERSION").into());
        members.insert("type".into(), kind.into());
        members.insert("message".into(), message);
        members.insert("timestamp".into(), jiff::Timestamp::now().to_string().into());
        Line { id: uuid(self.event, id), members }
    }

    fn user(&self, id: &[&str], content: Value) -> Line {
        self.line(id, "user", json!({"role": "user", "content": content}))
    }

    fn result(&self, call: &str, text: &str, is_error: bool) -> Line {
        let mut block = json!({"type": "tool_result", "tool_use_id": call, "content": clip(text)});
        if is_error {
            block["is_error"] = true.into();
        }
        self.user(&["result", call], json!([block]))
    }

    fn call(&self, id: &str, name: &str, input: &RawValue) -> Line {
        let input: Value = serde_json::from_str(input.get()).unwrap_or_default();
        let input = if input.is_null() { json!({}) } else { input };
        self.assistant(
            &["call", id, name],
            None,
            json!({"type": "tool_use", "id": id, "name": name, "input": input}),
            None,
        )
    }

    fn assistant(&self, id: &[&str], message: Option<&str>, block: Value, usage: Option<Usage>) -> Line {
        let mut said = json!({
            "id": message,
            "type": "message",
            "role": "assistant",
            "model": self.event.model.resolved,
            "content": [block],
            "stop_reason": null,
            "stop_sequence": null,
        });
        if let Some(usage) = usage {
            said["usage"] = json!({
                "input_tokens": usage.input,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": usage.cached_input,
                "output_tokens": usage.output,
            });
        }
        self.line(id, "assistant", said)
    }
}

/// What every line begins with, so that it can be found without parsing.
const BEGIN: &str = "{\"uuid\":\"";

impl Line {
    /// Whether a file has it.
    pub(super) fn is_in(&self, file: &[u8]) -> bool {
        memmem::find(file, format!("{BEGIN}{}\"", self.id).as_bytes()).is_some()
    }

    /// Writes it behind the line with the id `parent`.
    pub(super) fn write(&self, parent: Option<&str>, to: &mut Vec<u8>) {
        let mut line = Map::new();
        line.insert("uuid".into(), self.id.as_str().into());
        line.insert("parentUuid".into(), parent.into());
        line.extend(self.members.iter().map(|(name, value)| (name.clone(), value.clone())));
        to.extend(Value::from(line).to_string().into_bytes());
        to.push(b'\n');
    }
}

/// The id of a file's last line.
pub(super) fn last_id(file: &[u8]) -> Option<String> {
    let file = file.trim_ascii_end();
    let last = file.rsplit(|b| *b == b'\n').next()?;
    let rest = last.strip_prefix(BEGIN.as_bytes())?;
    let id = rest.split(|b| *b == b'"').next()?;
    Some(String::from_utf8_lossy(id).into_owned())
}

/// The newest whole lines of a file, at most `limit` bytes and at least one line.
pub(super) fn newest(file: Vec<u8>, limit: usize) -> Vec<u8> {
    let cut = file.len().saturating_sub(limit);
    let whole = |at: usize| at + 1 < file.len();
    match memchr::memchr(b'\n', file.get(cut.saturating_sub(1)..).unwrap_or_default()) {
        Some(at) if cut > 0 && whole(cut - 1 + at) => file.get(cut + at..).unwrap_or_default().to_vec(),
        _ if cut == 0 => file,
        _ => {
            let body = file.trim_ascii_end();
            let last = memchr::memrchr(b'\n', body).map_or(0, |at| at + 1);
            file.get(last..).unwrap_or_default().to_vec()
        }
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": clip(text)})
}

fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT)]
}
