//! Streams as models and servers write them: alone they say what they said, two of them are one answer.
use crate::context::AnswerForm;
use crate::dialect::Dialect;
use crate::dialect::gemini::Gemini;
use crate::dialect::leg_testing::{feed, join};
use serde_json::{Value, json};

/// A chunk: parts, and what else the candidate and the chunk have.
fn chunk(parts: Value, candidate: &Value, rest: &Value) -> Value {
    let mut inner = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    let mut whole = json!({});
    inner.as_object_mut().unwrap().extend(candidate.as_object().unwrap().clone());
    whole["candidates"] = json!([inner]);
    whole.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    whole
}

fn text(text: &str) -> Value {
    chunk(json!([{"text": text}]), &json!({}), &json!({}))
}

fn end(parts: Value, candidate: &Value) -> Value {
    let mut stop = json!({"finishReason": "STOP"});
    stop.as_object_mut().unwrap().extend(candidate.as_object().unwrap().clone());
    chunk(parts, &stop, &json!({"usageMetadata": {"candidatesTokenCount": 3, "totalTokenCount": 9}}))
}

fn servers() -> [(&'static str, Vec<Value>); 6] {
    let bare = json!({});
    let thought =
        |more: Value| chunk(json!([more]), &json!({}), &json!({"usageMetadata": {"trafficType": "ON_DEMAND"}}));
    [
        ("text with the end", vec![text("H"), end(json!([{"text": "i."}]), &bare)]),
        (
            "thoughts, and a signature on an empty last part",
            vec![
                thought(json!({"text": "Hm.", "thought": true})),
                text("Hi."),
                end(json!([{"text": "", "thoughtSignature": "S"}]), &bare),
            ],
        ),
        (
            "sources in the last chunk",
            vec![text("Hi."), end(json!([{"text": ""}]), &json!({"groundingMetadata": {"webSearchQueries": ["x"]}}))],
        ),
        (
            "an end without content",
            vec![text("Hi."), {
                let mut end = end(json!([]), &bare);
                end["candidates"][0].as_object_mut().unwrap().remove("content");
                end
            }],
        ),
        (
            "costs behind the end",
            vec![
                text("Hi."),
                chunk(json!([{"text": ""}]), &json!({"finishReason": "STOP"}), &bare),
                json!({"usageMetadata": {"candidatesTokenCount": 3, "totalTokenCount": 9}}),
            ],
        ),
        ("all in one chunk", vec![end(json!([{"text": "Hi."}]), &bare)]),
    ]
}

/// The forms in which a server may write chunks.
fn forms(chunks: &[Value]) -> [(AnswerForm, String); 4] {
    let texts: Vec<String> = chunks.iter().map(Value::to_string).collect();
    [
        (AnswerForm::Sse, texts.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()),
        (AnswerForm::Sse, texts.iter().map(|chunk| format!("data:{chunk}\r\n\r\n")).collect()),
        (AnswerForm::JsonArray, format!("[{}]", texts.join(","))),
        (AnswerForm::JsonArray, format!("\n [\r\n{}\n\n]\n", texts.join("\n\t,\r\n "))),
    ]
}

fn read(form: AnswerForm, stream: &str) -> Vec<Value> {
    match form {
        AnswerForm::JsonArray => serde_json::from_str(stream).unwrap_or_else(|error| panic!("{error}: {stream}")),
        _ => stream
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect(),
    }
}

/// Text and output of an answer, which has one end.
fn told(chunks: &[Value]) -> (String, u64, usize) {
    let candidates = || chunks.iter().map(|chunk| &chunk["candidates"][0]);
    let parts = candidates().flat_map(|candidate| candidate["content"]["parts"].as_array().into_iter().flatten());
    let shown = parts.filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str());
    let cost = chunks.iter().rev().find_map(|chunk| chunk["usageMetadata"]["candidatesTokenCount"].as_u64());
    let ends = candidates().filter(|candidate| candidate.get("finishReason").is_some()).count();
    (shown.collect(), cost.unwrap_or_default(), ends)
}

#[test]
fn alone_they_say_the_same_and_two_are_one_answer() {
    for (server, chunks) in servers() {
        for (form, leg) in forms(&chunks) {
            let alone = join(&Gemini, form, &[leg.as_bytes()]).unwrap();
            assert_eq!(told(&read(form, &alone.text)), ("Hi.".to_owned(), 3, 1), "{server} {form:?}");
            let joined = join(&Gemini, form, &[leg.as_bytes(), leg.as_bytes()]).unwrap();
            assert_eq!(told(&read(form, &joined.text)), ("Hi.\n\nHi.".to_owned(), 6, 1), "{server} {form:?}");
            for once in ["thoughtSignature", "groundingMetadata", "\"thought\""] {
                assert_eq!(joined.text.matches(once).count(), 2 * leg.matches(once).count(), "{once} {server}");
            }
            assert!(joined.legs.iter().all(|answer| answer.as_ref().is_some_and(|said| said.len() == 1)), "{server}");
        }
    }
}

/// Nothing is held of a stream that ends in every chunk, and nothing follows it.
#[test]
fn text_behind_a_finish_flows() {
    let chunks = [0, 1, 2].map(|_| end(json!([{"text": "Hi."}]), &json!({})));
    for (form, leg) in forms(&chunks) {
        let mut joiner = Gemini.joiner(form);
        let mut out = vec![];
        feed(joiner.as_mut(), form, leg.as_bytes(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out.concat()).unwrap().matches("Hi.").count(), 3);
        assert_eq!(joiner.answer(), None);
        joiner.end(&mut out);
        assert_eq!(told(&read(form, &String::from_utf8(out.concat()).unwrap())).0, "Hi.Hi.Hi.");
    }
}
