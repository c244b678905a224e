//! Which of Claude Code's events a gateway's event is, and what its handlers read on stdin.
use super::failure;
use crate::config::EventKind;
use crate::config::claude_code::ClaudeEvent;
use crate::hooks::contract::{Event, ToolInfo, TurnInfo};
use crate::hooks::runner::Invocation;
use crate::session::record::MAIN;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::path::Path;

/// `reason` of a turn that its user broke off: Claude Code runs nothing then.
const CLIENT_GONE: &str = "client_gone";

/// `source` of a history that was replaced by a summary.
const COMPACT: &str = "compact";

/// What is said of a free-form tool, whose argument is a text: Claude Code knows objects only.
const FREE_FORM: &str = "input";

/// One event as Claude Code has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment<'a> {
    /// Which.
    pub(super) event: ClaudeEvent,
    /// Of what.
    pub(super) of: &'a Event,
}

/// What a handler reads beside what its event says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    /// The agent's folder.
    pub(super) cwd: &'a Path,
    /// What sub-agents are called.
    pub(super) agent_type: &'a str,
    /// The transcript of the session's main agent.
    pub(super) transcript: &'a Path,
    /// That of the sub-agent, where it is one.
    pub(super) agent_transcript: &'a Path,
}

#[derive(Serialize)]
struct Input<'a> {
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_id: Option<String>,
    transcript_path: &'a Path,
    cwd: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_mode: Option<&'static str>,
    hook_event_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_type: Option<&'a str>,
    #[serde(flatten)]
    particulars: Particulars<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Particulars<'a> {
    Start {
        source: &'a str,
        model: &'a str,
    },
    Prompt {
        prompt: &'a str,
    },
    Call {
        tool_name: &'a str,
        tool_input: Cow<'a, RawValue>,
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_response: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_interrupt: Option<bool>,
    },
    Batch {
        tool_calls: Vec<BatchCall<'a>>,
    },
    Stop {
        stop_hook_active: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_transcript_path: Option<&'a Path>,
        last_assistant_message: &'a str,
        background_tasks: [(); 0],
        session_crons: [(); 0],
    },
    Failure {
        error: &'static str,
        error_details: &'a str,
        last_assistant_message: &'a str,
    },
    End {
        reason: &'static str,
    },
    Nothing {},
}

#[derive(Serialize)]
struct BatchCall<'a> {
    tool_name: &'a str,
    tool_input: Cow<'a, RawValue>,
    tool_use_id: &'a str,
    tool_response: &'a str,
}

impl<'a> BatchCall<'a> {
    fn of(tool: &'a ToolInfo) -> Self {
        Self {
            tool_name: &tool.name,
            tool_input: as_object(tool),
            tool_use_id: &tool.id,
            tool_response: tool.result.as_deref().unwrap_or_default(),
        }
    }
}

impl<'a> Moment<'a> {
    /// The moment that `call` is; `None` where Claude Code has none.
    pub(super) fn of(call: &Invocation<'a>) -> Option<Self> {
        let of = call.event;
        let is_main = !is_subagent(of);
        let event = match call.kind {
            EventKind::SessionStart if is_main => ClaudeEvent::SessionStart,
            EventKind::SessionStart if of.session.source != COMPACT => ClaudeEvent::SubagentStart,
            // What a sub-agent is asked comes from another agent, not from the user.
            EventKind::PromptSubmit if is_main => ClaudeEvent::UserPromptSubmit,
            EventKind::ToolCall => ClaudeEvent::PreToolUse,
            EventKind::ToolResult if of.batch.is_some() => ClaudeEvent::PostToolBatch,
            EventKind::ToolResult if of.tool.as_ref()?.is_error => ClaudeEvent::PostToolUseFailure,
            EventKind::ToolResult => ClaudeEvent::PostToolUse,
            EventKind::SessionStopping if is_main => ClaudeEvent::Stop,
            EventKind::SessionStopping => ClaudeEvent::SubagentStop,
            EventKind::SessionFail if of.reason.as_deref() != Some(CLIENT_GONE) => ClaudeEvent::StopFailure,
            EventKind::SessionEnd if is_main => ClaudeEvent::SessionEnd,
            _ => return None,
        };
        Some(Self { event, of })
    }

    /// What a matcher looks at.
    pub(super) fn subject(&self, agent_type: &'a str) -> &'a str {
        match self.event {
            ClaudeEvent::SessionStart => &self.of.session.source,
            ClaudeEvent::PreToolUse | ClaudeEvent::PostToolUse | ClaudeEvent::PostToolUseFailure => self.tool_name(),
            ClaudeEvent::SubagentStart | ClaudeEvent::SubagentStop => agent_type,
            ClaudeEvent::StopFailure => failure::of(self.of),
            ClaudeEvent::SessionEnd => END_REASON,
            ClaudeEvent::UserPromptSubmit | ClaudeEvent::PostToolBatch | ClaudeEvent::Stop => "",
        }
    }

    /// The tool that it is about.
    pub(super) fn tool_name(&self) -> &'a str {
        self.of.tool.as_ref().map_or("", |tool| &tool.name)
    }

    /// The arguments of the call, for `if`.
    pub(super) fn tool_input(&self) -> Value {
        let Some(tool) = &self.of.tool else { return Value::Null };
        serde_json::from_str(as_object(tool).get()).unwrap_or_default()
    }

    /// The arguments that a handler wants instead, as the call's tool takes them.
    pub(super) fn given_back(&self, mut input: Map<String, Value>) -> Value {
        let text = input.get(FREE_FORM).filter(|value| value.is_string() && input.len() == 1);
        match text.is_some() && self.of.tool.as_ref().is_some_and(is_free_form) {
            true => input.remove(FREE_FORM).unwrap_or_default(),
            false => input.into(),
        }
    }

    /// What handlers read.
    ///
    /// # Errors
    /// When it can't be written as JSON.
    pub(super) fn input(&self, facts: Facts<'_>) -> Result<Vec<u8>, serde_json::Error> {
        let of = self.of;
        let (session_id, agent) = ids(of);
        serde_json::to_vec(&Input {
            session_id,
            prompt_id: (of.prompt.is_some() && self.is_in_turn())
                .then(|| uuid(of, &["prompt", &of.session.turn.to_string()])),
            transcript_path: facts.transcript,
            cwd: facts.cwd,
            permission_mode: self.is_in_turn().then_some("default"),
            hook_event_name: self.event.name(),
            agent_id: agent,
            agent_type: agent.map(|_| facts.agent_type),
            particulars: self.particulars(facts),
        })
    }

    fn particulars<'b>(&self, facts: Facts<'b>) -> Particulars<'b>
    where
        'a: 'b,
    {
        let of = self.of;
        match self.event {
            ClaudeEvent::SessionStart => Particulars::Start { source: &of.session.source, model: &of.model.resolved },
            ClaudeEvent::UserPromptSubmit => {
                Particulars::Prompt { prompt: of.prompt.as_ref().map_or("", |prompt| &prompt.text) }
            }
            ClaudeEvent::PreToolUse | ClaudeEvent::PostToolUse | ClaudeEvent::PostToolUseFailure => self.of_tool(),
            ClaudeEvent::PostToolBatch => {
                let calls = of.batch.as_deref().unwrap_or_default();
                Particulars::Batch { tool_calls: calls.iter().map(BatchCall::of).collect() }
            }
            ClaudeEvent::Stop | ClaudeEvent::SubagentStop => Particulars::Stop {
                stop_hook_active: of.turn.as_ref().is_some_and(|turn| turn.continuing),
                agent_transcript_path: (self.event == ClaudeEvent::SubagentStop).then_some(facts.agent_transcript),
                last_assistant_message: of.turn.as_ref().map_or("", TurnInfo::last_text),
                background_tasks: [],
                session_crons: [],
            },
            ClaudeEvent::StopFailure => {
                let details = failure::details(of);
                Particulars::Failure { error: failure::of(of), error_details: details, last_assistant_message: details }
            }
            ClaudeEvent::SessionEnd => Particulars::End { reason: END_REASON },
            ClaudeEvent::SubagentStart => Particulars::Nothing {},
        }
    }

    fn of_tool(&self) -> Particulars<'a> {
        let Some(tool) = &self.of.tool else { return Particulars::Nothing {} };
        let result = tool.result.as_deref().unwrap_or_default();
        let failed = self.event == ClaudeEvent::PostToolUseFailure;
        Particulars::Call {
            tool_name: &tool.name,
            tool_input: as_object(tool),
            tool_use_id: &tool.id,
            tool_response: (self.event == ClaudeEvent::PostToolUse).then_some(result),
            error: failed.then_some(result),
            is_interrupt: failed.then_some(false),
        }
    }

    /// Whether it belongs to a prompt; the events around a session do not.
    pub(super) fn is_in_turn(&self) -> bool {
        !matches!(self.event, ClaudeEvent::SessionStart | ClaudeEvent::SubagentStart | ClaudeEvent::SessionEnd)
    }
}

/// Why a session is over, as far as a wire can tell.
const END_REASON: &str = "other";

/// Another agent than the user's: it says so, or it has a session of its own under its parent's.
fn is_subagent(event: &Event) -> bool {
    event.session.agent != MAIN || event.session.parent.is_some()
}

/// The user's session, and the sub-agent where it is one. Clients that open a session for each sub-agent name the user's
/// as its parent.
pub(super) fn ids(event: &Event) -> (&str, Option<&str>) {
    let session = &event.session;
    match &session.parent {
        _ if session.agent != MAIN => (&session.id, Some(&session.agent)),
        Some(parent) => (parent, Some(&session.id)),
        None => (&session.id, None),
    }
}

/// A UUID of what `parts` name in the event's session: the same whenever they are named. Version 8 (RFC 9562).
pub(super) fn uuid(event: &Event, parts: &[&str]) -> String {
    let session = &event.session;
    let mut all: Vec<&[u8]> = vec![session.tenant.as_bytes(), session.id.as_bytes(), session.agent.as_bytes()];
    all.extend(parts.iter().map(|part| part.as_bytes()));
    let bits = u128::from_be_bytes(crate::context::Digest::of(&all).0);
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x8 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn is_free_form(tool: &ToolInfo) -> bool {
    tool.input.get().starts_with('"')
}

/// A call's arguments as an object.
fn as_object(tool: &ToolInfo) -> Cow<'_, RawValue> {
    let wrapped = match tool.input.get().as_bytes().first() {
        Some(b'{') => return Cow::Borrowed(&tool.input),
        _ if tool.input.get() == "null" => to_raw_value(&json!({})),
        _ => to_raw_value(&json!({ FREE_FORM: &tool.input })),
    };
    wrapped.map_or(Cow::Borrowed(&tool.input), Cow::Owned)
}

#[cfg(test)]
mod tests;
