use super::*;
use crate::config::EventKind;
use crate::config::condition::MAX_LENGTH;
use crate::context::{Finish, Usage};
use crate::dialect::neutral::{NeutralMessage, NeutralRequest, NeutralTool};
use crate::hooks::contract::{Event, TurnInfo};
use crate::hooks::runner::testing::event;
use http::{HeaderMap, HeaderValue};

fn with_request(messages: usize) -> Event {
    let message = NeutralMessage { role: "user", text: "hello".into(), ..NeutralMessage::default() };
    let tool = NeutralTool { name: "Bash".into(), ..NeutralTool::default() };
    let request = NeutralRequest { messages: vec![message; messages], tools: vec![tool], ..NeutralRequest::default() };
    Event { request: Some(Arc::new(request)), ..event() }
}

async fn holds_on(expression: &str, event: &Event) -> Result<bool, HookFailure> {
    let headers = HeaderMap::from_iter([
        (http::header::USER_AGENT, HeaderValue::from_static("cli/1")),
        (http::header::AUTHORIZATION, HeaderValue::from_static("Bearer s3cret")),
    ]);
    let variables = Variables::new(EventKind::PromptSubmit, event, &headers);
    When::compile(expression).unwrap_or_else(|e| panic!("{expression}: {e}")).holds(&variables).await
}

#[tokio::test]
async fn every_variable_of_the_contract_is_there() {
    let event = with_request(2);
    for expression in [
        r#"event == "prompt.submit""#,
        r#"session.agent == "main" && model.family == "claude""#,
        "session.turn > 1 && session.turn + 1 == 4",
        "session.parent == null && !session.new",
        r#"prompt.text.contains("what") && prompt.text.matches("^what .*[?]$")"#,
        "size(request.messages) == 2",
        r#"request.messages.all(m, m.role == "user")"#,
        r#"tools.exists(t, t.name == "Bash")"#,
        r#"headers["user-agent"].startsWith("cli")"#,
        r#"!("authorization" in headers)"#,
        "now > timestamp('2026-01-01T00:00:00Z')",
        "has(prompt.text) && !has(prompt.image)",
        "type(session.turn) == int",
        "[1, 2].map(turn, turn * 2) == [2, 4]",
    ] {
        assert_eq!(holds_on(expression, &event).await, Ok(true), "{expression}");
    }
    assert_eq!(holds_on(r#"model.family == "gpt""#, &event).await, Ok(false));
}

#[tokio::test]
async fn a_condition_tells_the_ends_of_one_turn_apart() {
    let turn = TurnInfo {
        id: "turn_1".into(),
        message_id: Some("msg_1".into()),
        text: "Done.".into(),
        tool_calls: vec![],
        finish_reason: Finish::Stop,
        native_finish_reason: Some("end_turn".into()),
        usage: Usage::default(),
        legs: 2,
        continuing: true,
        last_from: 0,
        error: None,
        attempt: 2,
    };
    let event = Event { turn: Some(turn), ..event() };
    for (expression, holds) in [
        ("turn.legs == 2 && turn.continuing && turn.attempt < 3", true),
        ("!turn.continuing", false),
        (r#"turn.finish_reason == "stop" && turn.text.contains("Done")"#, true),
        ("size(turn.tool_calls) == 0 && turn.usage.output == 0", true),
    ] {
        assert_eq!(holds_on(expression, &event).await, Ok(holds), "{expression}");
    }
}

#[tokio::test]
async fn what_is_undefined_or_not_a_bool_is_an_error() {
    for (expression, message) in [
        ("turn.attempt == 1", "invalid `when`: `turn` is undefined"),
        ("size(request.messages) > 0", "invalid `when`: `request` is undefined"),
        (r#"headers["x-team"] == "a""#, "invalid `when`: `x-team` is undefined"),
        ("session.colour == 'red'", "invalid `when`: `colour` is undefined"),
        ("prompt.text", "invalid `when`: the value is string, not a bool"),
        ("1 / 0 == 1", "invalid `when`: division by zero"),
        ("[1][5] == 1", "invalid `when`: an index is out of bounds"),
        ("prompt.text + 1 == 'x'", "invalid `when`: `add` does not take these types"),
        ("9223372036854775807 + 1 == 0", "invalid `when`: `add` overflows"),
        ("startswith(prompt.text)", "invalid `when`: `startswith` is undefined"),
    ] {
        let failure = holds_on(expression, &event()).await.expect_err(expression);
        assert_eq!(failure.to_string(), message, "{expression}");
    }
}

#[tokio::test]
async fn an_error_quotes_no_value() {
    let event = Event { prompt: Some(crate::hooks::contract::PromptInfo { text: "s3cret".into() }), ..event() };
    for expression in [
        "{prompt: 1} == {}",
        "prompt.text.text == 'x'",
        "prompt.text[0] == 'x'",
        "prompt.text < 1",
        "int(prompt.text) == 1",
        "timestamp(prompt.text) < now",
        "prompt.text.matches('(') ",
        "-prompt.text == 1",
        "prompt.text ? true : false",
        "prompt.text.all(x, x)",
    ] {
        let failure = holds_on(expression, &event).await.expect_err(expression);
        assert!(!failure.to_string().contains("s3cret"), "{expression}: {failure}");
    }
}

#[test]
fn what_no_event_defines_does_not_compile() {
    for (expression, message) in [
        ("sesion.agent == 'main'", "1:1: unknown variable `sesion`"),
        ("event == 'x' &&\n  [1].all(x, x == y)", "2:19: unknown variable `y`"),
        ("tol.name == 'Bash'", "1:1: unknown variable `tol`"),
        ("'ü' == persistent.x", "1:8: unknown variable `persistent`"),
        ("event ==", "1:9: "),
        ("event == 'a", "1:"),
        ("", "1:1: "),
        (")", "1:1: "),
    ] {
        let error = When::compile(expression).expect_err(expression).to_string();
        assert!(error.starts_with(message), "{expression}: {error}");
    }
    let long = format!("event == '{}'", "x".repeat(MAX_LENGTH));
    assert_eq!(When::compile(&long).expect_err("too long").to_string(), "1:1: longer than 4096 bytes");
    assert!(When::compile(&"(".repeat(MAX_LENGTH)).is_err());
}

#[test]
fn the_request_is_needed_only_where_it_is_named() {
    for (expression, needed) in [
        ("event == 'x'", false),
        ("size(tools) > 0", true),
        ("event == 'x' && request.params.temperature == 0.5", true),
        ("[1].all(request, request == 1)", false),
        ("'request' in headers", false),
    ] {
        assert_eq!(When::compile(expression).expect(expression).needs_request(), needed, "{expression}");
    }
}

#[tokio::test]
async fn the_comparisons_that_a_condition_begins_with_decide_as_the_interpreter_would() {
    let event = with_request(1);
    for (expression, may_hold) in [
        (r#"session.agent == "main""#, true),
        (r#"session.agent == "qa""#, false),
        (r#""qa" == session.agent"#, false),
        (r#"session.agent != "main""#, false),
        (r#"session.agent != "qa""#, true),
        (r#"event in ["session.stop", "prompt.submit"]"#, true),
        (r#"session.id in ["s2", "s3"]"#, false),
        (r#"session.id in []"#, false),
        (r#"session.agent == "main" && model.family == "gpt""#, false),
        (r#"session.agent == "qa" && size(tools) > 0"#, false),
        (r#"(session.agent == "main" && size(tools) > 0) && model.family == "gpt""#, true),
        (r#"session.agent == "qa" || true"#, true),
        (r#"!(session.agent == "main")"#, true),
        (r#"session.agent == "qa" ? true : true"#, true),
        (r#"session.project == "p""#, true),
        (r#"session.agent == model.family"#, true),
    ] {
        let when = When::compile(expression).expect(expression);
        assert_eq!(when.may_hold(&event), may_hold, "{expression}");
        let holds = holds_on(expression, &event).await;
        assert!(may_hold || holds == Ok(false), "{expression}: {holds:?}");
    }
}

#[tokio::test]
async fn nested_comprehensions_over_a_long_history_end_in_time() {
    let event = with_request(3000);
    let expression = "request.messages.all(a, request.messages.all(b, request.messages.all(c, a.role == 'user')))";
    let failure = holds_on(expression, &event).await.expect_err("27 thousand million rounds");
    assert_eq!(failure.to_string(), "invalid `when`: evaluating took longer than 100ms");
}

proptest::proptest! {
    #[test]
    fn no_expression_panics(expression in r#"[-a-z0-9 .'"()\[\]{}&|?:<>=!+*/%,\\]{0,40}"#) {
        let _ = When::compile(&expression);
    }
}
