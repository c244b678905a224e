//! Events for the tests of this room.
use super::Invocation;
use crate::config::EventKind;
use crate::hooks::contract::{Event, ModelInfo, PromptInfo, SessionInfo, VERSION};
use std::collections::BTreeMap;

/// A limit that no ordinary test reaches: the default of `limits.hook_output`.
pub(in crate::hooks) const OUTPUT_LIMIT: usize = 1 << 20;

/// A prompt of session `s1`.
pub(in crate::hooks) fn event() -> Event {
    Event {
        v: VERSION,
        event: EventKind::PromptSubmit.name(),
        event_id: "01".into(),
        hook: String::new(),
        session: SessionInfo {
            id: "s1".into(),
            agent: "main".into(),
            parent: None,
            project: None,
            tenant: "t_1".into(),
            turn: 3,
            source: "startup".into(),
            started_at: "2026-01-02T03:04:05Z".into(),
            new: false,
        },
        model: ModelInfo {
            requested: "fast".into(),
            resolved: "claude-haiku-4-5".into(),
            family: "claude",
            dialect: "anthropic",
            upstream: "anthropic".into(),
        },
        persistent: BTreeMap::new(),
        prompt: Some(PromptInfo { text: "what now?".into() }),
        request: None,
        tool: None,
        turn: None,
        reason: None,
    }
}

/// The event for a hook called `probe`.
pub(in crate::hooks) fn invocation(event: &Event) -> Invocation<'_> {
    Invocation {
        kind: EventKind::PromptSubmit,
        event,
        hook: "probe",
        include_request: false,
        output_limit: OUTPUT_LIMIT,
    }
}
