use crate::context::AnswerForm;
use crate::dialect::anthropic::Anthropic;
use crate::dialect::testing::{read, read_text};
use crate::dialect::{Dialect, Reply, WireError};
use serde_json::Value;

fn reply() -> Reply {
    Reply { text: "No \"shell\".".to_owned(), model: "fast".to_owned(), id: "0a1b".to_owned(), created: 0 }
}

fn error(status: u16, code: &'static str) -> WireError {
    WireError { status, code, message: "why".to_owned(), request_id: "req_1".to_owned() }
}

fn text(bytes: bytes::Bytes) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_reply_is_a_complete_message() {
    insta::assert_snapshot!(text(Anthropic.reply(&reply(), AnswerForm::Sse)), @"");
    for form in [AnswerForm::Sse, AnswerForm::Json] {
        let answer = read(&Anthropic, form, &Anthropic.reply(&reply(), form), 0);
        assert!(answer.is_finished());
        assert_eq!(answer.text, reply().text);
    }
}

#[test]
fn errors_have_the_type_of_their_status() {
    let body = |status, code| {
        serde_json::from_slice::<Value>(&Anthropic.error(&error(status, code), AnswerForm::Sse)).unwrap()
    };
    let cases = [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (415, "invalid_request_error"),
        (429, "rate_limit_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (504, "timeout_error"),
    ];
    for (status, expected) in cases {
        assert_eq!(body(status, "x")["error"]["type"], expected, "{status}");
    }
    insta::assert_snapshot!(body(400, "thread_unsupported_request"), @"");
}

#[test]
fn a_broken_stream_ends_with_an_error_event() {
    let cut = "event: content_block_delta\ndata: {\"type\":\"content_bl";
    let end = text(Anthropic.stream_error(&error(504, "upstream_idle"), AnswerForm::Sse, true));
    insta::assert_snapshot!(end, @"");
    let answer = read_text(&Anthropic, &format!("{cut}{end}"));
    assert_eq!(answer.error.as_deref(), Some("timeout_error: why"));
    assert!(Anthropic.stream_error(&error(504, "upstream_idle"), AnswerForm::Json, false).is_empty());
}

#[test]
fn a_ping_keeps_the_stream_alive() {
    let ping = text(Anthropic.keep_alive(AnswerForm::Sse));
    assert_eq!(ping, "event: ping\ndata: {\"type\":\"ping\"}\n\n");
}
