use super::*;
use crate::hooks::runner::testing::{call_of, event, invocation, turn};

fn facts() -> Facts<'static> {
    Facts {
        cwd: Path::new("/work"),
        agent_type: "unknown",
        transcript: Path::new("/t/s1.jsonl"),
        agent_transcript: Path::new("/t/s1/subagents/agent-a7.jsonl"),
    }
}

fn input(kind: EventKind, event: &Event) -> Option<String> {
    let call = Invocation { kind, ..invocation(event) };
    let moment = Moment::of(&call)?;
    Some(String::from_utf8(moment.input(facts()).unwrap()).unwrap())
}

fn sub(agent: &str) -> Event {
    let mut event = event();
    event.session.agent = agent.into();
    event
}

#[test]
fn events_of_the_gateway_are_events_of_claude_code() {
    let child = {
        let mut child = event();
        child.session.parent = Some("s0".into());
        child
    };
    let compacted = |mut event: Event| {
        event.session.source = "compact".into();
        event
    };
    let failed = |reason: &str| Event { reason: Some(reason.into()), ..event() };
    let tool = |is_error| Event { tool: Some(ToolInfo { is_error, ..call_of("Bash", "{}") }), ..event() };
    for (kind, event, expected) in [
        (EventKind::SessionStart, event(), Some("SessionStart")),
        (EventKind::SessionStart, compacted(event()), Some("SessionStart")),
        (EventKind::SessionStart, sub("a7"), Some("SubagentStart")),
        (EventKind::SessionStart, child.clone(), Some("SubagentStart")),
        (EventKind::SessionStart, compacted(sub("a7")), None),
        (EventKind::PromptSubmit, event(), Some("UserPromptSubmit")),
        (EventKind::PromptSubmit, sub("a7"), None),
        (EventKind::ToolCall, tool(false), Some("PreToolUse")),
        (EventKind::ToolResult, Event { batch: Some([].into()), ..event() }, Some("PostToolBatch")),
        (EventKind::ToolResult, tool(false), Some("PostToolUse")),
        (EventKind::ToolResult, tool(true), Some("PostToolUseFailure")),
        (EventKind::SessionStopping, event(), Some("Stop")),
        (EventKind::SessionStopping, sub("a7"), Some("SubagentStop")),
        (EventKind::SessionStopping, child, Some("SubagentStop")),
        (EventKind::SessionStop, event(), None),
        (EventKind::SessionFail, failed("cut"), Some("StopFailure")),
        (EventKind::SessionFail, failed("client_gone"), None),
        (EventKind::SessionEnd, event(), Some("SessionEnd")),
        (EventKind::SessionEnd, sub("a7"), None),
        (EventKind::ModelContext, event(), None),
    ] {
        let call = Invocation { kind, ..invocation(&event) };
        assert_eq!(Moment::of(&call).map(|moment| moment.event.name()), expected, "{kind:?}");
    }
}

#[test]
fn handlers_read_claude_codes_fields() {
    let result = |is_error| Event {
        tool: Some(ToolInfo { result: Some("a.txt".into()), is_error, ..call_of("Bash", r#"{"n":1.0}"#) }),
        ..event()
    };
    let mut stopping = turn("stepanswer");
    stopping.last_from = 4;
    stopping.continuing = true;
    let stopping = |event: Event| Event { turn: Some(stopping.clone()), ..event };
    let mut failed = Event { reason: Some("upstream_error".into()), turn: Some(turn("")), ..event() };
    failed.turn.as_mut().unwrap().error = Some("HTTP status 529".into());
    let shown = [
        input(EventKind::SessionStart, &event()),
        input(EventKind::SessionStart, &sub("a7")),
        input(EventKind::PromptSubmit, &event()),
        input(EventKind::ToolCall, &Event { tool: Some(call_of("Bash", "null")), ..sub("a7") }),
        input(EventKind::ToolCall, &Event { tool: Some(call_of("apply_patch", "\"x\"")), ..event() }),
        input(EventKind::ToolResult, &result(false)),
        input(EventKind::ToolResult, &result(true)),
        input(EventKind::SessionStopping, &stopping(event())),
        input(EventKind::SessionStopping, &stopping(sub("a7"))),
        input(EventKind::SessionFail, &failed),
        input(EventKind::SessionEnd, &event()),
    ];
    insta::assert_snapshot!(shown.map(Option::unwrap).join("\n"), @r#"
    {"session_id":"s1","transcript_path":"/t/s1.jsonl","cwd":"/work","hook_event_name":"SessionStart","source":"startup","model":"claude-haiku-4-5"}
    {"session_id":"s1","transcript_path":"/t/s1.jsonl","cwd":"/work","hook_event_name":"SubagentStart","agent_id":"a7","agent_type":"unknown"}
    {"session_id":"s1","prompt_id":"2eca14ef-453e-8d0a-95ea-33886408f527","transcript_path":"/t/s1.jsonl","cwd":"/work","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"what now?"}
    {"session_id":"s1","prompt_id":"3a76917a-6abc-862b-9e6e-5a734e505e56","transcript_path":"/t/s1.jsonl","cwd":"/work","permission_mode":"default","hook_event_name":"PreToolUse","agent_id":"a7","agent_type":"unknown","tool_name":"Bash","tool_input":{},"tool_use_id":"toolu_1"}
    {"session_id":"s1","prompt_id":"2eca14ef-453e-8d0a-95ea-33886408f527","transcript_path":"/t/s1.jsonl","cwd":"/work","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{"input":"x"},"tool_use_id":"toolu_1"}
    {"session_id":"s1","prompt_id":"2eca14ef-453e-8d0a-95ea-33886408f527","transcript_path":"/t/s1.jsonl","cwd":"/work","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"n":1.0},"tool_use_id":"toolu_1","tool_response":"a.txt"}
    {"session_id":"s1","prompt_id":"2eca14ef-453e-8d0a-95ea-33886408f527","transcript_path":"/t/s1.jsonl","cwd":"/work","permission_mode":"default","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"n":1.0},"tool_use_id":"toolu_1","error":"a.txt","is_interrupt":false}
    {"session_id":"s1","prompt_id":"2eca14ef-453e-8d0a-95ea-33886408f527","transcript_path":"/t/s1.jsonl","cwd":"/work","permission_mode":"default","hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"answer","background_tasks":[],"session_crons":[]}
    {"session_id":"s1","prompt_id":"3a76917a-6abc-862b-9e6e-5a734e505e56","transcript_path":"/t/s1.jsonl","cwd":"/work","permission_mode":"default","hook_event_name":"SubagentStop","agent_id":"a7","agent_type":"unknown","stop_hook_active":true,"agent_transcript_path":"/t/s1/subagents/agent-a7.jsonl","last_assistant_message":"answer","background_tasks":[],"session_crons":[]}
    {"session_id":"s1","prompt_id":"2eca14ef-453e-8d0a-95ea-33886408f527","transcript_path":"/t/s1.jsonl","cwd":"/work","permission_mode":"default","hook_event_name":"StopFailure","error":"overloaded","error_details":"HTTP status 529","last_assistant_message":"HTTP status 529"}
    {"session_id":"s1","transcript_path":"/t/s1.jsonl","cwd":"/work","hook_event_name":"SessionEnd","reason":"other"}
    "#);
}

#[test]
fn a_session_of_its_own_under_a_parent_is_told_as_the_parents() {
    let mut child = event();
    child.session.parent = Some("s0".into());
    assert_eq!(ids(&child), ("s0", Some("s1")));
    assert_eq!(ids(&sub("a7")), ("s1", Some("a7")));
    assert_eq!(ids(&event()), ("s1", None));
}

#[test]
fn ids_are_uuids_that_stay() {
    let id = uuid(&event(), &["prompt", "3"]);
    assert_eq!(id, uuid(&event(), &["prompt", "3"]));
    assert_ne!(id, uuid(&event(), &["prompt", "4"]));
    assert_ne!(id, uuid(&sub("a7"), &["prompt", "3"]));
    let lengths: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert!(id[14..].starts_with('8') && "89ab".contains(&id[19..20]), "{id}");
}
