//! The JSON schemas of an event and of an answer (README, What a hook gets and says), for authors of hooks.
use crate::config::EventKind;
use crate::knowledge::entry::{MAX_BODY, MAX_TITLE};
use serde_json::{Value, json};

/// The dialect of the schemas.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of what a hook gets. Members may be added within a version, so unknown ones are allowed.
pub fn event() -> Value {
    json!({
        "$schema": DRAFT,
        "title": "hookgate hook event",
        "description": "One line of JSON on a command's stdin, or the body of a POST.",
        "type": "object",
        "required": ["v", "event", "event_id", "hook", "session", "model", "persistent", "prompt"],
        "properties": {
            "v": {"const": super::contract::VERSION, "description": "Version of this format."},
            "event": {"enum": EventKind::ALL.map(EventKind::name)},
            "event_id": {"type": "string", "description": "The same event, should it run again after a crash, has the same id."},
            "hook": {"type": "string", "description": "The hook's name."},
            "session": session(),
            "model": model(),
            "persistent": {
                "type": "object",
                "description": "What the session's slots hold.",
                "additionalProperties": {"type": "string"},
            },
            "prompt": {
                "description": "The user's prompt of this turn.",
                "type": ["object", "null"],
                "required": ["text"],
                "properties": {"text": {"type": "string"}},
            },
            "request": request(),
            "tool": tool(),
            "turn": turn(),
            "reason": {"type": ["string", "null"], "description": "Why a turn failed or a session ended; only on session.fail and session.end."},
        },
    })
}

/// The schema of what a hook may answer. Every member is optional; unknown ones are a warning in the log.
pub fn answer() -> Value {
    json!({
        "$schema": DRAFT,
        "title": "hookgate hook answer",
        "description": "JSON on a command's stdout, or the body of a 2xx response.",
        "type": "object",
        "properties": {
            "event_id": {"type": "string", "description": "The event that this answers. A worker that says it may answer out of order."},
            "context": {
                "description": "On session.start, session.stop, session.fail and session.end the slot's persistent text, on prompt.submit text for this turn, on tool.result text behind the result.",
                "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            },
            "clear_context": {"type": "boolean", "description": "Empties the slot."},
            "block": {
                "description": "prompt.submit and model.context only: the request is refused.",
                "type": "object",
                "required": ["reason"],
                "properties": {"reason": {"type": "string", "description": "Shown to the user."}},
            },
            "respond": {
                "description": "prompt.submit and model.context only: the gateway answers, the model is not asked.",
                "type": "object",
                "required": ["text"],
                "properties": {"text": {"type": "string"}},
            },
            "continue": {"type": "boolean", "description": "session.stopping only: the turn does not end yet, the model is told the message and goes on."},
            "message": {"type": "string", "description": "What the model is told; continue does nothing without it. Several hooks' messages are joined."},
            "edits": {
                "description": "model.context, session.start and prompt.submit only: what the model sees otherwise; all of it or nothing.",
                "type": "array",
                "items": crate::context::edit::schema(),
            },
            "tool": {
                "description": "tool.call and tool.result only: what becomes of the call or of its result.",
                "type": "object",
                "properties": {
                    "deny": {"type": "string", "description": "tool.call: the call is not made, the model gets this as an error result."},
                    "input": {"type": ["object", "string"], "description": "tool.call: the call is made with this instead; a string for a free-form tool."},
                    "result": {"type": "string", "description": "tool.result: the model gets this instead."},
                },
            },
            "propose": {
                "description": "What is to be remembered, once somebody has approved it.",
                "type": "array",
                "items": proposal(),
            },
            "send": {
                "description": "Messages to other agents of the same tenant.",
                "type": "array",
                "items": message(),
            },
            "veto": {"type": "boolean", "description": "session.stopping only: the turn ends, whatever other hooks say."},
        },
    })
}

fn message() -> Value {
    json!({
        "type": "object",
        "required": ["text"],
        "additionalProperties": false,
        "properties": {
            "to": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "session": {"type": "string", "description": "Without it the event's own session."},
                    "agent": {"type": "string", "description": "An id or a label, * for all of the session, PARENT/* for all that one started; without it main."},
                },
            },
            "text": {"type": "string", "description": "What the model reads; at most 2 KiB."},
            "kind": {"enum": ["note", "correction", "halt"], "default": "note"},
            "ttl": {"type": ["string", "null"], "description": "How long it waits, such as 15m, which is the default."},
            "id": {"type": ["string", "null"], "description": "The same id again is the same message."},
        },
    })
}

fn proposal() -> Value {
    json!({
        "type": "object",
        "required": ["title", "body"],
        "additionalProperties": false,
        "properties": {
            "title": {"type": "string", "maxLength": MAX_TITLE, "description": "A line."},
            "body": {"type": "string", "maxLength": MAX_BODY},
            "kind": {"enum": ["rule", "decision", "fact", "task"], "default": "fact"},
            "tier": {"type": ["string", "null"], "description": "How much its author makes of it, in the author's own words."},
            "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "scope": {"enum": ["session", "project", "all"], "default": "all", "description": "The sessions that it is for."},
            "project": {"type": ["string", "null"], "description": "With scope project: which; without it the session's."},
            "supersedes": {"type": ["string", "null"], "description": "The approved entry whose place it takes."},
        },
    })
}

fn session() -> Value {
    json!({
        "type": "object",
        "required": ["id", "agent", "parent", "project", "tenant", "turn", "source", "started_at", "new"],
        "properties": {
            "id": {"type": "string"},
            "agent": {"type": "string", "description": "main, or a sub-agent's id."},
            "parent": {"type": ["string", "null"], "description": "The parent agent's id."},
            "project": {"type": ["string", "null"], "description": "The workspace's name."},
            "tenant": {"type": "string", "description": "Opaque owner."},
            "turn": {"type": "integer", "minimum": 0, "description": "Ordinal of the turn, from 1."},
            "source": {"enum": ["startup", "resume", "compact"]},
            "started_at": {"type": "string", "format": "date-time"},
            "new": {"type": "boolean", "description": "Whether this request opened the session."},
        },
    })
}

fn model() -> Value {
    json!({
        "type": "object",
        "required": ["requested", "resolved", "family", "dialect", "upstream"],
        "properties": {
            "requested": {"type": "string", "description": "As the client named it."},
            "resolved": {"type": "string", "description": "After aliases."},
            "family": {"enum": ["claude", "gpt", "gemini", "qwen", "llama", "mistral", "deepseek", "grok", "other"]},
            "dialect": {"type": "string"},
            "upstream": {"type": "string"},
        },
    })
}

fn request() -> Value {
    json!({
        "description": "The request in neutral form; only for hooks with include: [request].",
        "type": "object",
        "properties": {
            "system": {"type": "array", "items": {"type": "string"}},
            "messages": {"type": "array", "items": {
                "type": "object",
                "required": ["role", "text"],
                "properties": {
                    "role": {"type": "string"},
                    "text": {"type": "string"},
                    "tool_calls": {"type": "array", "items": call()},
                    "tool_results": {"type": "array", "items": {"type": "object"}},
                },
            }},
            "tools": {"type": "array", "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "description": {"type": ["string", "null"]},
                    "input_schema": {},
                },
            }},
            "tool_choice": {},
            "params": {"type": "object"},
        },
    })
}

fn tool() -> Value {
    json!({
        "description": "A tool call, and what came of it; only on tool.call and tool.result.",
        "type": "object",
        "required": ["id", "name", "input", "result", "is_error"],
        "properties": {
            "id": {"type": "string", "description": "Empty where the dialect has none (Gemini)."},
            "name": {"type": "string"},
            "input": {},
            "result": {"type": ["string", "null"], "description": "The texts of the result, joined by newlines; null on tool.call."},
            "is_error": {"type": "boolean"},
        },
    })
}

fn turn() -> Value {
    json!({
        "description": "The turn that ends; only on session.stopping, session.stop and session.fail.",
        "type": "object",
        "required": ["id", "text", "tool_calls", "finish_reason", "usage", "legs", "continuing", "attempt"],
        "properties": {
            "id": {"type": "string", "description": "Stable over retries."},
            "message_id": {"type": ["string", "null"], "description": "The last answer's id."},
            "text": {"type": "string", "description": "The whole turn's answer, all its requests."},
            "tool_calls": {"type": "array", "items": call()},
            "finish_reason": {"enum": ["stop", "length", "tool_calls", "refusal", "pause", "error"]},
            "native_finish_reason": {"type": ["string", "null"]},
            "usage": {
                "type": "object",
                "required": ["input", "cached_input", "output"],
                "properties": {
                    "input": {"type": "integer", "description": "Uncached input of the turn's last request, in tokens."},
                    "cached_input": {"type": "integer", "description": "Cache reads of the turn's last request, in tokens."},
                    "output": {"type": "integer", "description": "Output of the whole turn, in tokens."},
                },
            },
            "legs": {"type": "integer", "minimum": 1, "description": "Answers of the model that the message which ends now is made of."},
            "continuing": {"type": "boolean", "description": "Whether a hook has extended this turn."},
            "attempt": {"type": "integer", "minimum": 1, "description": "One more than the continuations of this turn so far."},
        },
    })
}

fn call() -> Value {
    json!({
        "type": "object",
        "required": ["id", "name", "input"],
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "input": {}},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_schema_names_every_member_of_the_events_parts() {
        let info = crate::hooks::contract::SessionInfo {
            id: String::new(),
            agent: String::new(),
            parent: None,
            project: None,
            tenant: String::new(),
            turn: 1,
            source: String::new(),
            started_at: String::new(),
            new: true,
        };
        let written = serde_json::to_value(info).unwrap();
        let schema = event();
        let properties = schema["properties"]["session"]["properties"].as_object().unwrap();
        assert_eq!(written.as_object().unwrap().keys().collect::<Vec<_>>(), properties.keys().collect::<Vec<_>>());
    }
}
