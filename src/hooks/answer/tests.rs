use super::*;
use crate::hooks::contract::ToolOutcome;
use proptest::prelude::*;

const LIMIT: usize = 64;

fn parse(kind: EventKind, written: &str) -> Parsed {
    Outcome::parse(kind, written.as_bytes(), LIMIT).expect("no failure")
}

#[test]
fn plain_text_is_context_on_start_prompt_and_tool_result_only() {
    for (kind, expected) in [
        (EventKind::SessionStart, vec!["hello".to_owned()]),
        (EventKind::PromptSubmit, vec!["hello".to_owned()]),
        (EventKind::ToolResult, vec!["hello".to_owned()]),
        (EventKind::ToolCall, vec![]),
        (EventKind::SessionStopping, vec![]),
        (EventKind::SessionStop, vec![]),
        (EventKind::SessionFail, vec![]),
        (EventKind::SessionEnd, vec![]),
    ] {
        let parsed = parse(kind, "hello\n");
        assert_eq!(parsed.outcome.context, expected, "{}", kind.name());
        assert!(parsed.warnings.is_empty());
    }
}

#[test]
fn only_an_opening_brace_makes_json() {
    for text in ["[1,2]", "\"quoted\"", "null", "  indented", "a { b"] {
        assert_eq!(parse(EventKind::PromptSubmit, text).outcome.context, [text]);
    }
    for text in ["{\"context\":\"x\"}", " \n\t{\"context\":\"x\"}\n", "\u{feff}{\"context\":\"x\"}"] {
        assert_eq!(parse(EventKind::PromptSubmit, text).outcome.context, ["x"], "{text:?}");
    }
}

#[test]
fn blank_output_changes_nothing() {
    for text in ["", " ", "\n\n", "\u{feff}", "{}", "{\"context\":\" \"}", "{\"context\":[\"\",\"\\n\"]}"] {
        for kind in EventKind::ALL {
            assert_eq!(parse(kind, text), Parsed::default(), "{text:?}");
        }
    }
}

#[test]
fn broken_json_and_wrong_types_fail() {
    for text in ["{", "{\"context\":\"x\"", "{\"context\":\"x\"} {}", "{'context':1}", "{}x"] {
        let failure = Outcome::parse(EventKind::PromptSubmit, text.as_bytes(), LIMIT).expect_err(text);
        assert!(matches!(failure, HookFailure::InvalidJson(_)), "{failure}");
    }
    for (text, message) in [
        (r#"{"context":1}"#, "invalid answer: `context` must be a text or an array of texts"),
        (r#"{"context":["a",2]}"#, "invalid answer: `context` must be a text or an array of texts"),
        (r#"{"clear_context":"yes"}"#, "invalid answer: `clear_context` must be true or false"),
        (r#"{"block":true}"#, "invalid answer: `block` must be an object"),
        (r#"{"block":{"reason":5}}"#, "invalid answer: `block.reason` must be a text"),
        (r#"{"respond":"hi"}"#, "invalid answer: `respond` must be an object"),
        (r#"{"respond":{"text":[]}}"#, "invalid answer: `respond.text` must be a text"),
        (r#"{"continue":"yes"}"#, "invalid answer: `continue` must be true or false"),
        (r#"{"message":["a"]}"#, "invalid answer: `message` must be a text"),
        (r#"{"veto":1}"#, "invalid answer: `veto` must be true or false"),
        (r#"{"tool":"no"}"#, "invalid answer: `tool` must be an object"),
        (r#"{"tool":{"deny":true}}"#, "invalid answer: `tool.deny` must be a text"),
        (r#"{"tool":{"input":1}}"#, "invalid answer: `tool.input` must be an object, or the text of a free-form tool"),
        (r#"{"tool":{"result":{}}}"#, "invalid answer: `tool.result` must be a text"),
    ] {
        let failure = Outcome::parse(EventKind::PromptSubmit, text.as_bytes(), LIMIT).expect_err(text);
        assert_eq!(failure.to_string(), message);
    }
}

#[test]
fn what_is_said_of_a_tool_counts_on_its_own_event_only() {
    let text = r#"{"tool":{"deny":"not now","input":{"a":1},"result":"clean","x":0},"context":"beside it"}"#;
    let call = parse(EventKind::ToolCall, text);
    let expected = ToolOutcome { deny: Some("not now".into()), input: Some(serde_json::json!({"a": 1})), result: None };
    assert_eq!(call.outcome, Outcome { tool: expected, ..Outcome::default() });
    assert_eq!(
        call.warnings,
        ["`tool.result` has no effect on tool.call", "unknown fields: \"x\"", "`context` has no effect on tool.call"]
    );
    let result = parse(EventKind::ToolResult, text).outcome;
    assert_eq!((result.tool.result.as_deref(), result.context.as_slice()), (Some("clean"), &["beside it".into()][..]));
    assert_eq!((result.tool.deny, result.tool.input), (None, None));
    assert_eq!(parse(EventKind::PromptSubmit, text).outcome.tool, ToolOutcome::default());
    let blank = parse(EventKind::ToolCall, r#"{"tool":{"deny":" "}}"#);
    assert_eq!(blank.outcome.tool.deny.as_deref(), Some(NO_CALL_REASON));
}

#[test]
fn nesting_beyond_the_parsers_depth_fails() {
    let text = format!("{{\"context\":{}", "[".repeat(100_000));
    assert!(Outcome::parse(EventKind::PromptSubmit, text.as_bytes(), LIMIT).is_err());
}

#[test]
fn every_field_is_read_where_it_has_an_effect() {
    let text = r#"{"context":["a","b"],"clear_context":true,"block":{"reason":"no"},"respond":{"text":"hi"}}"#;
    let prompt = parse(EventKind::PromptSubmit, text);
    insta::assert_debug_snapshot!(prompt, @r#"
    Parsed {
        outcome: Outcome {
            context: [
                "a",
                "b",
            ],
            clear_context: false,
            block: Some(
                "no",
            ),
            respond: Some(
                "hi",
            ),
            continue_with: None,
            veto: false,
            edits: [],
            propose: [],
            send: [],
            tool: ToolOutcome {
                deny: None,
                input: None,
                result: None,
            },
        },
        warnings: [
            "`clear_context` has no effect on prompt.submit",
        ],
    }
    "#);
    for kind in [EventKind::SessionStart, EventKind::SessionStop, EventKind::SessionFail, EventKind::SessionEnd] {
        let parsed = parse(kind, text);
        let expected = Outcome { context: vec!["a".into(), "b".into()], clear_context: true, ..Outcome::default() };
        assert_eq!(parsed.outcome, expected);
        let name = kind.name();
        assert_eq!(
            parsed.warnings,
            [format!("`block` has no effect on {name}"), format!("`respond` has no effect on {name}")]
        );
    }
}

#[test]
fn what_is_proposed_is_read_on_every_event_and_what_is_no_proposal_left_out() {
    let text = r#"{"propose":[{"title":"a","body":"b"},{"title":"a"},{"title":"a","body":"b","kind":"law"},
        {"title":"c","body":"d","kind":"task","scope":"project","confidence":0.5,"supersedes":"k1"}]}"#;
    for kind in EventKind::ALL {
        let Parsed { outcome, warnings } = parse(kind, text);
        let titles: Vec<_> = outcome.propose.iter().map(|draft| draft.title.as_str()).collect();
        assert_eq!((titles, outcome.effects()), (vec!["a", "c"], vec!["propose"]), "{kind:?}");
        assert_eq!(warnings[0], "`propose[1]` was left out: missing field `body`");
        assert!(warnings[1].starts_with("`propose[2]` was left out: unknown variant `law`"), "{warnings:?}");
    }
    let wrong = Outcome::parse(EventKind::SessionStop, br#"{"propose":{"title":"a","body":"b"}}"#, LIMIT);
    assert_eq!(wrong, Err(HookFailure::WrongType { field: "propose", expected: "an array of proposals" }));
}

#[test]
fn fields_without_effect_are_named_in_a_warning() {
    for (text, warnings) in [
        (r#"{"additionalContext":"x","a":1}"#, vec![r#"unknown fields: "additionalContext", "a""#]),
        (r#"{"block":{"reason":"no","code":1}}"#, vec![r#"unknown fields: "code""#]),
        (
            r#"{"edits":[],"send":[{"text":"a"},{"to":{"agent":"b"}}]}"#,
            vec!["`send[1]` was left out: missing field `text`"],
        ),
        (
            r#"{"continue":true,"message":"go on","veto":true}"#,
            vec![
                "`continue` has no effect on prompt.submit",
                "`message` has no effect on prompt.submit",
                "`veto` has no effect on prompt.submit",
            ],
        ),
        (r#"{"edits":null,"x":null,"context":null,"block":null}"#, vec![]),
        (r#"{"respond":{}}"#, vec!["`respond` has no text and is ignored"]),
    ] {
        assert_eq!(parse(EventKind::PromptSubmit, text).warnings, warnings, "{text}");
    }
    let many: Map<String, Value> = (0..20).map(|n| (format!("f{n}"), Value::from(n))).collect();
    let parsed = parse(EventKind::PromptSubmit, &Value::from(many).to_string());
    assert!(parsed.warnings[0].ends_with(r#""f7" and 12 more"#), "{:?}", parsed.warnings);
}

#[test]
fn a_stopping_hook_continues_with_a_message_or_vetoes() {
    let goes_on = |text: &str| Outcome { continue_with: Some(text.into()), ..Outcome::default() };
    let vetoes = Outcome { veto: true, ..Outcome::default() };
    let no_message = "`continue` has no message; nothing continues";
    let no_continue = "`message` has no effect without `continue: true`";
    for (text, outcome, warnings) in [
        (r#"{"continue":true,"message":"run the tests\n"}"#, goes_on("run the tests\n"), vec![]),
        (r#"{"message":"in any order","continue":true}"#, goes_on("in any order"), vec![]),
        (r#"{"continue":true}"#, Outcome::default(), vec![no_message]),
        (r#"{"continue":true,"message":" \n"}"#, Outcome::default(), vec![no_message]),
        (r#"{"continue":true,"message":null}"#, Outcome::default(), vec![no_message]),
        (r#"{"continue":false,"message":"none"}"#, Outcome::default(), vec![]),
        (r#"{"message":"alone"}"#, Outcome::default(), vec![no_continue]),
        (r#"{"veto":true}"#, vetoes.clone(), vec![]),
        (r#"{"veto":false}"#, Outcome::default(), vec![]),
        (r#"{"veto":true,"continue":true,"message":"a"}"#, Outcome { veto: true, ..goes_on("a") }, vec![]),
        (
            r#"{"veto":true,"context":["a","b"],"clear_context":true,"block":{"reason":"no"}}"#,
            vetoes,
            vec![
                "`context` has no effect on session.stopping",
                "`clear_context` has no effect on session.stopping",
                "`block` has no effect on session.stopping",
            ],
        ),
    ] {
        let parsed = parse(EventKind::SessionStopping, text);
        assert_eq!(
            (parsed.outcome, parsed.warnings),
            (outcome, warnings.into_iter().map(str::to_owned).collect()),
            "{text}"
        );
    }
}

#[test]
fn a_long_message_is_cut_as_other_texts_are() {
    let parsed = parse(EventKind::SessionStopping, &format!(r#"{{"continue":true,"message":"{}"}}"#, "x".repeat(70)));
    assert_eq!(parsed.outcome.continue_with, Some("x".repeat(LIMIT)));
    assert_eq!(parsed.warnings, ["a text of 70 bytes was cut at the limit of 64"]);
}

#[test]
fn a_block_without_reason_still_blocks() {
    for text in [r#"{"block":{}}"#, r#"{"block":{"reason":" "}}"#, r#"{"block":{"reason":null}}"#] {
        assert_eq!(parse(EventKind::PromptSubmit, text).outcome.block.as_deref(), Some(NO_REASON), "{text}");
    }
}

#[test]
fn a_long_text_is_cut_at_a_character() {
    let parsed = parse(EventKind::PromptSubmit, &"€".repeat(30));
    assert_eq!(parsed.outcome.context, ["€".repeat(21)]);
    assert_eq!(parsed.warnings, ["a text of 90 bytes was cut at the limit of 64"]);
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_with_a_warning() {
    let parsed = Outcome::parse(EventKind::PromptSubmit, b"caf\xe9", LIMIT).expect("no failure");
    assert_eq!(parsed.outcome.context, ["caf\u{fffd}"]);
    assert_eq!(parsed.warnings, ["the output is not UTF-8; the bad bytes were replaced"]);
}

#[test]
fn a_plain_text_may_begin_with_a_brace() {
    let parsed = Outcome::plain(EventKind::SessionStart, "{ not json", LIMIT);
    assert_eq!(parsed.outcome.context, ["{ not json"]);
}

proptest! {
    #[test]
    fn no_output_panics_and_no_text_is_over_the_limit(written in proptest::collection::vec(any::<u8>(), 0..300)) {
        for kind in EventKind::ALL {
            if let Ok(parsed) = Outcome::parse(kind, &written, LIMIT) {
                let texts = parsed.outcome.context.iter().chain(&parsed.outcome.continue_with);
                prop_assert!(texts.into_iter().all(|text| text.len() <= LIMIT && !text.trim().is_empty()));
            }
        }
    }
}
