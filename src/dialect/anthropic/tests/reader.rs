use super::PATH;
use crate::context::answer::Ending;
use crate::context::{Answer, AnswerForm, Finish, Usage};
use crate::dialect::Dialect;
use crate::dialect::anthropic::Anthropic;
use crate::dialect::testing::{check_samples, feed_anything, read, read_text, view};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn samples_are_read_as_their_manifest_says() {
    check_samples(&Anthropic);
}

fn frames(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

fn body(body: &str) -> Answer {
    read(&Anthropic, AnswerForm::Json, body.as_bytes(), 0)
}

#[test]
fn every_stop_reason_has_a_neutral_word() {
    let cases = [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("tool_use", Finish::ToolCalls),
        ("pause_turn", Finish::Pause),
        ("compaction", Finish::Pause),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("refusal", Finish::Refusal),
        ("something_new", Finish::Error),
    ];
    for (reason, expected) in cases {
        let answer = body(&format!(r#"{{"type":"message","id":"m","content":[],"stop_reason":"{reason}"}}"#));
        assert_eq!((answer.finish, answer.native_finish.as_deref()), (expected, Some(reason)));
        assert_eq!(answer.ending, Ending::Complete);
    }
}

#[test]
fn a_call_under_end_turn_is_still_a_call() {
    let answer = body(
        r#"{"type":"message","content":[{"type":"tool_use","id":"t","name":"n","input":{"a":1.0}}],"stop_reason":"end_turn"}"#,
    );
    assert_eq!((answer.finish, answer.calls[0].input.get()), (Finish::ToolCalls, r#"{"a":1.0}"#));
}

#[test]
fn token_counts_of_message_delta_overwrite() {
    let answer = read_text(
        &Anthropic,
        &frames(&[
            json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 41, "cache_read_input_tokens": 7, "output_tokens": 1}}}),
            json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9, "input_tokens": 50}}),
            json!({"type": "message_stop"}),
        ]),
    );
    assert_eq!(answer.usage, Usage { input: 50, cached_input: 7, output: 9 });
    assert_eq!(answer.id.as_deref(), Some("msg_1"));
}

#[test]
fn a_lone_surrogate_costs_one_character() {
    let stream = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\\ud83db\"}}\n\n";
    assert_eq!(read_text(&Anthropic, stream).text, "a\u{fffd}b");
}

#[test]
fn an_error_is_the_end() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let stop = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let answer = read_text(&Anthropic, &frames(&[error, stop, json!({"type": "message_stop"})]));
    assert_eq!((answer.ending, answer.finish), (Ending::Failed, Finish::Error));
    assert_eq!(answer.error.as_deref(), Some("overloaded_error: Overloaded"));
    let named = read_text(&Anthropic, "event: error\ndata: {\"message\":\"gone\"}\n\n");
    assert_eq!((named.ending, named.error.as_deref()), (Ending::Failed, Some("gone")));
}

#[test]
fn only_the_last_event_is_terminal() {
    let mut reader = Anthropic.reader(AnswerForm::Sse);
    reader.event(None, br#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#);
    assert!(!reader.is_terminal());
    reader.event(None, br#"{"type":"message_stop"}"#);
    assert!(reader.is_terminal());
}

#[test]
fn bodies_that_are_no_message_failed() {
    let cases = [
        (r#"{"type":"error","error":{"type":"api_error","message":"m"}}"#, Ending::Failed),
        ("<html>503</html>", Ending::Failed),
        (r#"{"type":"message","content":[{"type":"te"#, Ending::Cut),
        ("", Ending::Cut),
    ];
    for (text, expected) in cases {
        assert_eq!(body(text).ending, expected, "{text}");
    }
}

/// What a model may say: blocks in order.
fn said() -> impl Strategy<Value = Vec<Value>> {
    let text = "[a-z \n]{0,9}".prop_map(|text| json!({"type": "text", "text": text}));
    let call = ("[a-z]{1,4}", any::<u8>())
        .prop_map(|(id, n)| json!({"type": "tool_use", "id": id, "name": "n", "input": {"n": n}}));
    let thinking = Just(json!({"type": "thinking", "thinking": "hm", "signature": "Eq"}));
    prop::collection::vec(prop_oneof![text, call, thinking], 0..6)
}

fn streamed(blocks: &[Value]) -> String {
    let mut events = vec![json!({"type": "message_start", "message": {"id": "m"}})];
    for (index, block) in blocks.iter().enumerate() {
        let (start, deltas) = match block["type"].as_str().unwrap() {
            "text" => {
                let text = block["text"].as_str().unwrap();
                let (a, b) = text.split_at(text.len() / 2);
                let delta = |text: &str| json!({"type": "text_delta", "text": text});
                (json!({"type": "text", "text": ""}), vec![delta(a), delta(b)])
            }
            "tool_use" => {
                let input = block["input"].to_string();
                let (a, b) = input.split_at(3);
                let delta = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
                (
                    json!({"type": "tool_use", "id": block["id"], "name": "n", "input": {}}),
                    vec![delta(""), delta(a), delta(b)],
                )
            }
            _ => (block.clone(), vec![json!({"type": "thinking_delta", "thinking": "x"})]),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(deltas.into_iter().map(|d| json!({"type": "content_block_delta", "index": index, "delta": d})));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    events.push(json!({"type": "message_stop"}));
    frames(&events)
}

/// What clients make of an answer: text in front of calls, merged, empty blocks dropped, thinking lost.
fn rewritten(blocks: &[Value]) -> Vec<Value> {
    let text: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let calls = blocks.iter().filter(|block| block["type"] == "tool_use").cloned();
    let text = (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text.trim()}));
    text.into_iter().chain(calls).collect()
}

proptest! {
    #[test]
    fn an_answer_is_recognised_when_it_comes_back(blocks in said()) {
        let answer = read_text(&Anthropic, &streamed(&blocks));
        let whole = body(&json!({"type": "message", "content": blocks, "stop_reason": "end_turn"}).to_string());
        prop_assert_eq!(answer.link(), whole.link());
        for history in [blocks.clone(), rewritten(&blocks)] {
            let request = json!({"messages": [{"role": "assistant", "content": history}]}).to_string();
            let (doc, view) = view(PATH, &request).unwrap();
            prop_assert_eq!(view.items[0].facts.link, answer.link());
            let (_, calls) = Anthropic.said(&doc, &view, 0);
            prop_assert_eq!(format!("{calls:?}"), format!("{:?}", answer.calls));
        }
        let cut = blocks.iter().map(|block| json!({"role": "assistant", "content": [block]})).collect::<Vec<_>>();
        if !cut.is_empty() {
            let (_, view) = view(PATH, &json!({"messages": cut}).to_string()).unwrap();
            prop_assert_eq!(view.items.len(), 1);
            prop_assert_eq!(view.items[0].facts.link, answer.link());
        }
    }

    #[test]
    fn nothing_makes_the_reader_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8)) {
        feed_anything(&mut *Anthropic.reader(AnswerForm::Sse), &pieces);
    }
}
