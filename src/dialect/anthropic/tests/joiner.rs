use crate::context::AnswerForm;
use crate::dialect::anthropic::Anthropic;
use crate::dialect::leg_testing::{alone, feed, finished, form_of, join, join_anything, samples};
use crate::dialect::{Dialect, JoinError};
use proptest::prelude::*;
use serde_json::{Value, json};

fn frames(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

fn events(stream: &str) -> Vec<Value> {
    let frames = stream.split("\n\n").filter(|frame| frame.contains("data: "));
    let event = |frame: &str| {
        let (head, data) = frame.split_once("data: ").unwrap();
        let event: Value = serde_json::from_str(data).unwrap();
        let name = head.lines().find_map(|line| line.strip_prefix("event: "));
        assert_eq!(name, event["type"].as_str(), "the SDKs go by the name");
        event
    };
    frames.map(event).collect()
}

/// The law of a message, as the SDKs hold it; gives its text and its last usage.
fn legal(stream: &str) -> (String, Value) {
    let (mut open, mut blocks, mut text, mut state) = (None, 0, String::new(), "before");
    let mut usage = Value::Null;
    for event in events(stream) {
        let index = event["index"].as_u64();
        match (event["type"].as_str().unwrap(), state) {
            ("message_start", "before") => state = "content",
            ("content_block_start", "content") => {
                assert_eq!((open, index), (None, Some(blocks)), "{stream}");
                (open, blocks) = (index, blocks + 1);
            }
            ("content_block_delta", "content") => {
                assert_eq!(index, open, "{stream}");
                text.push_str(event["delta"]["text"].as_str().unwrap_or_default());
            }
            ("content_block_stop", "content") => assert_eq!(open.take(), index, "{stream}"),
            ("message_delta", "content" | "end") => {
                assert_eq!(open, None);
                usage = event["usage"].clone();
                if !event["delta"]["stop_reason"].is_null() {
                    assert_eq!(state, "content", "two ends: {stream}");
                    state = "end";
                }
            }
            ("message_stop", "end") => state = "over",
            ("ping" | "future_event", _) => {}
            other => panic!("{other:?} in {stream}"),
        }
    }
    assert_eq!(state, "over", "{stream}");
    (text, usage)
}

#[test]
fn a_single_leg_is_byte_identical() {
    for (file, bytes, _) in samples(&Anthropic) {
        assert_eq!(alone(&Anthropic, form_of(&file), &bytes), String::from_utf8_lossy(&bytes), "{file}");
    }
}

#[test]
fn any_two_finished_answers_make_one_legal_message() {
    let samples = finished(&Anthropic);
    assert!(samples.len() > 5);
    for (first_file, first) in &samples {
        for (second_file, second) in &samples {
            let joined = join(&Anthropic, AnswerForm::Sse, &[first, second]).unwrap();
            let (text, usage) = legal(&joined.text);
            let both: Vec<_> = [first, second].iter().map(|leg| legal(std::str::from_utf8(leg).unwrap())).collect();
            assert_eq!(text, format!("{}{}", both[0].0, both[1].0), "{first_file} {second_file}");
            let output = |usage: &Value| usage["output_tokens"].as_u64().unwrap();
            assert_eq!(output(&usage), output(&both[0].1) + output(&both[1].1));
        }
    }
}

fn start(input: u64) -> Value {
    json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": input, "cache_read_input_tokens": input + 1, "output_tokens": 1}}})
}

fn text(index: u64, text: &str) -> Vec<Value> {
    vec![
        json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}

fn end(output: u64) -> Vec<Value> {
    vec![
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": output}}),
        json!({"type": "message_stop"}),
    ]
}

fn said(words: &str, input: u64, output: u64) -> String {
    frames(&[vec![start(input)], text(0, words), end(output)].concat())
}

#[test]
fn later_legs_are_rewritten_where_they_must_be() {
    let second = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9}}}\n\n\
        : comment\n\n\
        event: content_block_start\r\nid: 7\r\ndata: {\"index\": 0 , \"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"\",\"x\":1.0}}\r\n\r\n\
        data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
        event: future_event\ndata: {\"type\":\"future_event\",\"index\":3}\n\n\
        event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"stop_sequence\",\"stop_sequence\":\"X\"},\"usage\":{\"output_tokens\":5,\"y\":1}}\n\n\
        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let first = said("One.", 3, 4);
    let joined = join(&Anthropic, AnswerForm::Sse, &[first.as_bytes(), second.as_bytes()]).unwrap().text;
    let before_end = first.find("event: message_delta").unwrap();
    assert!(joined.starts_with(&first[..before_end]));
    insta::assert_snapshot!(joined[before_end..].replace('\r', "␍"), @r#"
    : comment

    event: content_block_start␍
    id: 7␍
    data: {"index":1,"type":"content_block_start","content_block":{"type":"text","text":"","x":1.0}}␍
    ␍
    event: content_block_stop
    data: {"type":"content_block_stop","index":1}

    event: future_event
    data: {"type":"future_event","index":4}

    event: message_delta
    data: {"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"X"},"usage":{"output_tokens":9,"y":1,"input_tokens":9}}

    event: message_stop
    data: {"type":"message_stop"}
    "#);
}

#[test]
fn a_later_leg_out_of_order_is_refused() {
    let block = text(0, "x");
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("content before the start", text(0, "x")),
        ("two starts", vec![start(1), start(1)]),
        ("an index gap", [vec![start(1)], text(1, "x")].concat()),
        ("a block in a block", vec![start(1), block[0].clone(), block[0].clone()]),
        ("a delta for a block that is not open", vec![start(1), block[1].clone()]),
        ("a stop for a block that is not open", vec![start(1), block[2].clone()]),
        ("an end in a block", vec![start(1), block[0].clone(), end(1)[0].clone()]),
        ("content behind the end", [vec![start(1), end(1)[0].clone()], text(0, "x")].concat()),
        ("two ends", vec![start(1), end(1)[0].clone(), end(1)[0].clone()]),
        ("a stop without a reason", vec![start(1), end(1)[1].clone()]),
    ];
    for (case, events) in cases {
        let joined = join(&Anthropic, AnswerForm::Sse, &[said("a", 1, 1).as_bytes(), frames(&events).as_bytes()]);
        assert!(matches!(joined.err(), Some(JoinError::OutOfOrder(_))), "{case}");
    }
    let unreadable =
        ["event: ping\ndata: {\"a\"\n\n", "event: ping\ndata: []\n\n", "event: a\ndata: {\"type\":\"b\"}\n\n"];
    for piece in unreadable {
        let joined = join(&Anthropic, AnswerForm::Sse, &[said("a", 1, 1).as_bytes(), piece.as_bytes()]);
        assert!(matches!(joined.err(), Some(JoinError::Unreadable(_))), "{piece}");
    }
}

#[test]
fn a_leg_that_says_nothing_leaves_the_end_to_the_one_before() {
    let first = said("One.", 3, 4);
    let second = said("Two.", 5, 6);
    let both = join(&Anthropic, AnswerForm::Sse, &[first.as_bytes(), second.as_bytes()]).unwrap().text;
    let silent = frames(&[start(1), json!({"type": "ping"})]);
    let lost = frames(&[start(1), json!({"type": "error", "error": {}})]);
    for (legs, third, expected) in [
        (vec![&first], &silent, &first),
        (vec![&first], &lost, &first),
        (vec![&first, &second], &silent, &both),
        (vec![&first, &second], &lost, &both),
    ] {
        let mut joiner = Anthropic.joiner(AnswerForm::Sse);
        let mut out = vec![];
        for leg in legs {
            feed(joiner.as_mut(), AnswerForm::Sse, leg.as_bytes(), &mut out).unwrap();
            assert!(joiner.is_over() && joiner.has_spoken());
            joiner.next_leg();
        }
        let _ = feed(joiner.as_mut(), AnswerForm::Sse, third.as_bytes(), &mut out);
        assert!(!joiner.is_over() && !joiner.has_spoken());
        joiner.end(&mut out);
        let joined = String::from_utf8(out.concat()).unwrap();
        assert_eq!(joined.replace(&frames(&[json!({"type": "ping"})]), ""), *expected);
    }
}

#[test]
fn the_end_of_a_first_leg_is_not_held_without_bound() {
    let head = frames(&[vec![start(1)], text(0, "a"), vec![end(1)[0].clone()]].concat());
    let pings = frames(&[json!({"type": "ping"})]).repeat(1 << 16);
    let stream = format!("{head}{pings}{}", frames(&[end(1)[1].clone()]));
    let joined = join(&Anthropic, AnswerForm::Sse, &[stream.as_bytes()]).unwrap();
    assert_eq!(joined.text, stream);
    assert_eq!(joined.legs, [None]);
    assert!(join(&Anthropic, AnswerForm::Sse, &[said("a", 1, 1).as_bytes(), stream.as_bytes()]).is_err());
}

#[test]
fn an_answer_goes_back_as_it_was_said() {
    let of = |file: &str| {
        let (_, bytes, _) = samples(&Anthropic).into_iter().find(|(name, ..)| name == file).unwrap();
        join(&Anthropic, AnswerForm::Sse, &[&bytes]).unwrap().legs.remove(0).map(|answer| answer.join("\n"))
    };
    insta::assert_snapshot!(of("anthropic-thinking-text.sse").unwrap(), @r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Nine jars, two broken: seven.","signature":"SIG-opaque-sample=="},{"type":"text","text":"Seven jars are left."}]}"#);
    insta::assert_snapshot!(of("anthropic-server-tools.sse").unwrap(), @r#"{"role":"assistant","content":[{"type":"text","text":"I will check."},{"type":"server_tool_use","id":"srvtoolu_01S","name":"web_search","input":{"query":"ferry"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_01S","content":[{"type":"web_search_result","title":"Ferry times","url":"https://example.com/ferry","encrypted_content":"ENC==","page_age":null}]},{"type":"text","text":"It sails at nine.","citations":[{"type":"web_search_result_location","cited_text":"Sails at nine.","encrypted_index":"IDX==","title":"Ferry times","url":"https://example.com/ferry"}]}]}"#);
    insta::assert_snapshot!(of("anthropic-tool-call.sse").unwrap(), @r#"{"role":"assistant","content":[{"type":"text","text":"Let me look in the shed."},{"type":"tool_use","id":"toolu_01Shed","name":"open_shed","input":{"door": "left"}}]}"#);
    assert_eq!(of("anthropic-empty-end.sse").as_deref(), Some(""));
    for unknown in [
        "anthropic-unknown-event.sse",
        "anthropic-compaction-inline.sse",
        "anthropic-bad-index-gap.sse",
        "anthropic-cut.sse",
    ] {
        assert_eq!(of(unknown), None, "{unknown}");
    }
}

#[test]
fn bodies_become_one_body() {
    let body = |id: &str, content: Value, input: u64, output: u64| {
        json!({"id": id, "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": {"input_tokens": input, "output_tokens": output}, "x": 1}).to_string()
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let first = body("a", json!([text("One.")]), 1, 2);
    let second = body("b", json!([text("Two."), {"type": "tool_use", "id": "t", "name": "n", "input": {}}]), 3, 4);
    let joined =
        |legs: &[&str]| join(&Anthropic, AnswerForm::Json, &legs.iter().map(|leg| leg.as_bytes()).collect::<Vec<_>>());
    assert_eq!(joined(&[&first]).unwrap().text, first);
    let both = joined(&[&first, &second]).unwrap();
    insta::assert_snapshot!(both.text, @r#"{"id":"a","type":"message","role":"assistant","content":[{"type":"text","text":"One."},{"type":"text","text":"Two."},{"type":"tool_use","id":"t","name":"n","input":{}}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":6},"x":1}"#);
    assert_eq!(both.legs[1].as_ref().unwrap().len(), 1);
    for bad in [r#"{"type":"error","error":{}}"#, "<html>", "[]", ""] {
        assert!(joined(&[&first, bad]).is_err(), "{bad}");
    }
}

/// One event of a leg: the good ones, and some that are out of order.
fn any_event() -> impl Strategy<Value = Value> {
    let index = 0_u64..3;
    prop_oneof![
        Just(start(1)),
        index.clone().prop_map(|index| text(index, "x")[0].clone()),
        index.clone().prop_map(|index| text(index, "x")[1].clone()),
        index.prop_map(|index| text(index, "x")[2].clone()),
        (0_u64..9).prop_map(|output| end(output)[0].clone()),
        Just(end(1)[1].clone()),
        Just(json!({"type": "ping"})),
        Just(json!({"type": "error"})),
        Just(json!({"type": "future_event", "index": u64::MAX})),
    ]
}

/// A leg of blocks of several kinds, with pings and unknown events between them.
fn any_leg() -> impl Strategy<Value = (Vec<Value>, String, u64)> {
    let block = prop_oneof![
        "[a-z ]{0,9}".prop_map(|words| ("text", words)),
        Just(("thinking", String::new())),
        Just(("tool_use", String::new()))
    ];
    (prop::collection::vec((block, any::<bool>()), 0..5), 0_u64..99, any::<bool>()).prop_map(|(blocks, output, ping)| {
        let (mut events, mut words) = (vec![start(7)], String::new());
        for (index, ((kind, said), quiet)) in blocks.into_iter().enumerate() {
            let index = index as u64;
            match kind {
                "text" => {
                    events.extend(text(index, &said));
                    words.push_str(&said);
                }
                _ => {
                    events.push(json!({"type": "content_block_start", "index": index, "content_block": {"type": kind, "id": "t"}}));
                    events.push(json!({"type": "content_block_stop", "index": index}));
                }
            }
            if !quiet {
                events.push(json!({"type": "future_event"}));
            }
        }
        if ping {
            events.insert(0, json!({"type": "ping"}));
        }
        events.extend(end(output));
        (events, words, output)
    })
}

proptest! {
    #[test]
    fn legs_of_any_kind_make_one_legal_message(legs in prop::collection::vec(any_leg(), 1..4)) {
        let streams: Vec<String> = legs.iter().map(|(events, ..)| frames(events)).collect();
        let bytes: Vec<&[u8]> = streams.iter().map(|stream| stream.as_bytes()).collect();
        let (text, usage) = legal(&join(&Anthropic, AnswerForm::Sse, &bytes).unwrap().text);
        prop_assert_eq!(text, legs.iter().map(|(_, words, _)| words.as_str()).collect::<String>());
        prop_assert_eq!(usage["output_tokens"].as_u64(), Some(legs.iter().map(|(.., output)| output).sum()));
        if legs.len() > 1 {
            prop_assert_eq!(&usage["input_tokens"], &json!(7));
        }
    }

    #[test]
    fn what_goes_down_is_the_beginning_of_a_legal_message(
        first in any_leg(),
        second in prop::collection::vec(any_event(), 0..12),
    ) {
        let mut joiner = Anthropic.joiner(AnswerForm::Sse);
        let mut out = vec![];
        feed(joiner.as_mut(), AnswerForm::Sse, frames(&first.0).as_bytes(), &mut out).unwrap();
        joiner.next_leg();
        let result = feed(joiner.as_mut(), AnswerForm::Sse, frames(&second).as_bytes(), &mut out);
        let was_over = joiner.is_over();
        let spoke = joiner.has_spoken();
        joiner.end(&mut out);
        if was_over || !spoke {
            let stream = String::from_utf8(out.concat()).unwrap();
            legal(&stream);
        }
        prop_assert!(result.is_ok() || !was_over);
    }

    #[test]
    fn any_bytes_are_survived(legs in prop::collection::vec(prop::collection::vec(any::<(Vec<u8>, Vec<u8>)>(), 0..4), 1..3)) {
        for form in [AnswerForm::Sse, AnswerForm::Json, AnswerForm::JsonArray] {
            join_anything(&Anthropic, form, &legs);
        }
    }
}
