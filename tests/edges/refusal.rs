//! What a refusal looks like in each dialect.
use crate::support::Answer;
use hookgate::context::view::AnswerForm;
use hookgate::dialect::{self, DialectId, WireError};

/// A request of each dialect, with the header in which its client sends a key.
pub(crate) const ASKED: [(&str, DialectId, &str); 4] = [
    ("/v1/messages", DialectId::Anthropic, "x-api-key: "),
    ("/v1/chat/completions", DialectId::Chat, "authorization: Bearer "),
    ("/v1/responses", DialectId::Responses, "authorization: Bearer "),
    ("/v1beta/models/m:generateContent", DialectId::Gemini, "x-goog-api-key: "),
];

/// Status and code are right, and the body is the dialect's own.
pub(crate) fn assert_refused(answer: &Answer, status: u16, code: &'static str, dialect: DialectId) {
    assert_eq!((answer.status(), answer.head.get("x-hookgate-error")), (status, Some(code)), "{}", answer.text());
    assert_eq!(answer.head.get("content-type"), Some("application/json"));
    let request_id = answer.head.get("x-hookgate-request-id").unwrap().to_owned();
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let message = body.pointer("/error/message").and_then(|message| message.as_str()).unwrap().to_owned();
    let error = WireError { status, code, message, request_id, said: None };
    assert_eq!(answer.body, dialect::of(dialect).error(&error, AnswerForm::Json));
    let may_retry = status >= 500 || matches!(status, 408 | 429);
    assert_eq!(answer.head.get("x-should-retry"), (!may_retry).then_some("false"), "SDKs must not try in vain");
    assert_eq!(answer.head.get("retry-after").is_some(), matches!(status, 429 | 503));
}
