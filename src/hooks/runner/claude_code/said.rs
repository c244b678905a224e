//! What one handler said, by Claude Code's rules for exit codes and output.
//!
//! Output that begins with `{` is JSON and is read whatever the exit code; all else is text, which is context on
//! `SessionStart` and `UserPromptSubmit` only. Exit code 2 refuses, and no JSON undoes that; of the others JSON decides
//! where there is any. A handler that failed says nothing.
use crate::config::claude_code::ClaudeEvent;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Most that counts of one text, in characters: Claude Code's own cap.
pub(super) const MAX_TEXT_CHARS: usize = 10_000;

/// The exit code that refuses.
const REFUSES: i32 = 2;

/// Scripts written on Windows begin their output with it; it is no text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// How much of a line of stderr the log gets, in characters.
const LOGGED_CHARS: usize = 200;

/// The reason when none is given.
const NO_REASON: &str = "A hook refused this and gave no reason.";

/// What a handler said, all of it still to be put together with what the others said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Said {
    /// Refuses: the prompt, the next step, the end of the turn; with this reason.
    pub(super) block: Option<String>,
    /// All is to stop, with this reason.
    pub(super) halt: Option<String>,
    /// For the model.
    pub(super) context: Vec<String>,
    /// Whether the call may be made, and why.
    pub(super) permission: Option<(Permission, Option<String>)>,
    /// Other arguments of the call.
    pub(super) input: Option<Map<String, Value>>,
    /// Another result of the call.
    pub(super) result: Option<String>,
    /// Another result, of an MCP tool only.
    pub(super) mcp_result: Option<String>,
    /// For the operator.
    pub(super) notes: Vec<String>,
}

/// Whether a call may be made; the stricter one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Permission {
    /// Yes.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It waits.
    Defer,
    /// No.
    Deny,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    r#continue: Option<bool>,
    stop_reason: Option<String>,
    #[serde(rename = "suppressOutput")]
    _suppress_output: Option<bool>,
    system_message: Option<String>,
    decision: Option<Decision>,
    reason: Option<String>,
    hook_specific_output: Option<Box<RawValue>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Approve,
    Block,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Specific {
    hook_event_name: String,
    additional_context: Option<String>,
    permission_decision: Option<Permission>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Map<String, Value>>,
    updated_tool_output: Option<Value>,
    #[serde(rename = "updatedMCPToolOutput")]
    updated_mcp_tool_output: Option<Value>,
    initial_user_message: Option<Value>,
    session_title: Option<Value>,
    watch_paths: Option<Value>,
    reload_skills: Option<Value>,
}

impl Said {
    /// What a process said that ended with `code`.
    ///
    /// # Errors
    /// Why it counts as failed, for the log; it says nothing then.
    pub(super) fn read(event: ClaudeEvent, code: i32, stdout: &[u8], stderr: &[u8]) -> Result<Self, String> {
        let stdout = String::from_utf8_lossy(stdout);
        let text = stdout.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&stdout).trim_start();
        let failed = |why: &str| format!("exit status {code}{}{why}", if why.is_empty() { "" } else { ": " });
        if !counts(event) {
            return if code == 0 { Ok(Self::default()) } else { Err(failed(&first_line(stderr))) };
        }
        let json = text.starts_with('{').then(|| Self::of_json(event, text));
        match (code, json) {
            (REFUSES, json) => {
                let mut said = json.and_then(Result::ok).unwrap_or_default();
                said.refuse(event, String::from_utf8_lossy(stderr).trim());
                Ok(said)
            }
            (_, Some(Ok(said))) => Ok(said),
            (0, Some(Err(why))) => Err(why),
            (0, None) => Ok(Self::plain(event, text)),
            (_, Some(Err(why))) => Err(failed(&why)),
            (_, None) => Err(failed(&first_line(stderr))),
        }
    }

    /// What an http handler answered with a 2xx status.
    ///
    /// # Errors
    /// As [`Said::read`]; a text is no answer.
    pub(super) fn of_body(event: ClaudeEvent, body: &[u8]) -> Result<Self, String> {
        let body = body.trim_ascii();
        match body.first() {
            None => Ok(Self::default()),
            Some(b'{') => Self::read(event, 0, body, b""),
            Some(_) => Err("the answer is not a JSON object".to_owned()),
        }
    }

    fn plain(event: ClaudeEvent, text: &str) -> Self {
        let text = text.trim_end();
        let is_context = matches!(event, ClaudeEvent::SessionStart | ClaudeEvent::UserPromptSubmit);
        let mut said = Self::default();
        if is_context {
            said.tell(text);
        }
        said
    }

    fn of_json(event: ClaudeEvent, text: &str) -> Result<Self, String> {
        // The parser's own words would quote the output.
        let place = |error: &serde_json::Error| format!("line {} column {}", error.line(), error.column());
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
            return Err(format!("its JSON is broken at {}", place(&error)));
        }
        let written: Written =
            serde_json::from_str(text).map_err(|error| format!("its JSON is no answer, at {}", place(&error)))?;
        let specific = written.hook_specific_output.as_deref().map(|raw| {
            let specific: Specific = serde_json::from_str(raw.get())
                .map_err(|error| format!("its hookSpecificOutput is none, at {} of it", place(&error)))?;
            if specific.hook_event_name == event.name() {
                Ok(specific)
            } else {
                Err(format!("its hookEventName is not {}", event.name()))
            }
        });
        let specific = specific.transpose()?;
        let mut said = Self::default();
        said.common(event, written);
        if let Some(specific) = specific {
            said.specific(event, specific);
        }
        Ok(said)
    }

    fn common(&mut self, event: ClaudeEvent, written: Written) {
        if written.r#continue == Some(false) {
            let reason = written.stop_reason.filter(|reason| !reason.trim().is_empty());
            self.halt = Some(self.cap(reason.as_deref().unwrap_or(NO_REASON)));
        }
        if let Some(message) = written.system_message.filter(|message| !message.trim().is_empty()) {
            self.notes.push(format!("it says to the user: {}", clip(message.trim())));
        }
        let reason = written.reason.filter(|reason| !reason.trim().is_empty());
        match (event, written.decision) {
            (_, None) => {}
            // The older form.
            (ClaudeEvent::PreToolUse, Some(decision)) => {
                let permission = if decision == Decision::Block { Permission::Deny } else { Permission::Allow };
                let reason = reason.map(|reason| self.cap(&reason));
                self.permission = Some((permission, reason));
            }
            (_, Some(Decision::Approve)) => {}
            (ClaudeEvent::PostToolUse | ClaudeEvent::PostToolUseFailure, _) => {
                self.tell(reason.as_deref().unwrap_or_default());
            }
            (ClaudeEvent::UserPromptSubmit | ClaudeEvent::PostToolBatch, _) => {
                self.block = Some(self.cap(reason.as_deref().unwrap_or(NO_REASON)))
            }
            (ClaudeEvent::Stop | ClaudeEvent::SubagentStop, _) => match reason {
                Some(reason) => self.block = Some(self.cap(&reason)),
                None => self.notes.push("`decision: block` has no reason; nothing continues".to_owned()),
            },
            (_, Some(Decision::Block)) => self.notes.push(format!("`decision` has no effect on {}", event.name())),
        }
    }

    fn specific(&mut self, event: ClaudeEvent, specific: Specific) {
        if let Some(text) = specific.additional_context {
            self.tell(&text);
        }
        let reason = specific.permission_decision_reason.filter(|reason| !reason.trim().is_empty());
        if let Some(permission) = specific.permission_decision.filter(|_| event == ClaudeEvent::PreToolUse) {
            let reason = reason.map(|reason| self.cap(&reason));
            self.permission = Some((permission, reason));
        }
        self.input = specific.updated_input.filter(|_| event == ClaudeEvent::PreToolUse);
        if event == ClaudeEvent::PostToolUse {
            self.result = specific.updated_tool_output.map(|output| self.cap(&text_of(output)));
            self.mcp_result = specific.updated_mcp_tool_output.map(|output| self.cap(&text_of(output)));
        }
        for (name, value) in [
            ("initialUserMessage", specific.initial_user_message),
            ("sessionTitle", specific.session_title),
            ("watchPaths", specific.watch_paths),
            ("reloadSkills", specific.reload_skills),
        ] {
            if value.is_some() {
                self.notes.push(format!("`{name}` has no effect behind a gateway"));
            }
        }
    }

    /// Exit code 2.
    fn refuse(&mut self, event: ClaudeEvent, stderr: &str) {
        let given = (!stderr.is_empty()).then(|| self.cap(stderr));
        match event {
            ClaudeEvent::UserPromptSubmit
            | ClaudeEvent::PostToolBatch
            | ClaudeEvent::Stop
            | ClaudeEvent::SubagentStop => {
                self.block = Some(given.or(self.block.take()).unwrap_or_else(|| NO_REASON.to_owned()));
            }
            ClaudeEvent::PreToolUse => {
                let said = self.permission.take().filter(|(permission, _)| *permission == Permission::Deny);
                self.permission = Some((Permission::Deny, given.or(said.and_then(|(_, reason)| reason))));
            }
            ClaudeEvent::PostToolUse | ClaudeEvent::PostToolUseFailure => self.context.extend(given),
            ClaudeEvent::SessionStart
            | ClaudeEvent::SubagentStart
            | ClaudeEvent::StopFailure
            | ClaudeEvent::SessionEnd => {
                self.notes.push(format!("exit status 2: {}", first_line(stderr.as_bytes())));
            }
        }
    }

    fn tell(&mut self, text: &str) {
        if !text.trim().is_empty() {
            let text = self.cap(text);
            self.context.push(text);
        }
    }

    fn cap(&mut self, text: &str) -> String {
        match text.char_indices().nth(MAX_TEXT_CHARS) {
            Some((end, _)) => {
                self.notes.push(format!("a text was cut at {MAX_TEXT_CHARS} characters"));
                text[..end].to_owned()
            }
            None => text.to_owned(),
        }
    }
}

/// Whether anything that a handler says counts.
const fn counts(event: ClaudeEvent) -> bool {
    !matches!(event, ClaudeEvent::StopFailure | ClaudeEvent::SessionEnd)
}

/// A tool's output as the model reads it.
fn text_of(output: Value) -> String {
    match output {
        Value::String(text) => text,
        Value::Array(blocks) if blocks.iter().all(|block| block["text"].is_string()) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// The first line that says something, as far as the log takes it.
pub(super) fn first_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    clip(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default())
}

fn clip(text: &str) -> String {
    text.chars().take(LOGGED_CHARS).collect()
}

#[cfg(test)]
mod tests;
