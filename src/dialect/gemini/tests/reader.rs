use super::PATH;
use crate::context::answer::Ending;
use crate::context::{AnswerForm, Finish, Usage};
use crate::dialect::Dialect;
use crate::dialect::gemini::Gemini;
use crate::dialect::testing::{check_samples, feed_anything, read, read_text, view};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn samples_are_read_as_their_manifest_says() {
    check_samples(&Gemini);
}

fn stream(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn finished(parts: &Value, reason: &str) -> Value {
    json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": reason, "index": 0}], "responseId": "r"})
}

#[test]
fn every_finish_reason_has_a_neutral_word() {
    let cases = [
        ("STOP", Finish::Stop),
        ("CONTINUATION", Finish::Pause),
        ("MAX_TOKENS", Finish::Length),
        ("SAFETY", Finish::Refusal),
        ("RECITATION", Finish::Refusal),
        ("PROHIBITED_CONTENT", Finish::Refusal),
        ("MALFORMED_FUNCTION_CALL", Finish::Error),
        ("MISSING_THOUGHT_SIGNATURE", Finish::Error),
        ("FINISH_REASON_UNSPECIFIED", Finish::Error),
        ("SOMETHING_NEW", Finish::Error),
    ];
    for (reason, expected) in cases {
        let answer = read_text(&Gemini, &stream(&[finished(&json!([{"text": "a"}]), reason)]));
        assert_eq!((answer.finish, answer.ending), (expected, Ending::Complete), "{reason}");
    }
}

#[test]
fn a_call_in_any_chunk_makes_it_a_tool_step() {
    let call =
        json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}, "thoughtSignature": "s"}]}}]});
    let answer = read_text(&Gemini, &stream(&[call, finished(&json!([{"text": ""}]), "STOP")]));
    assert_eq!((answer.finish, answer.signed, answer.calls[0].input.get()), (Finish::ToolCalls, true, "{}"));
}

#[test]
fn a_blocked_prompt_is_a_refusal() {
    let answer = read_text(&Gemini, &stream(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]));
    assert_eq!((answer.finish, answer.native_finish.as_deref()), (Finish::Refusal, Some("SAFETY")));
}

#[test]
fn the_last_token_counts_win() {
    let first = json!({"usageMetadata": {"promptTokenCount": 20}});
    let last = json!({"usageMetadata": {"promptTokenCount": 20, "cachedContentTokenCount": 15, "toolUsePromptTokenCount": 2, "candidatesTokenCount": 7, "thoughtsTokenCount": 5}});
    let answer = read_text(&Gemini, &stream(&[first, finished(&json!([]), "STOP"), last]));
    assert_eq!(answer.usage, Usage { input: 7, cached_input: 15, output: 12 });
}

#[test]
fn more_than_one_candidate_is_told() {
    let candidates = json!({"candidates": [{"content": {"parts": [{"text": "b"}]}, "index": 1}]});
    let answer = read_text(&Gemini, &stream(&[candidates, finished(&json!([{"text": "a"}]), "STOP")]));
    assert_eq!((answer.many, answer.text.as_str()), (true, "a"));
}

#[test]
fn an_error_is_the_end_in_every_form() {
    let error = json!({"error": {"code": 503, "message": "Busy", "status": "UNAVAILABLE"}});
    let done = finished(&json!([{"text": "a"}]), "STOP");
    let framed = stream(&[error.clone(), done.clone()]);
    let array = format!("[{done},\n{error}]");
    let bare_tail = format!("[{done}\n{error}");
    let cases = [
        (AnswerForm::Sse, framed),
        (AnswerForm::JsonArray, array),
        (AnswerForm::JsonArray, bare_tail),
        (AnswerForm::Json, error.to_string()),
        (AnswerForm::Json, format!("[{error}]")),
    ];
    for (form, text) in cases {
        let answer = read(&Gemini, form, text.as_bytes(), 0);
        assert_eq!((answer.ending, answer.error.as_deref()), (Ending::Failed, Some("UNAVAILABLE: Busy")), "{text}");
    }
}

#[test]
fn the_finish_reason_is_terminal() {
    let mut reader = Gemini.reader(AnswerForm::Sse);
    reader.event(None, br#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}"#);
    assert!(!reader.is_terminal());
    reader.event(None, finished(&json!([]), "STOP").to_string().as_bytes());
    assert!(reader.is_terminal());
}

#[test]
fn bodies_that_are_no_response_failed() {
    let body = |text: &str| read(&Gemini, AnswerForm::Json, text.as_bytes(), 0).ending;
    assert_eq!(body("<html>502</html>"), Ending::Failed);
    assert_eq!(body(r#"{"message":"no"}"#), Ending::Failed);
    assert_eq!(body(r#"{"candidates":[{"#), Ending::Cut);
    assert_eq!(body(&finished(&json!([{"text": "a"}]), "STOP").to_string()), Ending::Complete);
}

#[test]
fn arguments_in_pieces_are_put_together() {
    let piece = |call: Value| json!({"candidates": [{"content": {"parts": [{"functionCall": call}]}}]});
    let open = piece(
        json!({"name": "w", "id": "f", "partialArgs": [{"jsonPath": "$.body", "stringValue": "Dear "}], "willContinue": true}),
    );
    let more = piece(json!({"partialArgs": [{"jsonPath": "$.body", "stringValue": "all"}], "willContinue": true}));
    let close = piece(json!({"willContinue": false}));
    let done = finished(&json!([]), "STOP");
    let whole = read_text(&Gemini, &stream(&[open.clone(), more.clone(), close, done]));
    assert_eq!((whole.calls.len(), whole.calls[0].input.get()), (1, r#"{"body":"Dear all"}"#));
    let cut = read_text(&Gemini, &stream(&[open, more]));
    assert_eq!(cut.calls[0].input.get(), "null");
}

/// What a model may say: parts in order.
fn said() -> impl Strategy<Value = Vec<Value>> {
    let text = "[a-z \n]{0,9}".prop_map(|text| json!({"text": text}));
    let thought = Just(json!({"text": "hm", "thought": true}));
    let call = ("[a-z]{0,3}", any::<u8>()).prop_map(|(id, n)| match id.as_str() {
        "" => json!({"functionCall": {"name": "f", "args": {"n": n, "a": 1}}}),
        _ => json!({"functionCall": {"id": id, "name": "f", "args": {"n": n, "a": 1}}, "thoughtSignature": "s"}),
    });
    prop::collection::vec(prop_oneof![text, thought, call], 0..6)
}

/// What clients make of an answer: neighbouring texts merged, thoughts and signatures lost, arguments in another order,
/// other ids.
fn rewritten(parts: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = vec![];
    for part in parts.iter().filter(|part| part["thought"] != true) {
        if let Some(call) = part.get("functionCall") {
            let mut call = call.clone();
            call["args"] = json!({"a": call["args"]["a"], "n": call["args"]["n"]});
            call["id"] = if call.get("id").is_some() { Value::Null } else { "f_1796063343783_0".into() };
            out.push(json!({"functionCall": call}));
            continue;
        }
        let text = part["text"].as_str().unwrap();
        match out.last_mut().and_then(|last| last.get_mut("text")) {
            Some(last) => *last = format!("{}{text}", last.as_str().unwrap()).into(),
            None => out.push(json!({"text": text})),
        }
    }
    out
}

proptest! {
    #[test]
    fn an_answer_is_recognised_when_it_comes_back(parts in said()) {
        let mut chunks: Vec<Value> = parts.iter().map(|part| json!({"candidates": [{"content": {"parts": [part]}}]})).collect();
        chunks.push(finished(&json!([]), "STOP"));
        let answer = read_text(&Gemini, &stream(&chunks));
        for history in [parts.clone(), rewritten(&parts)] {
            let (doc, view) = view(PATH, &json!({"contents": [{"role": "model", "parts": history}]}).to_string()).unwrap();
            prop_assert_eq!(view.items[0].facts.link, answer.link());
            let (text, calls) = Gemini.said(&doc, &view, 0);
            prop_assert_eq!((text, calls.len()), (answer.text.clone(), answer.calls.len()));
        }
    }

    #[test]
    fn nothing_makes_the_reader_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8)) {
        feed_anything(&mut *Gemini.reader(AnswerForm::Sse), &pieces);
    }
}
