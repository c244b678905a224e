//! Streams as compatible servers write them: alone they pass as they are, two of them are one response.
use super::*;

/// Events of an answer with one message, as lines of data; `ID` is the leg's.
fn stream(id: &str, events: &[&str]) -> String {
    events.iter().map(|event| format!("data: {}\n\n", event.replace("ID", id))).collect()
}

type Server = (&'static str, &'static [&'static str]);

const SERVERS: [Server; 3] = [
    (
        "no content parts, no numbers, nothing in the end",
        &[
            r#"{"type":"response.created","response":{"id":"ID","output":[]}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"m_ID","type":"message"}}"#,
            r#"{"type":"response.output_text.delta","item_id":"m_ID","output_index":0,"content_index":0,"delta":"Hi."}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"m_ID","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi."}]}}"#,
            r#"{"type":"response.completed","response":{"id":"ID","status":"completed","output":[],"usage":{"output_tokens":3}}}"#,
            "[DONE]",
        ],
    ),
    (
        "items that are never done, but stand in the end",
        &[
            r#"{"type":"response.created","response":{"id":"ID","output":[]},"sequence_number":0}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"m_ID","type":"message"},"sequence_number":1}"#,
            r#"{"type":"response.content_part.added","item_id":"m_ID","output_index":0,"content_index":0,"part":{},"sequence_number":2}"#,
            r#"{"type":"response.output_text.delta","item_id":"m_ID","output_index":0,"content_index":0,"delta":"Hi.","sequence_number":3}"#,
            r#"{"type":"response.completed","response":{"id":"ID","status":"completed","output":[{"id":"m_ID","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi."}]}],"usage":{"output_tokens":3}},"sequence_number":4}"#,
        ],
    ),
    (
        "the same item id in every response, keepalives, no end of the costs",
        &[
            r#"{"type":"response.created","response":{"id":"ID","output":[]},"sequence_number":1}"#,
            r#"{"type":"keepalive","sequence_number":2}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"msg","type":"message"},"sequence_number":3}"#,
            r#"{"type":"response.content_part.added","item_id":"msg","output_index":0,"content_index":0,"part":{},"sequence_number":4}"#,
            r#"{"type":"response.output_text.delta","item_id":"msg","output_index":0,"content_index":0,"delta":"Hi.","sequence_number":5}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"msg","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi."}]},"sequence_number":6}"#,
            r#"{"type":"response.completed","response":{"id":"ID","status":"completed","output":[],"usage":null},"sequence_number":7}"#,
        ],
    ),
];

#[test]
fn alone_they_pass_and_two_are_one_response() {
    for (server, events) in SERVERS {
        let [first, second] = ["a", "b"].map(|id| stream(id, events));
        assert_eq!(RESPONSES.join(std::slice::from_ref(&first)).stream(), first, "{server}");
        let joined = RESPONSES.join(&[first, second]);
        let stream = joined.stream();
        let events: Vec<Value> =
            frames(stream.as_bytes()).iter().filter_map(|(_, data)| serde_json::from_slice(data).ok()).collect();
        let last = &events.last().unwrap()["response"];
        let ids: Vec<_> = last["output"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!((last["id"].as_str(), ids.len()), (Some("a"), 2), "{server}");
        assert_ne!(ids[0], ids[1], "{server}");
        let indexes: Vec<u64> = events.iter().filter_map(|event| event["output_index"].as_u64()).collect();
        assert!(indexes.is_sorted() && indexes.last() == Some(&1), "{server}");
        let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{server}: {numbers:?}");
        assert_eq!(RESPONSES.streamed(stream.as_bytes()).text, "Hi.\nHi.", "{server}");
        assert!(last["usage"].is_null() || last["usage"]["output_tokens"] == 6, "{server}");
        assert!(joined.answers.iter().all(Option::is_some), "{server}");
    }
}

#[test]
fn ids_do_not_grow_without_bound() {
    let item = |index: u64| {
        let id = "x".repeat(1 << 20);
        format!(
            "data: {{\"type\":\"response.output_item.added\",\"output_index\":{index},\"item\":{{\"id\":\"{id}{index}\"}}}}\n\n"
        )
    };
    let later: String = (0..17).map(item).collect();
    assert!(RESPONSES.break_with("", &later).is_some());
}
