use super::*;
use crate::config::EventKind;
use crate::hooks::contract::Event;
use crate::hooks::runner::Invocation;
use crate::hooks::runner::testing::{call_of, event, invocation};
use serde_json::{Map, Value, json};

fn together(kind: EventKind, event: &Event, said: Vec<Said>, on_ask: OnAsk) -> Parsed {
    let call = Invocation { kind, ..invocation(event) };
    of(&Moment::of(&call).expect("a moment"), said, on_ask)
}

fn on_call(said: Vec<Said>, on_ask: OnAsk) -> Outcome {
    let event = Event { tool: Some(call_of("Bash", r#"{"command":"ls"}"#)), ..event() };
    together(EventKind::ToolCall, &event, said, on_ask).outcome
}

fn permits(permission: Permission, reason: Option<&str>) -> Said {
    Said { permission: Some((permission, reason.map(str::to_owned))), ..Said::default() }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

#[test]
fn the_strictest_permission_counts() {
    use Permission::{Allow, Ask, Defer, Deny};
    for (permissions, on_ask, denied) in [
        (vec![], OnAsk::Deny, false),
        (vec![Allow], OnAsk::Deny, false),
        (vec![Allow, Ask], OnAsk::Deny, true),
        (vec![Allow, Ask], OnAsk::Allow, false),
        (vec![Defer, Allow], OnAsk::Deny, true),
        (vec![Ask, Defer], OnAsk::Allow, false),
        (vec![Ask, Deny, Allow], OnAsk::Allow, true),
    ] {
        let said = permissions.iter().map(|permission| permits(*permission, None)).collect();
        assert_eq!(on_call(said, on_ask).tool.deny.is_some(), denied, "{permissions:?} {on_ask:?}");
    }
}

#[test]
fn the_reasons_are_those_of_the_decision() {
    let said = vec![
        permits(Permission::Deny, Some("a")),
        permits(Permission::Allow, Some("b")),
        permits(Permission::Deny, Some("c")),
    ];
    assert_eq!(on_call(said, OnAsk::Deny).tool.deny.as_deref(), Some("a\nc"));
    assert_eq!(on_call(vec![permits(Permission::Deny, None)], OnAsk::Deny).tool.deny.as_deref(), Some(NO_CALL_REASON));
    let asked = on_call(vec![permits(Permission::Ask, Some("sure?"))], OnAsk::Deny);
    assert_eq!(asked.tool.deny.as_deref(), Some("sure?"));
}

#[test]
fn a_call_that_is_denied_keeps_its_input() {
    let changes = |command: &str| Said { input: Some(object(json!({ "command": command }))), ..Said::default() };
    let made = on_call(vec![changes("a"), changes("b")], OnAsk::Deny);
    assert_eq!(made.tool.input, Some(json!({"command": "b"})));
    let denied = on_call(vec![changes("a"), permits(Permission::Deny, None)], OnAsk::Deny);
    assert_eq!(denied.tool.input, None);
    let halted = on_call(vec![Said { halt: Some("stop all".into()), ..Said::default() }], OnAsk::Deny);
    assert_eq!(halted.tool.deny.as_deref(), Some("stop all"));
}

#[test]
fn a_free_form_tool_gets_its_text_back() {
    let event = Event { tool: Some(call_of("apply_patch", r#""*** Begin""#)), ..event() };
    let said = vec![Said { input: Some(object(json!({"input": "*** Other"}))), ..Said::default() }];
    let parsed = together(EventKind::ToolCall, &event, said, OnAsk::Deny);
    assert_eq!(parsed.outcome.tool.input, Some(json!("*** Other")));
}

#[test]
fn the_first_block_refuses_a_prompt_and_the_others_context_is_kept() {
    let said = vec![
        Said { context: vec!["one".into()], halt: Some("halt".into()), ..Said::default() },
        Said { block: Some("first".into()), context: vec!["two".into()], ..Said::default() },
        Said { block: Some("second".into()), ..Said::default() },
    ];
    let outcome = together(EventKind::PromptSubmit, &event(), said, OnAsk::Deny).outcome;
    assert_eq!((outcome.block.as_deref(), outcome.context.len()), (Some("first"), 2));
}

#[test]
fn what_stops_beats_what_continues() {
    let blocks = || Said { block: Some("tests".into()), ..Said::default() };
    let adds = || Said { context: vec!["docs".into()], ..Said::default() };
    let halts = || Said { halt: Some("enough".into()), ..Said::default() };
    for (said, message, veto) in [
        (vec![], None, false),
        (vec![blocks()], Some("tests"), false),
        (vec![blocks(), adds()], Some("tests\n\ndocs"), false),
        (vec![blocks(), halts()], Some("tests"), true),
    ] {
        let outcome = together(EventKind::SessionStopping, &event(), said, OnAsk::Deny).outcome;
        assert_eq!((outcome.continue_with.as_deref(), outcome.veto), (message, veto));
        assert!(outcome.context.is_empty());
    }
}

#[test]
fn a_result_is_replaced_by_the_last_word_and_mcp_output_of_mcp_tools_only() {
    let result = |text: &str| Said { result: Some(text.into()), ..Said::default() };
    let mcp = || Said { mcp_result: Some("mcp".into()), context: vec!["c".into()], ..Said::default() };
    for (tool, said, expected, warnings) in [
        ("Bash", vec![result("a"), result("b")], Some("b"), 0),
        ("Bash", vec![mcp()], None, 1),
        ("mcp__x__y", vec![mcp()], Some("mcp"), 0),
    ] {
        let event = Event { tool: Some(call_of(tool, "{}")), ..event() };
        let parsed = together(EventKind::ToolResult, &event, said, OnAsk::Deny);
        assert_eq!(parsed.outcome.tool.result.as_deref(), expected, "{tool}");
        assert_eq!(parsed.warnings.len(), warnings, "{:?}", parsed.warnings);
    }
}

#[test]
fn what_can_not_be_done_is_a_warning() {
    let halts = || vec![Said { halt: Some("x".into()), ..Said::default() }];
    let parsed = together(EventKind::SessionStart, &event(), halts(), OnAsk::Deny);
    assert_eq!(parsed.warnings, ["continue: false has no effect on SessionStart"]);
}

#[test]
fn what_is_said_of_a_call_is_context() {
    let event = Event { tool: Some(call_of("Bash", "{}")), ..event() };
    let said = vec![Said { context: vec!["beside the result".into()], ..Said::default() }];
    let parsed = together(EventKind::ToolCall, &event, said, OnAsk::Deny);
    assert_eq!((parsed.outcome.context, parsed.warnings.len()), (vec!["beside the result".to_owned()], 0));
}

#[test]
fn a_step_is_stopped_by_a_block_and_by_a_halt() {
    let event = Event { batch: Some([].into()), ..event() };
    let (block, halt) = (Some("block".to_owned()), Some("halt".to_owned()));
    for (said, expected) in [
        (vec![Said::default()], None),
        (vec![Said { halt: halt.clone(), ..Said::default() }], halt.clone()),
        (vec![Said { halt, ..Said::default() }, Said { block: block.clone(), ..Said::default() }], block),
    ] {
        let parsed = together(EventKind::ToolResult, &event, said, OnAsk::Deny);
        assert_eq!((parsed.outcome.block, parsed.warnings.len()), (expected, 0));
    }
}
