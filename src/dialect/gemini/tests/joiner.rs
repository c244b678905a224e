use crate::context::AnswerForm;
use crate::dialect::gemini::Gemini;
use crate::dialect::leg_testing::{Owned, alone, feed, finished, form_of, join, join_anything, pieces, samples};
use crate::dialect::{Dialect, JoinError};
use proptest::prelude::*;
use serde_json::{Value, json};

fn frames(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn chunks(form: AnswerForm, stream: &str) -> Vec<Value> {
    if form == AnswerForm::JsonArray {
        return serde_json::from_str::<Value>(stream)
            .unwrap_or_else(|error| panic!("{error}: {stream}"))
            .as_array()
            .unwrap()
            .clone();
    }
    let chunk = |frame: &str| {
        let data = frame.trim().strip_prefix("data: ").unwrap_or_else(|| panic!("the SDK does not read {frame}"));
        serde_json::from_str(data).unwrap()
    };
    stream.replace("\r\n", "\n").split("\n\n").filter(|frame| !frame.trim().is_empty()).map(chunk).collect()
}

/// What a whole answer says.
#[derive(Debug, Default, PartialEq)]
struct Told {
    text: String,
    parts: Vec<Value>,
    finish: Option<String>,
    usage: Value,
    ids: Vec<Value>,
}

/// The law of an answer; gives what it says.
fn legal(form: AnswerForm, stream: &str) -> Told {
    let mut told = Told::default();
    for chunk in chunks(form, stream) {
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            if part == &json!({"text": ""}) {
                continue;
            }
            assert_eq!(told.finish, None, "content behind the end: {stream}");
            if part["thought"] != true {
                told.text.push_str(part["text"].as_str().unwrap_or_default());
            }
            told.parts.push(part.clone());
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            assert_eq!(told.finish.replace(reason.to_owned()), None, "two ends: {stream}");
        }
        if let Some(usage) = chunk.get("usageMetadata") {
            told.usage = usage.clone();
        }
        if let Some(id) = chunk.get("responseId").filter(|id| !told.ids.contains(id)) {
            told.ids.push(id.clone());
        }
    }
    assert!(told.finish.is_some() && told.ids.len() <= 1, "{told:?}: {stream}");
    told
}

fn number(usage: &Value, key: &str) -> u64 {
    usage[key].as_u64().unwrap_or_default()
}

fn ends_with_text(piece: &Owned) -> bool {
    let chunk: Value = piece.data.as_deref().and_then(|data| serde_json::from_slice(data).ok()).unwrap_or_default();
    let candidate = &chunk["candidates"][0];
    let parts = candidate["content"]["parts"].as_array();
    candidate["finishReason"] == "STOP" && parts.is_some_and(|parts| parts.iter().any(|part| part["text"] != ""))
}

#[test]
fn a_single_leg_is_byte_identical_unless_its_end_brings_text() {
    let mut cut = 0;
    for (file, bytes, verdict) in samples(&Gemini) {
        let form = form_of(&file);
        let (before, after) = (String::from_utf8_lossy(&bytes).into_owned(), alone(&Gemini, form, &bytes));
        if before != after {
            cut += 1;
        }
        if verdict == "finished" && file != "gemini-candidates2.sse" {
            assert_eq!(legal(form, &after), legal(form, &before), "{file}");
        }
        assert!(before == after || pieces(form, &bytes).iter().any(ends_with_text), "{file}");
    }
    assert!(cut > 0);
}

#[test]
fn text_is_not_held_with_the_end() {
    let chunk = json!({"candidates": [{"content": {"parts": [{"text": "Hi.", "thoughtSignature": "S"}], "role": "model"}, "finishReason": "STOP", "index": 0, "x": 1}], "usageMetadata": {"totalTokenCount": 3}, "responseId": "r"});
    let mut joiner = Gemini.joiner(AnswerForm::Sse);
    let mut out = vec![];
    feed(joiner.as_mut(), AnswerForm::Sse, frames(&[chunk]).as_bytes(), &mut out).unwrap();
    insta::assert_snapshot!(String::from_utf8(out.concat()).unwrap(), @r#"data: {"candidates":[{"content":{"parts":[{"text":"Hi.","thoughtSignature":"S"}],"role":"model"},"index":0}],"responseId":"r"}"#);
    out.clear();
    joiner.end(&mut out);
    insta::assert_snapshot!(String::from_utf8(out.concat()).unwrap(), @r#"data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0,"x":1}],"usageMetadata":{"totalTokenCount":3},"responseId":"r"}"#);
}

/// A stream of events as an array.
fn as_array(stream: &[u8]) -> String {
    let pieces = pieces(AnswerForm::Sse, stream);
    let elements: Vec<_> =
        pieces.iter().filter_map(|piece| piece.data.as_deref()).map(String::from_utf8_lossy).collect();
    format!("[{}\n]", elements.join("\n,\n"))
}

#[test]
fn any_two_finished_answers_make_one_legal_answer() {
    let mut samples = finished(&Gemini);
    samples.retain(|(file, _)| file != "gemini-candidates2.sse");
    assert!(samples.len() > 5);
    for (first_file, first) in &samples {
        for (second_file, second) in &samples {
            let both = [first, second].map(|leg| legal(AnswerForm::Sse, std::str::from_utf8(leg).unwrap()));
            let joined = [
                (AnswerForm::Sse, join(&Gemini, AnswerForm::Sse, &[first, second]).unwrap().text),
                (AnswerForm::JsonArray, {
                    let arrays = [as_array(first), as_array(second)];
                    join(&Gemini, AnswerForm::JsonArray, &[arrays[0].as_bytes(), arrays[1].as_bytes()]).unwrap().text
                }),
            ];
            for (form, joined) in joined {
                let told = legal(form, &joined);
                let texts = [both[0].text.as_str(), both[1].text.as_str()];
                let gap = if texts.contains(&"") { "" } else { "\n\n" };
                assert_eq!(told.text, texts.join(gap), "{first_file} {second_file}");
                assert_eq!(told.parts.len(), both[0].parts.len() + both[1].parts.len(), "{first_file} {second_file}");
                for key in ["candidatesTokenCount", "thoughtsTokenCount"] {
                    assert_eq!(number(&told.usage, key), number(&both[0].usage, key) + number(&both[1].usage, key));
                }
                assert_eq!(number(&told.usage, "promptTokenCount"), number(&both[1].usage, "promptTokenCount"));
            }
        }
    }
}

fn part(part: Value) -> Value {
    json!({"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}], "responseId": "b"})
}

fn end(part: Value, output: u64) -> Value {
    json!({"candidates": [{"content": {"parts": [part], "role": "model"}, "finishReason": "STOP", "index": 0}], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": output, "totalTokenCount": output + 7}, "modelVersion": "m", "responseId": "b"})
}

#[test]
fn later_legs_are_rewritten_where_they_must_be() {
    let first = frames(&[
        json!({"candidates": [{"content": {"parts": [{"text": "One."}]}}], "responseId": "a", "modelVersion": "v"}),
        end(json!({"inlineData": {}}), 2),
    ]);
    let second = format!(
        "\n{}",
        frames(&[
            json!({}),
            json!({"candidates": [{"content": {"parts": [{"text": "h", "thought": true}, {"text": "\u{e9}"}], "x": 1.0}}], "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}, "responseId": "b", "y": null}),
            end(json!({"text": ""}), 5),
        ])
    );
    let joined = join(&Gemini, AnswerForm::Sse, &[first.as_bytes(), second.as_bytes()]).unwrap();
    insta::assert_snapshot!(joined.text, @r#"
    data: {"candidates":[{"content":{"parts":[{"text":"One."}]}}],"responseId":"a","modelVersion":"v"}


    data: {}

    data: {"candidates":[{"content":{"parts":[{"inlineData":{}}],"role":"model"},"index":0}],"modelVersion":"m","responseId":"b"}

    data: {"candidates":[{"content":{"parts":[{"text":"h","thought":true},{"text":"\n\né"}],"x":1.0}}],"usageMetadata":{"promptTokenCount":9,"totalTokenCount":11,"candidatesTokenCount":2},"responseId":"a","y":null}

    data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":7,"totalTokenCount":14},"modelVersion":"v","responseId":"a"}
    "#);
    assert_eq!(
        joined.legs,
        [
            Some(vec![r#"{"role":"model","parts":[{"text":"One."},{"inlineData":{}}]}"#.to_owned()]),
            Some(vec![r#"{"role":"model","parts":[{"text":"é"}]}"#.to_owned()]),
        ]
    );
}

#[test]
fn sources_of_a_text_go_down_once() {
    let mut sourced = end(json!({"text": "One."}), 2);
    sourced["candidates"][0]["groundingMetadata"] = json!({"webSearchQueries": ["ferry"]});
    let (first, second) = (frames(&[sourced]), frames(&[end(json!({"text": "Two."}), 3)]));
    for legs in [vec![first.as_bytes()], vec![first.as_bytes(), second.as_bytes()]] {
        let joined = join(&Gemini, AnswerForm::Sse, &legs).unwrap().text;
        assert_eq!(joined.matches("groundingMetadata").count(), 1, "{joined}");
        legal(AnswerForm::Sse, &joined);
    }
}

#[test]
fn a_later_leg_out_of_order_is_refused() {
    let text = || json!({"text": "x"});
    let mut twice = part(text());
    let one = twice["candidates"][0].clone();
    twice["candidates"].as_array_mut().unwrap().push(one);
    let mut other = part(text());
    other["candidates"][0]["index"] = json!(1);
    let cases = [
        ("content behind the end", vec![end(text(), 1), part(text())]),
        ("two ends", vec![end(text(), 1), end(json!({"text": ""}), 1)]),
        ("two candidates", vec![twice]),
        ("another candidate", vec![other]),
    ];
    let first = frames(&[end(text(), 1)]);
    for (case, chunks) in cases {
        let joined = join(&Gemini, AnswerForm::Sse, &[first.as_bytes(), frames(&chunks).as_bytes()]);
        assert!(matches!(joined.err(), Some(JoinError::OutOfOrder(_))), "{case}");
    }
    let error = frames(&[json!({"error": {"status": "UNAVAILABLE", "message": "Busy"}})]);
    let joined = join(&Gemini, AnswerForm::Sse, &[first.as_bytes(), error.as_bytes()]);
    assert_eq!(joined.err(), Some(JoinError::Failed("UNAVAILABLE: Busy".to_owned())));
    for piece in ["data: {\"a\"\n\n", "data: []\n\n"] {
        let joined = join(&Gemini, AnswerForm::Sse, &[first.as_bytes(), piece.as_bytes()]);
        assert!(matches!(joined.err(), Some(JoinError::Unreadable(_))), "{piece}");
    }
}

#[test]
fn a_leg_that_says_nothing_leaves_the_end_to_the_one_before() {
    let first = [part(json!({"text": "One."})), end(json!({"inlineData": {}}), 3)];
    let second = [part(json!({"text": "Two."})), end(json!({"text": "", "thoughtSignature": "S"}), 4)];
    let whole = [end(json!({"inlineData": {}}), 5)];
    let error = [json!({}), json!({"error": {}})];
    for form in [AnswerForm::Sse, AnswerForm::JsonArray] {
        let write = |chunks: &[Value]| match form {
            AnswerForm::JsonArray => as_array(frames(chunks).as_bytes()),
            _ => frames(chunks),
        };
        for legs in [
            vec![write(&first)],
            vec![write(&whole)],
            vec![write(&first), write(&second)],
            vec![write(&whole), write(&whole)],
        ] {
            let bytes: Vec<&[u8]> = legs.iter().map(|leg| leg.as_bytes()).collect();
            let expected = join(&Gemini, form, &bytes).unwrap().text;
            for last in [write(&[json!({})]), write(&error)] {
                let mut joiner = Gemini.joiner(form);
                let mut out = vec![];
                for leg in &bytes {
                    feed(joiner.as_mut(), form, leg, &mut out).unwrap();
                    joiner.next_leg();
                }
                let _ = feed(joiner.as_mut(), form, last.as_bytes(), &mut out);
                assert!(!joiner.has_spoken());
                joiner.end(&mut out);
                let joined = String::from_utf8(out.concat()).unwrap();
                assert_eq!(legal(form, &joined), legal(form, &expected), "{joined}");
                if legs.len() == 1 && form == AnswerForm::Sse {
                    assert_eq!(joined.replace("data: {}\n\n", ""), legs[0]);
                }
            }
        }
    }
}

#[test]
fn an_answer_goes_back_as_it_was_said() {
    let of = |parts: &[Value]| {
        let chunks: Vec<Value> = parts.iter().cloned().map(part).collect();
        join(&Gemini, AnswerForm::Sse, &[frames(&chunks).as_bytes()]).unwrap().legs.remove(0)
    };
    let cases = [
        (vec![json!({"text": "a"}), json!({"text": "b"})], r#"[{"text":"ab"}]"#),
        (vec![json!({"text": "h", "thought": true}), json!({"text": "a"})], r#"[{"text":"a"}]"#),
        (
            vec![json!({"text": "a"}), json!({"text": "", "thoughtSignature": "S"})],
            r#"[{"text":"a"},{"text":"","thoughtSignature":"S"}]"#,
        ),
        (
            vec![json!({"functionCall": {"name": "n", "args": {"b": 1.5}}, "thoughtSignature": "S"})],
            r#"[{"functionCall":{"name":"n","args":{"b":1.5}},"thoughtSignature":"S"}]"#,
        ),
    ];
    for (parts, expected) in cases {
        assert_eq!(of(&parts).unwrap(), [format!(r#"{{"role":"model","parts":{expected}}}"#)]);
    }
    assert_eq!(of(&[json!({"text": ""})]), Some(vec![]));
    assert_eq!(of(&[json!({"functionCall": {"name": "n", "willContinue": true}})]), None);
}

#[test]
fn bodies_become_one_body() {
    let first = end(json!({"text": "One."}), 2).to_string();
    let second = end(json!({"text": "Two."}), 3).to_string().replace("\"b\"", "\"c\"");
    let joined =
        |legs: &[&str]| join(&Gemini, AnswerForm::Json, &legs.iter().map(|leg| leg.as_bytes()).collect::<Vec<_>>());
    assert_eq!(joined(&[&first]).unwrap().text, first);
    insta::assert_snapshot!(joined(&[&first, &second]).unwrap().text, @r#"{"candidates":[{"content":{"parts":[{"text":"One."},{"text":"\n\nTwo."}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":5,"totalTokenCount":12},"modelVersion":"m","responseId":"b"}"#);
    for bad in [r#"{"error":{"code":503}}"#, "<html>", r#"[{"error":{}}]"#, ""] {
        assert!(joined(&[&first, bad]).is_err(), "{bad}");
    }
}

fn any_part() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z]{0,5}".prop_map(|text| json!({"text": text})),
        "[a-z]{0,5}".prop_map(|text| json!({"text": text, "thought": true})),
        "[a-z]{0,5}".prop_map(|text| json!({"text": text, "thoughtSignature": "S"})),
        Just(json!({"executableCode": {"code": "x"}})),
    ]
}

fn any_leg() -> impl Strategy<Value = (Vec<Value>, u64)> {
    (prop::collection::vec(any_part(), 0..5), any_part(), 0_u64..99, any::<bool>()).prop_map(
        |(parts, last, output, quiet)| {
            let mut chunks: Vec<Value> = parts.into_iter().map(part).collect();
            if !quiet {
                chunks.insert(0, json!({}));
            }
            chunks.push(end(last, output));
            (chunks, output)
        },
    )
}

proptest! {
    #[test]
    fn legs_of_any_kind_make_one_legal_answer(legs in prop::collection::vec(any_leg(), 1..4), array: bool) {
        let form = if array { AnswerForm::JsonArray } else { AnswerForm::Sse };
        let streams: Vec<String> = legs.iter().map(|(chunks, _)| if array { as_array(frames(chunks).as_bytes()) } else { frames(chunks) }).collect();
        let bytes: Vec<&[u8]> = streams.iter().map(|stream| stream.as_bytes()).collect();
        let told = legal(form, &join(&Gemini, form, &bytes).unwrap().text);
        let each: Vec<Told> = streams.iter().map(|stream| legal(form, stream)).collect();
        let texts: Vec<&str> = each.iter().map(|told| told.text.as_str()).filter(|text| !text.is_empty()).collect();
        prop_assert_eq!(told.text, texts.join("\n\n"));
        prop_assert_eq!(told.parts.len(), each.iter().map(|told| told.parts.len()).sum::<usize>());
        prop_assert_eq!(number(&told.usage, "candidatesTokenCount"), legs.iter().map(|(_, output)| output).sum::<u64>());
        prop_assert_eq!(number(&told.usage, "totalTokenCount"), 7 + number(&told.usage, "candidatesTokenCount"));
    }

    #[test]
    fn hostile_legs_do_no_harm(
        first in prop::collection::vec(crate::dialect::testing::any_json(), 0..4),
        second in prop::collection::vec(crate::dialect::testing::any_json(), 0..4),
        array: bool,
    ) {
        let form = if array { AnswerForm::JsonArray } else { AnswerForm::Sse };
        let wrap = |values: &[Value]| {
            let chunks: Vec<Value> = values.iter().map(|value| json!({"candidates": [value], "usageMetadata": value})).collect();
            if array { as_array(frames(&chunks).as_bytes()) } else { frames(&chunks) }
        };
        let _ = join(&Gemini, form, &[wrap(&first).as_bytes(), wrap(&second).as_bytes()]);
    }

    #[test]
    fn any_bytes_are_survived(legs in prop::collection::vec(prop::collection::vec(any::<(Vec<u8>, Vec<u8>)>(), 0..4), 1..3)) {
        for form in [AnswerForm::Sse, AnswerForm::Json, AnswerForm::JsonArray] {
            join_anything(&Gemini, form, &legs);
        }
    }
}
