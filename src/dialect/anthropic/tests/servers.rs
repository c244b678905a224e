//! Streams as other platforms and compatible servers write them: alone they pass as they are, two of them are one message.
use crate::context::AnswerForm;
use crate::dialect::Dialect;
use crate::dialect::anthropic::Anthropic;
use crate::dialect::leg_testing::{alone, feed, join};
use serde_json::Value;

/// Events by their data; each is named by its type.
fn stream(events: &[&str]) -> String {
    let event = |data: &&str| {
        let value: Value = serde_json::from_str(data).unwrap();
        format!("event: {}\ndata: {data}\n\n", value["type"].as_str().unwrap())
    };
    events.iter().map(event).collect()
}

const START: &str = r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":7,"output_tokens":1}}}"#;
const BARE_START: &str = r#"{"type":"message_start","message":{"id":"m"}}"#;
const OPEN: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const TEXT: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi."}}"#;
const CLOSE: &str = r#"{"type":"content_block_stop","index":0}"#;
const END: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;
const PING: &str = r#"{"type":"ping"}"#;

type Server = (&'static str, &'static [&'static str], Option<u64>);

const SERVERS: [Server; 6] = [
    (
        "Bedrock behind a proxy: metrics in the last event",
        &[START, OPEN, TEXT, CLOSE, END, r#"{"type":"message_stop","amazon-bedrock-invocationMetrics":{"x":1}}"#],
        Some(3),
    ),
    ("no last event", &[START, OPEN, TEXT, CLOSE, END], Some(3)),
    ("pings everywhere", &[PING, START, PING, OPEN, PING, TEXT, PING, CLOSE, PING, END, PING, STOP], Some(3)),
    (
        "no costs at all",
        &[BARE_START, OPEN, TEXT, CLOSE, r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#, STOP],
        Some(0),
    ),
    (
        "the text whole in its start",
        &[
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi."}}"#,
            CLOSE,
            END,
            STOP,
        ],
        Some(3),
    ),
    (
        "costs as they arise",
        &[
            START,
            OPEN,
            TEXT,
            CLOSE,
            r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":2}}"#,
            END,
            STOP,
        ],
        Some(3),
    ),
];

#[test]
fn alone_they_pass_and_two_are_one_message() {
    for (server, events, output) in SERVERS {
        let leg = stream(events);
        assert_eq!(alone(&Anthropic, AnswerForm::Sse, leg.as_bytes()), leg, "{server}");
        let joined = join(&Anthropic, AnswerForm::Sse, &[leg.as_bytes(), leg.as_bytes()]).unwrap();
        let read: Vec<Value> = joined
            .text
            .split("\n\n")
            .filter_map(|frame| frame.split_once("data: "))
            .map(|(_, data)| serde_json::from_str(data).unwrap())
            .collect();
        let of = |kind: &str| read.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
        assert_eq!((of("message_start").len(), of("message_stop").len()), (1, 1), "{server}");
        let starts: Vec<_> = of("content_block_start").iter().map(|event| event["index"].as_u64()).collect();
        assert_eq!(starts, [Some(0), Some(1)], "{server}");
        let costs = of("message_delta").last().unwrap()["usage"]["output_tokens"].as_u64();
        assert_eq!(costs, output.map(|output| 2 * output), "{server}");
        let said = Some(vec![r#"{"role":"assistant","content":[{"type":"text","text":"Hi."}]}"#.to_owned()]);
        assert_eq!(joined.legs, [said.clone(), said], "{server}");
    }
}

/// Blocks in parallel, or content behind the end: nobody waits for it, and nothing follows it.
#[test]
fn what_is_out_of_order_flows() {
    let second = r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#;
    for events in [&[START, OPEN, second, TEXT, CLOSE, END, STOP][..], &[START, END, OPEN, TEXT, CLOSE, END, STOP]] {
        let leg = stream(events);
        assert_eq!(alone(&Anthropic, AnswerForm::Sse, leg.as_bytes()), leg);
        assert_eq!(join(&Anthropic, AnswerForm::Sse, &[leg.as_bytes()]).unwrap().legs, [None]);
    }
    let early = stream(&[START, END, OPEN, TEXT]);
    let mut out = vec![];
    let mut joiner = Anthropic.joiner(AnswerForm::Sse);
    feed(joiner.as_mut(), AnswerForm::Sse, early.as_bytes(), &mut out).unwrap();
    assert_eq!(String::from_utf8(out.concat()).unwrap(), early);
}
