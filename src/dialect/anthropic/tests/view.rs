use super::PATH;
use crate::context::{AnswerForm, Delta, Operation, RequestView, Role, Step};
use crate::dialect::anthropic::Anthropic;
use crate::dialect::testing::{any_json, neutral_lines, reading, view};
use crate::dialect::{Dialect, ViewError, endpoint};
use crate::json::ScanError;
use proptest::prelude::*;
use serde_json::json;

fn messages(messages: &str) -> RequestView {
    view(PATH, &format!(r#"{{"model":"m","messages":{messages}}}"#)).unwrap().1
}

#[test]
fn endpoints_are_known_by_their_end() {
    let cases = [
        ("/v1/messages", Some(Operation::Generate)),
        ("/anthropic/v1/messages", Some(Operation::Generate)),
        ("/threads/v1/messages", Some(Operation::Generate)),
        ("/proxy/messages", Some(Operation::Generate)),
        ("/v1/mess%61ges", Some(Operation::Generate)),
        ("/v1/messages/count_tokens", Some(Operation::Count)),
        ("/v1/messages/batches", Some(Operation::Batch)),
        ("/v1/messages/batches/b1/cancel", None),
        ("/v1/threads/t1/messages", None),
        ("/v1/chat/completions", None),
        ("/v1/messages/", Some(Operation::Generate)),
        ("/v1/Messages;x=1", Some(Operation::Generate)),
    ];
    for (path, expected) in cases {
        let found = Anthropic.endpoint(&http::Method::POST, path, Some("beta=true"));
        assert_eq!(found.map(|endpoint| endpoint.operation), expected, "{path}");
    }
    assert_eq!(endpoint(&http::Method::GET, PATH, None), None);
}

#[test]
fn a_request_is_seen_as_a_whole() {
    let body = json!({
        "model": "fast", "max_tokens": 64, "stream": true, "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}},
        "cache_control": {"type": "ephemeral"},
        "system": [{"type": "text", "text": "billing"}, {"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "Read", "cache_control": {"type": "ephemeral"}}, {"name": "Bash", "cache_control": null}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}]},
            {"role": "system", "content": "environment"},
        ],
    });
    let (doc, view) = view(PATH, &body.to_string()).unwrap();
    assert_eq!((view.model.as_deref(), view.max_tokens, view.form), (Some("fast"), Some(64), AnswerForm::Sse));
    assert!(view.has_tools && view.asks_reasoning && view.structured && view.system_open);
    assert_eq!(view.markers, 4);
    assert_eq!(view.system.iter().map(|span| doc.text(*span)).collect::<Vec<_>>(), [r#""billing""#, r#""rules""#]);
    assert_eq!(view.step, Step::Prompt { item: 0 });
    assert_eq!(view.items[1].facts.link, None);
    assert_eq!(view.items[1].role(), Role::System);
    assert!(view.is_first());
}

#[test]
fn thinking_may_be_switched_off() {
    let off = r#"{"thinking":{"type":"disabled"},"messages":[]}"#;
    assert!(!view(PATH, off).unwrap().1.asks_reasoning);
}

#[test]
fn the_end_of_the_request_says_what_it_is() {
    const CALL: &str = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"ls","input":{}}]}"#;
    const RESULT: &str = r#"{"type":"tool_result","tool_use_id":"t1","content":"a"}"#;
    const REMINDER: &str = r#"{"type":"text","text":"<system-reminder>date</system-reminder>"}"#;
    const WAITS: &str = r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"web_fetch","input":{}},{"type":"tool_use","id":"t1","name":"ls","input":{}}]}"#;
    let user = |content: &str| format!(r#"{{"role":"user","content":[{content}]}}"#);
    let prompt = r#"{"role":"user","content":"hi"}"#;
    let system = r#"{"role":"system","content":"s"}"#;
    let cases = [
        ("nothing", String::new(), Step::Empty),
        ("instructions", system.to_owned(), Step::Empty),
        ("a prompt", prompt.to_owned(), Step::Prompt { item: 0 }),
        ("a prompt before a system message", format!("{prompt},{system}"), Step::Prompt { item: 0 }),
        ("an image", user(r#"{"type":"image","source":{"type":"url","url":"u"}}"#), Step::Prompt { item: 0 }),
        ("a result", format!("{prompt},{CALL},{}", user(RESULT)), Step::Tool { item: 2 }),
        (
            "text behind a result",
            format!("{prompt},{CALL},{}", user(&format!(r#"{RESULT},{{"type":"text","text":"wait"}}"#))),
            Step::Tool { item: 2 },
        ),
        (
            "reminders behind a result",
            format!("{prompt},{CALL},{},{}", user(RESULT), user(REMINDER)),
            Step::Tool { item: 2 },
        ),
        ("an answer", format!("{prompt},{CALL}"), Step::Resume),
        ("only reminders behind an answer", format!("{prompt},{CALL},{}", user(REMINDER)), Step::Resume),
        ("only reminders", user(REMINDER), Step::Empty),
        ("a result while the server's tool is open", format!("{prompt},{WAITS},{}", user(RESULT)), Step::Resume),
    ];
    for (name, list, expected) in cases {
        assert_eq!(messages(&format!("[{list}]")).step, expected, "{name}");
    }
}

#[test]
fn the_normal_form_forgets_what_clients_change() {
    let same = [
        r#"[{"role":"user","content":"say  hi"}]"#,
        r#"[{"role":"user","content":[{"type":"text","text":"say hi"}]}]"#,
        r#"[{"role":"user","content":[{"type":"text","text":"say hi","cache_control":{"type":"ephemeral"}}]}]"#,
        r#"[{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"say"},{"type":"text","text":" hi"}]}]"#,
    ];
    let first = messages(same[0]).items[0].facts.clone();
    for body in same {
        let facts = messages(body).items[0].facts.clone();
        assert_eq!((facts.link, facts.prompt), (first.link, first.prompt), "{body}");
    }
    assert_ne!(messages(r#"[{"role":"user","content":"say ho"}]"#).items[0].facts.link, first.link);
}

#[test]
fn a_marker_on_an_image_leaves_no_trace() {
    let image = |marker: &str| {
        let block = format!(r#"{{"type":"image","source":{{"type":"base64","data":"AA"}}{marker}}}"#);
        messages(&format!(r#"[{{"role":"user","content":[{block}]}}]"#)).items[0].facts.prompt
    };
    assert!(image("").is_some());
    assert_eq!(image(""), image(r#","cache_control":{"type":"ephemeral"}"#));
}

#[test]
fn a_result_string_equals_a_single_text_block() {
    let result = |content: &str| {
        let block = format!(r#"{{"type":"tool_result","tool_use_id":"t1","content":{content}}}"#);
        messages(&format!(r#"[{{"role":"user","content":[{block}]}}]"#)).items[0].facts.clone()
    };
    assert_eq!(result(r#""a.txt""#).link, result(r#"[{"type":"text","text":"a.txt"}]"#).link);
    assert_eq!(result(r#""a.txt""#).results, ["t1"]);
    assert_eq!(result(r#""a.txt""#).prompt, None);
}

#[test]
fn neighbouring_answers_are_one_item() {
    let view = messages(
        r#"[{"role":"user","content":"q"},
            {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"EqQB"},{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}]},
            {"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"s1","content":[]},{"type":"text","text":"found"},{"type":"tool_use","id":"t1","name":"ls","input":{}}]}]"#,
    );
    assert_eq!(view.items.len(), 2);
    assert_eq!(view.items[1].elements, 1..3);
    let facts = &view.items[1].facts;
    assert_eq!((facts.signed, facts.server_pending, facts.calls.as_slice()), (true, false, &["t1".to_owned()][..]));
    assert_eq!(view.last_signed(), Some(1));
}

#[test]
fn signed_and_compacted_answers_are_told() {
    let answer =
        |block: &str| messages(&format!(r#"[{{"role":"assistant","content":[{block}]}}]"#)).items[0].facts.clone();
    assert!(answer(r#"{"type":"redacted_thinking","data":"zz"}"#).signed);
    assert!(!answer(r#"{"type":"thinking","thinking":"t","signature":""}"#).signed);
    assert!(answer(r#"{"type":"compaction","content":"c"}"#).compaction);
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let cases = [
        r#"{"messages":[{"role":"user","role":"assistant","content":"x"}]}"#,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","te\u0078t":"b"}]}]}"#,
        r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","type":"text","text":"a"}]}]}]}"#,
        r#"{"system":[{"type":"text","text":"a","text":"b"}],"messages":[]}"#,
        r#"{"tools":[{"name":"a","name":"b"}],"messages":[]}"#,
        r#"{"thinking":{"type":"enabled","type":"disabled"},"messages":[]}"#,
        r#"{"thread":{"type":"create","type":"continue"},"messages":[]}"#,
    ];
    for body in cases {
        let error = view(PATH, body).map(|_| ()).unwrap_err();
        assert!(matches!(error, ViewError::Scan(ScanError::DuplicateKey { .. })), "{body}: {error:?}");
    }
}

#[test]
fn a_shape_that_only_the_provider_knows_is_no_error_of_the_scan() {
    let cases = [
        r#"{"messages":"x"}"#,
        r#"{"messages":["x"]}"#,
        r#"{"messages":[{"role":"user","content":7}]}"#,
        r#"{"system":7}"#,
    ];
    for body in cases {
        assert!(matches!(view(PATH, body), Err(ViewError::Shape { .. })), "{body}");
    }
}

#[test]
fn threads_are_deltas() {
    let delta = |thread: &str| view(PATH, &format!(r#"{{"thread":{thread},"messages":[]}}"#)).unwrap().1.delta;
    assert_eq!(delta(r#"{"type":"create"}"#), Some(Delta::ThreadCreate));
    let next = r#"{"type":"continue","previous_message_id":"msg_1"}"#;
    assert_eq!(delta(next), Some(Delta::ThreadContinue("msg_1".to_owned())));
    assert_eq!(delta("null"), None);
}

#[test]
fn a_batch_is_not_looked_into() {
    let (_, view) = view("/v1/messages/batches", r#"{"requests":[{"custom_id":"a","params":{}}]}"#).unwrap();
    assert_eq!((view.step, view.system_open, view.items.len()), (Step::Empty, false, 0));
}

#[test]
fn hooks_read_neutral_words() {
    let body = r#"{"system":"be kind","max_tokens":5,"stop_sequences":["x"],"output_config":{"effort":"low"},
        "tool_choice":{"type":"auto"},"tools":[{"name":"ls","description":"lists","input_schema":{"type":"object"}}],
        "messages":[
          {"role":"user","content":[{"type":"text","text":"<system-reminder>r</system-reminder>"},{"type":"text","text":"do"},{"type":"text","text":"it"}]},
          {"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"text","text":"ok"},{"type":"tool_use","id":"t1","name":"ls","input":{"b":1.0,"a":2}}]},
          {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}]}"#;
    let (doc, view) = view(PATH, body).unwrap();
    assert_eq!(Anthropic.prompt_text(&doc, &view, 0, &reading()), "do\nit");
    let (text, calls) = Anthropic.said(&doc, &view, 1);
    assert_eq!((text.as_str(), calls[0].input.get()), ("ok", r#"{"b":1.0,"a":2}"#));
    insta::assert_snapshot!(neutral_lines(&Anthropic.neutral(&doc, &view)), @r#"
    "be kind"
    {"role":"user","text":"<system-reminder>r</system-reminder>\ndo\nit","tool_calls":[],"tool_results":[]}
    {"role":"assistant","text":"ok","tool_calls":[{"id":"t1","name":"ls","input":{"b":1.0,"a":2}}],"tool_results":[]}
    {"role":"tool","text":"","tool_calls":[],"tool_results":[{"id":"t1","text":"a\nb","is_error":true}]}
    {"name":"ls","description":"lists","input_schema":{"type":"object"}}
    {"type":"auto"}
    {"max_tokens":5,"temperature":null,"top_p":null,"stop":["x"],"reasoning_effort":"low","response_format":null}
    "#);
}

proptest! {
    /// Any JSON at the places that are read: an error or a view, and then neutral words for it.
    #[test]
    fn any_json_is_read_or_refused(messages in any_json(), system in any_json(), tools in any_json(), content in any_json()) {
        let nested = json!([{"role": "user", "content": content}, {"role": "assistant", "content": [content]}]);
        for messages in [&messages, &nested] {
            let body = json!({"messages": messages, "system": system, "tools": tools, "output_config": content, "thinking": system});
            if let Ok((doc, view)) = view(PATH, &body.to_string()) {
                let neutral = Anthropic.neutral(&doc, &view);
                prop_assert_eq!(neutral.messages.len(), view.items.len());
            }
        }
    }
}
