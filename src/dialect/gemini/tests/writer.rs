use crate::context::AnswerForm;
use crate::dialect::gemini::Gemini;
use crate::dialect::testing::{read, read_text};
use crate::dialect::{Dialect, Reply, WireError};

fn reply() -> Reply {
    Reply { text: "No \"shell\".".to_owned(), model: "gemini-3".to_owned(), id: "0a1b".to_owned(), created: 0 }
}

fn error(status: u16) -> WireError {
    WireError { status, code: "upstream_idle", message: "why".to_owned(), request_id: "req_1".to_owned(), said: None }
}

fn text(bytes: bytes::Bytes) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_reply_is_a_complete_response() {
    insta::assert_snapshot!(text(Gemini.reply(&reply(), AnswerForm::Sse)), @r#"data: {"candidates":[{"content":{"parts":[{"text":"No \"shell\"."}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":0,"candidatesTokenCount":0,"totalTokenCount":0},"modelVersion":"gemini-3","responseId":"0a1b"}"#);
    for form in [AnswerForm::Sse, AnswerForm::Json, AnswerForm::JsonArray] {
        let answer = read(&Gemini, form, &Gemini.reply(&reply(), form), 0);
        assert!(answer.is_finished());
        assert_eq!(answer.text, reply().text);
    }
}

#[test]
fn errors_have_the_canonical_status() {
    let cases = [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (404, "NOT_FOUND"),
        (413, "INVALID_ARGUMENT"),
        (426, "FAILED_PRECONDITION"),
        (429, "RESOURCE_EXHAUSTED"),
        (502, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
        (599, "INTERNAL"),
    ];
    for (status, expected) in cases {
        let body = text(Gemini.error(&error(status), AnswerForm::Json));
        assert!(body.contains(&format!(r#""status":"{expected}""#)), "{body}");
    }
    insta::assert_snapshot!(text(Gemini.error(&error(400), AnswerForm::JsonArray)), @r#"[{"error":{"code":400,"message":"why","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":"req_1"}]}}]"#);
}

#[test]
fn a_broken_stream_ends_with_an_error_chunk() {
    let cut = "data: {\"candidates\":[{\"cont";
    let end = text(Gemini.stream_error(&error(504), AnswerForm::Sse, true));
    assert!(end.starts_with("\n\n"), "the frame that was cut ends first");
    insta::assert_snapshot!(end, @r#"
    data: {"error":{"code":504,"message":"why","status":"DEADLINE_EXCEEDED","details":[{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":"req_1"}]}}
    "#);
    let answer = read_text(&Gemini, &format!("{cut}{end}"));
    assert_eq!(answer.error.as_deref(), Some("DEADLINE_EXCEEDED: why"));
    let array = format!("[{{}}\n{}", text(Gemini.stream_error(&error(504), AnswerForm::JsonArray, false)));
    assert_eq!(
        read(&Gemini, AnswerForm::JsonArray, array.as_bytes(), 0).error.as_deref(),
        Some("DEADLINE_EXCEEDED: why")
    );
}

#[test]
fn what_the_gateway_writes_is_data_lines_and_nothing_else() {
    let written = [
        Gemini.reply(&reply(), AnswerForm::Sse),
        Gemini.stream_error(&error(500), AnswerForm::Sse, true),
        Gemini.keep_alive(AnswerForm::Sse),
    ];
    for bytes in written {
        let text = text(bytes);
        assert!(text.lines().all(|line| line.is_empty() || line.starts_with("data: {")), "{text}");
    }
}
