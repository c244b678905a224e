use crate::context::AnswerForm;
use crate::dialect::anthropic::Anthropic;
use crate::dialect::testing::{read, read_text};
use crate::dialect::{Dialect, Reply, WireError};
use serde_json::Value;

fn reply() -> Reply {
    Reply { text: "No \"shell\".".to_owned(), model: "fast".to_owned(), id: "0a1b".to_owned(), created: 0 }
}

fn error(status: u16, code: &'static str) -> WireError {
    WireError { status, code, message: "why".to_owned(), request_id: "req_1".to_owned(), said: None }
}

fn text(bytes: bytes::Bytes) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_reply_is_a_complete_message() {
    insta::assert_snapshot!(text(Anthropic.reply(&reply(), AnswerForm::Sse)), @r#"
    event: message_start
    data: {"type":"message_start","message":{"id":"msg_0a1b","type":"message","role":"assistant","model":"fast","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}

    event: content_block_start
    data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"No \"shell\"."}}

    event: content_block_stop
    data: {"type":"content_block_stop","index":0}

    event: message_delta
    data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":0,"output_tokens":0}}

    event: message_stop
    data: {"type":"message_stop"}
    "#);
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
    insta::assert_snapshot!(body(400, "thread_unsupported_request"), @r#"{"type":"error","error":{"type":"invalid_request_error","message":"why","details":{"error_code":"thread_unsupported_request"}},"request_id":"req_1"}"#);
}

#[test]
fn a_broken_stream_ends_with_an_error_event() {
    let cut = "event: content_block_delta\ndata: {\"type\":\"content_bl";
    let end = text(Anthropic.stream_error(&error(504, "upstream_idle"), AnswerForm::Sse, true));
    assert!(end.starts_with("\n\n"), "the frame that was cut ends first");
    insta::assert_snapshot!(end, @r#"
    event: error
    data: {"type":"error","error":{"type":"timeout_error","message":"why"},"request_id":"req_1"}
    "#);
    let answer = read_text(&Anthropic, &format!("{cut}{end}"));
    assert_eq!(answer.error.as_deref(), Some("timeout_error: why"));
    assert!(Anthropic.stream_error(&error(504, "upstream_idle"), AnswerForm::Json, false).is_empty());
}

#[test]
fn a_ping_keeps_the_stream_alive() {
    let ping = text(Anthropic.keep_alive(AnswerForm::Sse));
    assert_eq!(ping, "event: ping\ndata: {\"type\":\"ping\"}\n\n");
}
