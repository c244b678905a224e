use super::*;
use crate::dialect::JoinError;
use crate::dialect::openai::testing::{Joined, hand, pieces, survive};
use bytes::Bytes;

/// A chunk of an answer with this id.
fn chunk(id: &str, delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"{id}\",\"created\":1,\"model\":\"{id}-m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
    )
}

fn text_chunk(id: &str, text: &str) -> String {
    chunk(id, &json!({"content": text}).to_string(), "null")
}

fn usage_chunk(id: &str, input: u64, output: u64) -> String {
    let usage = json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output});
    format!("data: {{\"id\":\"{id}\",\"choices\":[],\"usage\":{usage}}}\n\n")
}

/// An answer with these chunks between its start and its end.
fn answer(id: &str, middle: &str, finish: &str) -> String {
    let start = chunk(id, r#"{"role":"assistant","content":""}"#, "null");
    format!("{start}{middle}{}data: [DONE]\n\n", chunk(id, "{}", finish))
}

/// What a client makes of a stream; panics where it is not one legal message.
#[derive(Debug, Default, PartialEq)]
struct Message {
    id: Option<Value>,
    model: Option<Value>,
    text: String,
    calls: Vec<String>,
    finish: Option<String>,
    usage: Option<Value>,
    done: bool,
}

fn read(stream: &str) -> Message {
    let mut message = Message::default();
    let mut roles = 0;
    for (_, data) in frames(stream.as_bytes()) {
        assert!(!message.done, "something behind [DONE]: {stream}");
        if data == b"[DONE]" {
            message.done = true;
            continue;
        }
        let chunk: Value = serde_json::from_slice(&data).unwrap();
        for (known, key) in [(&mut message.id, "id"), (&mut message.model, "model")] {
            let chosen = chunk["choices"] != json!([]);
            if let Some(value) = chunk.get(key).filter(|_| chosen) {
                assert_eq!(known.get_or_insert_with(|| value.clone()), value, "{key} changed: {stream}");
            }
        }
        if chunk["usage"].is_object() {
            assert!(message.usage.is_none(), "usage twice: {stream}");
            message.usage = Some(chunk["usage"].clone());
        }
        for choice in chunk["choices"].as_array().unwrap() {
            assert!(message.finish.is_none(), "a choice behind the finish: {stream}");
            assert_eq!(choice["index"], 0);
            let delta = &choice["delta"];
            roles += usize::from(delta.get("role").is_some());
            message.text += delta["content"].as_str().unwrap_or_default();
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
                if index == message.calls.len() {
                    message.calls.push(String::new());
                    assert!(call["id"].is_string());
                }
                message.calls[index] += call["function"]["arguments"].as_str().unwrap_or_default();
            }
            message.finish = choice["finish_reason"].as_str().map(str::to_owned);
        }
    }
    assert!(roles <= 1, "{roles} roles: {stream}");
    message
}

/// All samples with a verdict, as text.
fn samples(verdict: &str) -> Vec<(String, String)> {
    let of_verdict =
        testing::manifest("chat").into_iter().filter(|(_, entry)| verdict.is_empty() || entry["turn"] == verdict);
    of_verdict.map(|(name, _)| (name.clone(), String::from_utf8(sample(&name)).unwrap())).collect()
}

#[test]
fn a_single_leg_is_what_came() {
    for (name, stream) in samples("") {
        assert_eq!(CHAT.join(std::slice::from_ref(&stream)).stream(), stream, "{name}");
    }
}

#[test]
fn only_the_end_of_a_leg_waits() {
    let stream = String::from_utf8(sample("chat-usage-only.sse")).unwrap();
    let Joined { down, .. } = CHAT.join(std::slice::from_ref(&stream));
    assert_eq!(frames(down[0].as_bytes()).len(), 2);
    assert_eq!(frames(down[1].as_bytes()).len(), 3);
    // With several choices only the marker tells the end.
    let many = String::from_utf8(sample("chat-n2.sse")).unwrap();
    assert_eq!(CHAT.join(std::slice::from_ref(&many)).down[1], "data: [DONE]\n\n");
    assert_eq!(CHAT.join(&[many]).answers, [None]);
}

#[test]
fn every_pair_of_finished_samples_is_one_message() {
    let finished = samples("finished");
    for (first_name, first) in finished.iter().filter(|(name, _)| name != "chat-n2.sse") {
        for (name, second) in finished.iter().chain(&samples("tools")).filter(|(name, _)| name != "chat-n2.sse") {
            if name == "chat-function-call-legacy.sse" || name == "chat-custom-tool.sse" {
                continue; // not among the shapes that the checker knows
            }
            let joined = CHAT.join(&[first.clone(), second.clone()]);
            let (one, two, both) = (read(first), read(second), read(&joined.stream()));
            let texts: Vec<&str> =
                [&one.text, &two.text].into_iter().map(String::as_str).filter(|t| !t.is_empty()).collect();
            assert_eq!(both.text, texts.join("\n\n"), "{first_name} {name}");
            assert_eq!((both.calls, both.finish, both.done), (two.calls, two.finish, two.done));
            assert_eq!(joined.answers[0], Some(vec![json!({"role": "assistant", "content": one.text}).to_string()]));
        }
    }
}

#[test]
fn two_legs_are_one_message() {
    let first = answer("a", &(text_chunk("a", "One.") + ": ping\n\n"), r#""stop""#)
        .replace("data: [DONE]", &(usage_chunk("a", 10, 5) + "data: [DONE]"));
    let call = r#"{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let second = answer(
        "b",
        &(text_chunk("b", "Two.") + ": ping\n\n" + &text_chunk("b", " Three.") + &chunk("b", call, "null")),
        r#""tool_calls""#,
    )
    .replace("data: [DONE]", &(usage_chunk("b", 20, 7) + "data: [DONE]"));
    let joined = CHAT.join(&[first, second]);
    insta::assert_snapshot!(joined.stream(), @r#"
    data: {"id":"a","created":1,"model":"a-m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

    data: {"id":"a","created":1,"model":"a-m","choices":[{"index":0,"delta":{"content":"One."},"finish_reason":null}]}

    : ping

    data: {"id":"a","created":1,"model":"a-m","choices":[{"index":0,"delta":{"content":"\n\nTwo."},"finish_reason":null}]}

    : ping

    data: {"id":"a","created":1,"model":"a-m","choices":[{"index":0,"delta":{"content":" Three."},"finish_reason":null}]}

    data: {"id":"a","created":1,"model":"a-m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}]}

    data: {"id":"a","created":1,"model":"a-m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

    data: {"id":"a","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":12,"total_tokens":32}}

    data: [DONE]
    "#);
    insta::assert_snapshot!(joined.answers[1].as_ref().unwrap().join("\n"), @r#"{"role":"assistant","content":"Two. Three.","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#);
}

/// Some compatible servers put the last text, the finish and the usage into one chunk, and the role into every one.
#[test]
fn text_beside_the_finish_does_not_wait() {
    let last = |id: &str, text: &str| {
        format!(
            "data: {{\"id\":\"{id}\",\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"completion_tokens\":2}}}}\n\n"
        )
    };
    let (first, second) =
        (text_chunk("a", "One") + &last("a", " two."), text_chunk("b", "Three") + &last("b", " four."));
    let joined = CHAT.join(&[first, second]);
    insta::assert_snapshot!(joined.stream(), @r#"
    data: {"id":"a","created":1,"model":"a-m","choices":[{"index":0,"delta":{"content":"One"},"finish_reason":null}]}

    data: {"id":"a","choices":[{"index":0,"delta":{"role":"assistant","content":" two."},"finish_reason":null}],"usage":null}

    data: {"id":"a","created":1,"model":"a-m","choices":[{"index":0,"delta":{"content":"\n\nThree"},"finish_reason":null}]}

    data: {"id":"a","choices":[{"index":0,"delta":{"content":" four."},"finish_reason":null}],"usage":null}

    data: {"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":4}}
    "#);
}

#[test]
fn citations_of_later_legs_are_left_out() {
    let cite = |id: &str| chunk(id, r#"{"annotations":[{"start_index":0}],"content":"x"}"#, "null");
    let joined = CHAT.join(&[answer("a", &cite("a"), r#""stop""#), answer("b", &cite("b"), r#""stop""#)]).stream();
    assert_eq!(joined.matches("annotations").count(), 1);
    let body = |text: &str, citations: &str| {
        format!(r#"{{"choices":[{{"message":{{"content":"{text}","annotations":{citations}}}}}]}}"#)
    };
    assert_eq!(CHAT.join_bodies(&[&body("a", "[1]"), &body("b", "[2]")]).0, body(r"a\n\nb", "[1]"));
}

#[test]
fn a_text_is_kept_beside_calls_without_content() {
    let first = r#"{"choices":[{"message":{"content":"One."}}]}"#;
    for (rest, joined) in [("", ""), (r#""tool_calls":[]"#, r#","tool_calls":[]"#)] {
        let second = format!(r#"{{"choices":[{{"message":{{{rest}}}}}]}}"#);
        let expected = format!(r#"{{"choices":[{{"message":{{"content":"One."{joined}}}}}]}}"#);
        assert_eq!(CHAT.join_bodies(&[first, &second]).0, expected);
    }
}

#[test]
fn a_leg_that_comes_to_nothing_leaves_the_end_of_the_one_before() {
    let first = answer("a", &text_chunk("a", "One."), r#""stop""#);
    let start = chunk("b", r#"{"role":"assistant","content":""}"#, "null") + ": ping\n\n";
    assert_eq!(CHAT.join(&[first.clone(), start.clone()]).stream().replace(": ping\n\n", ""), first);
    // What was said can't be taken back, nor may it look whole.
    let cut = CHAT.join(&[first.clone(), start + &text_chunk("b", "Tw")]);
    assert!(!cut.stream().contains("stop") && !cut.stream().contains("DONE"));
    // An error is no end either, though the leg's finish was seen.
    let mut joiner = Chat.joiner(AnswerForm::Sse);
    let mut out: Vec<Bytes> = vec![];
    pieces(&first).iter().for_each(|piece| hand(joiner.as_mut(), piece, &mut out).unwrap());
    joiner.next_leg();
    hand(joiner.as_mut(), &chunk("b", "{}", r#""length""#), &mut out).unwrap();
    let error = hand(joiner.as_mut(), "data: {\"error\":{\"message\":\"overloaded\"}}\n\n", &mut out);
    assert_eq!(error, Err(JoinError::Failed("overloaded".to_owned())));
    assert!(!joiner.has_spoken());
    joiner.end(&mut out);
    assert_eq!(String::from_utf8(out.concat()).unwrap(), first);
}

#[test]
fn a_later_leg_must_keep_the_order() {
    let first = answer("a", &text_chunk("a", "One."), r#""stop""#);
    let call =
        |index: u64, id: &str| chunk("b", &json!({"tool_calls": [{"index": index, "id": id}]}).to_string(), "null");
    let stop = || chunk("b", "{}", r#""stop""#);
    let cases = [
        ("data: nonsense\n\n".to_owned(), "unreadable"),
        ("data: [DONE]\n\n".to_owned(), "a marker without a finish"),
        (call(1, "c"), "an index that was left out"),
        (call(0, ""), "a call that was not begun"),
        (stop() + &text_chunk("b", "x"), "text behind the end"),
        (chunk("b", "{}", "null").replace("\"index\":0", "\"index\":1"), "another choice"),
        (chunk("b", r#"{"content":[{"type":"text","text":"x"}]}"#, "null"), "content that is no string"),
        ("data: {\"error\":{\"message\":\"x\"}}\n\n".to_owned(), "an error"),
    ];
    for (later, what) in cases {
        assert!(CHAT.break_with(&first, &later).is_some(), "{what}");
    }
    for harmless in
        [call(0, "c") + &call(1, "d") + &call(0, ""), stop() + &stop(), stop() + "data: [DONE]\n\ndata: [DONE]\n\n"]
    {
        assert_eq!(CHAT.break_with(&first, &harmless), None, "{harmless}");
    }
}

#[test]
fn an_answer_that_no_message_can_hold_is_none() {
    let with = |delta: &str| CHAT.join(&[answer("a", &chunk("a", delta, "null"), r#""stop""#)]).answers.remove(0);
    assert_eq!(with(r#"{"content":[{"type":"text","text":"x"}]}"#), None);
    assert_eq!(with(r#"{"audio":{"id":"x"}}"#), None);
    assert_eq!(with(r#"{"function_call":{"name":"f","arguments":"{}"}}"#), None);
    assert_eq!(with(r#"{"content":" \n"}"#), Some(vec![]));
    assert_eq!(
        with(r#"{"refusal":"no"}"#),
        Some(vec![r#"{"role":"assistant","content":null,"refusal":"no"}"#.to_owned()])
    );
    // More than is kept.
    let long = text_chunk("a", &"x".repeat(9 << 20));
    assert_eq!(CHAT.join(&[answer("a", &(long.clone() + &long), r#""stop""#)]).answers, [None]);
}

#[test]
fn bodies_are_joined() {
    let body = |id: &str, content: &str, usage: &str| {
        format!(
            r#"{{"id":"{id}", "object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":{content},"refusal":null}},"finish_reason":"stop"}}],"usage":{usage}}}"#
        )
    };
    let first = body("a", r#""One.""#, r#"{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}"#);
    let second = body("b", "null", "null");
    let third = body("c", r#""Thr\u0065e.""#, r#"{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}"#);
    assert_eq!(CHAT.join_bodies(&[&first]).0, first);
    let (joined, answers) = CHAT.join_bodies(&[&first, &second, &third]);
    assert_eq!(
        joined,
        body("a", r#""One.\n\nThree.""#, r#"{"prompt_tokens":10,"completion_tokens":22,"total_tokens":32}"#)
    );
    let message = |text: &str| Some(vec![format!(r#"{{"role":"assistant","content":"{text}"}}"#)]);
    assert_eq!(answers, [message("One."), Some(vec![]), message("Three.")]);
}

/// A chunk of what the model says.
fn any_delta() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,5}".prop_map(|text| json!({"content": text}).to_string()),
        Just(r#"{"role":"assistant","content":"x"}"#.to_owned()),
        Just(r#"{"reasoning_content":"hm"}"#.to_owned()),
        Just(r#"{"novelty":[1.0]}"#.to_owned()),
        Just("{}".to_owned()),
    ]
}

proptest! {
    /// Any legs: one message, whose text and cost are theirs together.
    #[test]
    fn any_legs_are_one_message(
        legs in proptest::collection::vec((proptest::collection::vec(any_delta(), 0..5), any::<bool>(), 1u64..99), 1..4),
        calls in 0usize..3,
    ) {
        let last = legs.len() - 1;
        let streams: Vec<String> = legs.iter().enumerate().map(|(number, (deltas, ping, cost))| {
            let id = format!("id{number}");
            let mut middle: String = deltas.iter().map(|delta| chunk(&id, delta, "null")).collect();
            // One role per message: the first leg's own are not ours to change.
            if number == 0 { middle = middle.replace(r#""role":"assistant","content":"x""#, r#""content":"x""#); }
            if *ping { middle += ": ping\n\ndata: {\"id\":\"\",\"choices\":[]}\n\n"; }
            for call in (0..calls).filter(|_| number == last) {
                let begin = json!({"tool_calls": [{"index": call, "id": format!("c{call}"), "function": {"name": "f", "arguments": ""}}]});
                let more = json!({"tool_calls": [{"index": call, "function": {"arguments": "{}"}}]});
                middle += &(chunk(&id, &begin.to_string(), "null") + &chunk(&id, &more.to_string(), "null"));
            }
            answer(&id, &middle, r#""stop""#).replace("data: [DONE]", &(usage_chunk(&id, *cost, *cost) + "data: [DONE]"))
        }).collect();
        let joined = CHAT.join(&streams);
        let message = read(&joined.stream());
        let texts: Vec<String> = streams.iter().map(|leg| read_text(leg)).filter(|text| !text.is_empty()).collect();
        prop_assert_eq!(message.text, texts.join("\n\n"));
        prop_assert_eq!(message.calls.len(), calls);
        prop_assert!(message.done && message.finish.as_deref() == Some("stop"));
        let output: u64 = legs.iter().map(|(_, _, cost)| cost).sum();
        let usage = message.usage.unwrap();
        prop_assert_eq!((usage["prompt_tokens"].as_u64(), usage["completion_tokens"].as_u64()), (Some(legs[last].2), Some(output)));
        prop_assert_eq!(usage["total_tokens"].as_u64(), Some(legs[last].2 + output));
        for (leg, answer) in streams.iter().zip(&joined.answers) {
            let said: String = answer.as_ref().unwrap().concat();
            let text = read_text(leg);
            prop_assert!(text.trim().is_empty() || said.contains(&json!({"content": text}).to_string()[1..text.len() + 13]), "{} {}", said, text);
        }
    }

    #[test]
    fn hostile_legs_are_survived(later in proptest::collection::vec(prop_oneof![
        "(data: )?[\\[\\]{}\":,a-z0-9 ]{0,40}\n\n",
        any_delta().prop_map(|delta| chunk("b", &delta, "null")),
        testing_json().prop_map(|value| format!("data: {{\"choices\":[{{\"delta\":{value},\"finish_reason\":{value}}}],\"usage\":{value}}}\n\n")),
    ], 0..8)) {
        survive(CHAT, &answer("a", &text_chunk("a", "One."), r#""stop""#), &later);
        survive(CHAT, "", &later);
    }
}

fn testing_json() -> impl Strategy<Value = Value> {
    crate::dialect::testing::any_json()
}

/// The text of one leg, as its own stream has it.
fn read_text(stream: &str) -> String {
    CHAT.streamed(stream.as_bytes()).text
}
