use super::*;
use crate::dialect::JoinError;
use crate::dialect::openai::testing::{hand, pieces, survive};
use bytes::Bytes;

/// Events with sequence numbers from zero.
#[derive(Default)]
pub(super) struct Script {
    stream: String,
    number: u64,
    pub(super) items: Vec<Value>,
}

impl Script {
    pub(super) fn event(mut self, kind: &str, fields: Value) -> Self {
        let mut data = json!({"type": kind});
        data.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        data["sequence_number"] = self.number.into();
        self.number += 1;
        self.stream += &format!("event: {kind}\ndata: {data}\n\n");
        self
    }

    /// What there is so far.
    pub(super) fn stream(self) -> String {
        self.stream
    }

    pub(super) fn start(id: &str) -> Self {
        let response =
            json!({"id": id, "status": "in_progress", "output": [], "previous_response_id": format!("before_{id}")});
        Self::default()
            .event("response.created", json!({"response": response}))
            .event("response.in_progress", json!({"response": response}))
    }

    pub(super) fn message(self, id: &str, text: &str) -> Self {
        let index = self.items.len();
        let place = |more: Value| {
            let mut fields = json!({"item_id": id, "output_index": index, "content_index": 0});
            fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            fields
        };
        let part = json!({"type": "output_text", "text": text, "annotations": []});
        let item = json!({"id": id, "type": "message", "role": "assistant", "content": [part]});
        let script = self
            .event(
                "response.output_item.added",
                json!({"output_index": index, "item": {"id": id, "type": "message", "content": []}}),
            )
            .event("response.content_part.added", place(json!({"part": {"type": "output_text", "text": ""}})))
            .event("response.output_text.delta", place(json!({"delta": text})))
            .event("response.content_part.done", place(json!({"part": part})));
        script.done(index, item)
    }

    pub(super) fn done(mut self, index: usize, item: Value) -> Self {
        self.items.push(item.clone());
        self.event("response.output_item.done", json!({"output_index": index, "item": item}))
    }

    pub(super) fn reasoning(self, id: &str) -> Self {
        let index = self.items.len();
        let script = self.event(
            "response.output_item.added",
            json!({"output_index": index, "item": {"id": id, "type": "reasoning"}}),
        );
        script.done(
            index,
            json!({"id": id, "type": "reasoning", "summary": [], "encrypted_content": format!("enc_{id}")}),
        )
    }

    pub(super) fn end(self, id: &str, input: u64, output: u64) -> String {
        let usage = json!({"input_tokens": input, "output_tokens": output, "output_tokens_details": {"reasoning_tokens": output}, "total_tokens": input + output});
        let response = json!({"id": id, "status": "completed", "output": self.items, "usage": usage, "previous_response_id": format!("before_{id}")});
        self.event("response.completed", json!({"response": response})).stream
    }
}

/// What a client makes of a stream, by the rules of the Python SDK's helper; panics where it breaks one.
#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) items: Vec<Value>,
    pub(super) text: String,
    pub(super) last: Option<Value>,
}

pub(super) fn read(stream: &str, gapless: bool) -> Response {
    let mut response = Response::default();
    let mut id: Option<Value> = None;
    let mut parts: Vec<u64> = vec![];
    let mut next = 0;
    for (position, (event, data)) in frames(stream.as_bytes()).into_iter().enumerate() {
        if data == b"[DONE]" {
            continue;
        }
        let data: Value = serde_json::from_slice(&data).unwrap();
        let kind = data["type"].as_str().unwrap();
        assert!(event.is_none_or(|event| event == kind.as_bytes()));
        assert!(response.last.is_none(), "something behind the end: {stream}");
        assert_eq!(position == 0, kind == "response.created", "{stream}");
        if let Some(number) = data["sequence_number"].as_u64() {
            assert!(number == next || (!gapless && number > next), "number {number} for {next}: {stream}");
            next = number + 1;
        }
        if data["response"].is_object() {
            assert_eq!(id.get_or_insert_with(|| data["response"]["id"].clone()), &data["response"]["id"], "{stream}");
        }
        if kind == "response.output_item.added" {
            assert_eq!(data["output_index"], response.items.len());
            let new = &data["item"];
            assert!(response.items.iter().all(|known| known["id"] != new["id"]), "an id twice: {stream}");
            response.items.push(new.clone());
            parts.push(0);
        } else if let Some(index) = data["output_index"].as_u64() {
            let index = usize::try_from(index).unwrap();
            if let Some(named) = data.get("item_id") {
                assert_eq!(named, &response.items[index]["id"], "{stream}");
            }
            match kind {
                "response.output_item.done" => {
                    assert_eq!(data["item"]["id"], response.items[index]["id"]);
                    response.items[index] = data["item"].clone();
                }
                "response.content_part.added" => parts[index] += 1,
                "response.output_text.delta" => {
                    assert!(data["content_index"].as_u64().unwrap() < parts[index]);
                    response.text += data["delta"].as_str().unwrap();
                }
                _ => {}
            }
        }
        if ["response.completed", "response.incomplete", "response.failed"].contains(&kind) {
            response.last = Some(data["response"].clone());
        }
    }
    response
}

fn samples(verdict: &str) -> Vec<(String, String)> {
    let of_verdict =
        testing::manifest("responses").into_iter().filter(|(_, entry)| verdict.is_empty() || entry["turn"] == verdict);
    of_verdict.map(|(name, _)| (name.clone(), String::from_utf8(sample(&name)).unwrap())).collect()
}

#[test]
fn a_single_leg_is_what_came() {
    for (name, stream) in samples("") {
        assert_eq!(RESPONSES.join(std::slice::from_ref(&stream)).stream(), stream, "{name}");
    }
}

#[test]
fn only_the_end_of_a_leg_waits() {
    let stream = String::from_utf8(sample("responses-done-marker.sse")).unwrap();
    let joined = RESPONSES.join(std::slice::from_ref(&stream));
    assert!(joined.down[1].starts_with("event: response.completed") && joined.down[1].ends_with("data: [DONE]\n\n"));
    assert!(joined.down[0].contains("response.output_item.done"));
}

#[test]
fn every_pair_of_finished_samples_is_one_response() {
    let finished = samples("finished");
    for (first_name, first) in &finished {
        for (name, second) in finished.iter().chain(&samples("tools")) {
            let joined = RESPONSES.join(&[first.clone(), second.clone()]);
            let (one, two) = (read(first, false), read(second, false));
            let gapless = first_name != "responses-seq-gap.sse";
            let both = read(&joined.stream(), gapless);
            assert_eq!(both.text, format!("{}{}", one.text, two.text), "{first_name} {name}");
            let last = both.last.unwrap();
            assert_eq!(last["output"], Value::Array(both.items), "{first_name} {name}");
            let output = |response: &Value| response["usage"]["output_tokens"].as_u64().unwrap();
            let costs = [&one, &two].map(|leg| output(leg.last.as_ref().unwrap()));
            assert_eq!(output(&last), costs.iter().sum::<u64>());
            let ours: Vec<Value> =
                joined.answers[0].as_ref().unwrap().iter().map(|item| serde_json::from_str(item).unwrap()).collect();
            assert_eq!(Value::Array(ours), one.last.unwrap()["output"], "{first_name}");
        }
    }
}

#[test]
fn two_legs_are_one_response() {
    let first = Script::start("resp_a").message("msg_0", "One.").end("resp_a", 10, 5);
    let second = Script::start("resp_b").event("keepalive", json!({})).message("msg_0", "Two.").end("resp_b", 20, 7);
    let joined = RESPONSES.join(&[first, second]);
    assert_eq!(joined.down[0].matches("data: ").count(), 7);
    insta::assert_snapshot!(joined.down[1..].concat(), @r#"
    event: keepalive
    data: {"type":"keepalive","sequence_number":7}

    event: response.output_item.added
    data: {"type":"response.output_item.added","output_index":1,"item":{"id":"msg_0_2","type":"message","content":[]},"sequence_number":8}

    event: response.content_part.added
    data: {"type":"response.content_part.added","item_id":"msg_0_2","output_index":1,"content_index":0,"part":{"type":"output_text","text":""},"sequence_number":9}

    event: response.output_text.delta
    data: {"type":"response.output_text.delta","item_id":"msg_0_2","output_index":1,"content_index":0,"delta":"Two.","sequence_number":10}

    event: response.content_part.done
    data: {"type":"response.content_part.done","item_id":"msg_0_2","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Two.","annotations":[]},"sequence_number":11}

    event: response.output_item.done
    data: {"type":"response.output_item.done","output_index":1,"item":{"id":"msg_0_2","type":"message","role":"assistant","content":[{"type":"output_text","text":"Two.","annotations":[]}]},"sequence_number":12}

    event: response.completed
    data: {"type":"response.completed","response":{"id":"resp_a","status":"completed","output":[{"id":"msg_0","type":"message","role":"assistant","content":[{"type":"output_text","text":"One.","annotations":[]}]},{"id":"msg_0_2","type":"message","role":"assistant","content":[{"type":"output_text","text":"Two.","annotations":[]}]}],"usage":{"input_tokens":20,"output_tokens":12,"output_tokens_details":{"reasoning_tokens":12},"total_tokens":32},"previous_response_id":"before_resp_a"},"sequence_number":13}
    "#);
}

#[test]
fn the_output_of_the_stream_counts_where_the_end_has_none() {
    let bare = |id: &str, text: &str| {
        let mut script = Script::start(id).reasoning(&format!("rs_{id}")).message(&format!("msg_{id}"), text);
        let items = std::mem::take(&mut script.items);
        (items, script.end(id, 1, 1))
    };
    let ((mut items, first), (more, second)) = (bare("a", "One."), bare("b", "Two."));
    let joined = RESPONSES.join(&[first, second]);
    let strings = |items: &[Value]| Some(items.iter().map(Value::to_string).collect::<Vec<_>>());
    assert_eq!(joined.answers, [strings(&items), strings(&more)]);
    items.extend(more);
    assert_eq!(read(&joined.stream(), true).last.unwrap()["output"], Value::Array(items));
}

#[test]
fn a_leg_that_comes_to_nothing_leaves_the_end_of_the_one_before() {
    let first = Script::start("a").message("m", "One.").end("a", 10, 5);
    assert_eq!(RESPONSES.join(&[first.clone(), Script::start("b").stream]).stream(), first);
    // A number that was used up meanwhile is not used twice.
    let silent = Script::start("b").event("keepalive", json!({})).stream;
    let response = read(&RESPONSES.join(&[first.clone(), silent]).stream(), true);
    assert_eq!(response.last.unwrap(), read(&first, true).last.unwrap());
    let cut = RESPONSES.join(&[first.clone(), Script::start("b").reasoning("rs").stream]);
    assert!(read(&cut.stream(), true).last.is_none());
    // Two legs that ended, and a third that did not.
    let second = Script::start("b").message("n", "Two.").end("b", 20, 7);
    let third = RESPONSES.join(&[first, second, Script::start("c").stream]);
    let last = read(&third.stream(), true).last.unwrap();
    assert_eq!((last["output"].as_array().unwrap().len(), &last["usage"]["output_tokens"]), (2, &json!(12)));
}

#[test]
fn a_later_leg_must_keep_the_order() {
    let first = Script::start("a").message("m", "One.").end("a", 10, 5);
    let added = |index: usize| {
        ("response.output_item.added", json!({"output_index": index, "item": {"id": "n", "type": "message"}}))
    };
    let delta =
        |part: u64| ("response.output_text.delta", json!({"output_index": 0, "content_index": part, "delta": "x"}));
    let part = |index: u64| ("response.content_part.added", json!({"output_index": 0, "content_index": index}));
    let done = |id: &str| ("response.output_item.done", json!({"output_index": 0, "item": {"id": id}}));
    let end = || ("response.completed", json!({"response": {"status": "completed", "output": []}}));
    let created = || ("response.created", json!({"response": {"id": "b"}}));
    let broken = |events: &[(&str, Value)]| {
        let script = events.iter().fold(Script::default(), |script, (kind, fields)| script.event(kind, fields.clone()));
        RESPONSES.break_with(&first, &script.stream)
    };
    let cases: &[(&[(&str, Value)], &str)] = &[
        (&[created(), created()], "two starts"),
        (&[added(0), created()], "a start behind content"),
        (&[added(1)], "an index that was left out"),
        (&[added(0), added(0)], "an index twice"),
        (&[delta(0)], "a delta of no item"),
        (&[added(0), delta(0)], "a delta of no part"),
        (&[added(0), part(1)], "a part that was left out"),
        (&[added(0), part(0), done("n"), delta(0)], "a delta of a closed item"),
        (&[added(0), done("other")], "an item that became another"),
        (&[added(0), end()], "an end with an open item"),
        (&[end(), end()], "two ends"),
        (&[end(), added(0)], "an item behind the end"),
        (&[("error", json!({"message": "overloaded"}))], "an error"),
        (&[("response.failed", json!({"response": {"error": {"message": "x"}}}))], "a failure"),
    ];
    for (events, what) in cases {
        assert!(broken(events).is_some(), "{what}");
    }
    assert_eq!(broken(&[created(), added(0), part(0), delta(0), done("n"), end()]), None);
    assert_eq!(
        broken(&[("error", json!({"message": "overloaded"}))]),
        Some(JoinError::Failed("overloaded".to_owned()))
    );
    assert!(RESPONSES.break_with(&first, "data: nonsense\n\n").is_some());
}

#[test]
fn a_lost_leg_leaves_the_end_of_the_one_before() {
    let first = Script::start("a").message("m", "One.").end("a", 10, 5);
    let mut joiner = Responses.joiner(AnswerForm::Sse);
    let mut out: Vec<Bytes> = vec![];
    pieces(&first).iter().for_each(|piece| hand(joiner.as_mut(), piece, &mut out).unwrap());
    assert!(joiner.is_over() && joiner.has_spoken());
    joiner.next_leg();
    assert!(!joiner.is_over() && !joiner.has_spoken());
    pieces(&Script::start("b").end("b", 1, 1)).iter().for_each(|piece| hand(joiner.as_mut(), piece, &mut out).unwrap());
    assert!(hand(joiner.as_mut(), "data: {\"type\":\"error\"}\n\n", &mut out).is_err());
    joiner.end(&mut out);
    assert_eq!(String::from_utf8(out.concat()).unwrap(), first);
}

#[test]
fn bodies_are_joined() {
    let body = |id: &str, output: &str, usage: &str| {
        format!(
            r#"{{"id":"{id}", "status":"completed","previous_response_id":"p","output":[{output}],"usage":{usage}}}"#
        )
    };
    let (one, two) = (r#"{"type":"reasoning","id":"r","x":1.0}"#, r#"{"type":"message","id":"m"}"#);
    let first = body("a", one, r#"{"input_tokens":1,"output_tokens":2,"total_tokens":3}"#);
    let second = body("b", two, r#"{"input_tokens":10,"output_tokens":20,"total_tokens":30}"#);
    assert_eq!(RESPONSES.join_bodies(&[&first]).0, first);
    let (joined, answers) = RESPONSES.join_bodies(&[&first, &second]);
    assert_eq!(
        joined,
        body("a", &format!("{one},{two}"), r#"{"input_tokens":10,"output_tokens":22,"total_tokens":32}"#)
    );
    assert_eq!(answers, [Some(vec![one.to_owned()]), Some(vec![two.to_owned()])]);
    // An id that stands twice.
    let joined = RESPONSES.join_bodies(&[&second, &second]).0;
    assert!(joined.contains(r#"[{"type":"message","id":"m"},{"type":"message","id":"m_2"}]"#), "{joined}");
    let odd = r#"{"error":{"message":"x"},"status":"failed"}"#;
    assert_eq!(RESPONSES.join_bodies(&[odd]), (odd.to_owned(), vec![None]));
}

/// What a leg is made of: text, reasoning, or an event that is not an item's.
#[derive(Debug, Clone)]
enum Step {
    Text(String),
    Reasoning,
    KeepAlive,
    Unknown,
    Comment,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        "[a-z ]{0,5}".prop_map(Step::Text),
        Just(Step::Reasoning),
        Just(Step::KeepAlive),
        Just(Step::Unknown),
        Just(Step::Comment)
    ]
}

fn script(name: &str, steps: &[Step], same_ids: bool) -> Script {
    let id = |index: usize| if same_ids { format!("item_{index}") } else { format!("{name}_{index}") };
    steps.iter().fold(Script::start(name), |mut script, step| {
        let index = script.items.len();
        match step {
            Step::Text(text) => script.message(&id(index), text),
            Step::Reasoning => script.reasoning(&id(index)),
            Step::KeepAlive => script.event("keepalive", json!({})),
            Step::Unknown => script.event("response.novelty", json!({"value": 1.0})),
            Step::Comment => {
                script.stream += ": ping\n\n";
                script
            }
        }
    })
}

proptest! {
    /// Any legs: one response with all items, whose numbers run on and whose cost is theirs together.
    #[test]
    fn any_legs_are_one_response(
        legs in proptest::collection::vec((proptest::collection::vec(any_step(), 0..5), 1u64..99), 1..4),
        same_ids in any::<bool>(),
    ) {
        let scripts: Vec<Script> = legs.iter().enumerate().map(|(n, (steps, _))| script(&format!("r{n}"), steps, same_ids)).collect();
        let items: Vec<Value> = scripts.iter().flat_map(|script| script.items.clone()).collect();
        let texts: String = items.iter().filter_map(|item| item["content"][0]["text"].as_str()).collect();
        let streams: Vec<String> = scripts.into_iter().zip(&legs).enumerate().map(|(n, (script, (_, cost)))| script.end(&format!("r{n}"), *cost, *cost)).collect();
        let joined = RESPONSES.join(&streams);
        let response = read(&joined.stream(), true);
        let last = response.last.unwrap();
        prop_assert_eq!(&response.text, &texts);
        prop_assert_eq!(&last["output"], &Value::Array(response.items));
        prop_assert_eq!(last["output"].as_array().unwrap().len(), items.len());
        prop_assert_eq!(&last["previous_response_id"], "before_r0");
        let output: u64 = legs.iter().map(|(_, cost)| cost).sum();
        let input = legs.last().unwrap().1;
        for (key, figure) in [("input_tokens", input), ("output_tokens", output), ("total_tokens", input + output)] {
            prop_assert_eq!(&last["usage"][key], figure);
        }
        let said: Vec<Value> = joined.answers.iter().flat_map(|answer| answer.as_ref().unwrap()).map(|item| serde_json::from_str(item).unwrap()).collect();
        prop_assert_eq!(said, items);
    }

    #[test]
    fn hostile_legs_are_survived(later in proptest::collection::vec(prop_oneof![
        "(data: )?[\\[\\]{}\":,a-z0-9 ]{0,40}\n\n",
        crate::dialect::testing::any_json().prop_map(|value| format!("data: {value}\n\n")),
        (prop::sample::select(vec!["response.output_item.added", "response.output_item.done", "response.content_part.added", "response.output_text.delta", "response.completed", "response.created"]), crate::dialect::testing::any_json(), 0u64..3)
            .prop_map(|(kind, value, index)| format!("data: {}\n\n", json!({"type": kind, "output_index": index, "content_index": index, "item": value, "response": {"id": value, "output": [value], "usage": value}, "sequence_number": u64::MAX}))),
    ], 0..8)) {
        survive(RESPONSES, &Script::start("a").message("m", "One.").end("a", 10, 5), &later);
        survive(RESPONSES, "", &later);
    }
}
