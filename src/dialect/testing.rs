//! What the dialects' tests share.
use super::{AnswerReader, Dialect, LowerError, NeutralRequest, NoCache, Reading, ToolResult, ViewError, of};
use crate::context::answer::Ending;
use crate::context::{Answer, AnswerForm, Finish, Place, RequestView};
use crate::json::{ArrayFramer, Doc};
use crate::sse::Framer;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;
use std::path::PathBuf;

/// Blocks that a test's client puts there by itself.
pub(super) fn is_reminder(text: &str) -> bool {
    text.starts_with("<system-reminder>")
}

/// A reading without a memory.
pub(super) fn reading() -> Reading<'static> {
    Reading { is_reminder: &is_reminder, cache: &NoCache }
}

/// A body and its view.
pub(super) fn view(path: &str, body: &str) -> Result<(Doc, RequestView), ViewError> {
    let endpoint = super::endpoint(&http::Method::POST, path, None).unwrap();
    let doc = Doc::parse(Bytes::copy_from_slice(body.as_bytes()))?;
    let view = of(endpoint.dialect).view(&doc, &endpoint, &reading())?;
    Ok((doc, view))
}

/// The body after placements.
pub(super) fn lower(path: &str, body: &str, places: &[Place]) -> Result<String, LowerError> {
    let endpoint = super::endpoint(&http::Method::POST, path, None).unwrap();
    let (doc, view) = view(path, body).unwrap();
    let splice = of(endpoint.dialect).lower(&doc, &view, places)?;
    let lowered = splice.apply(doc.bytes()).unwrap().to_bytes();
    Ok(String::from_utf8(lowered.to_vec()).unwrap())
}

/// Placements, written short.
pub(super) fn front(after: usize, text: &str) -> Place {
    Place::SystemFront { after, texts: vec![text.to_owned()] }
}
pub(super) fn end(text: &str) -> Place {
    Place::SystemEnd { texts: vec![text.to_owned()] }
}
pub(super) fn tail(item: usize, text: &str) -> Place {
    Place::ItemEnd { item, texts: vec![text.to_owned()] }
}

pub(super) fn result(item: usize, result: usize, replace: Option<&str>, append: &[&str]) -> Place {
    let append = append.iter().map(|text| (*text).to_owned()).collect();
    Place::Result { item, result, replace: replace.map(str::to_owned), append }
}

/// The results of one item.
pub(super) fn results(path: &str, body: &str, item: usize) -> Vec<ToolResult> {
    let endpoint = super::endpoint(&http::Method::POST, path, None).unwrap();
    let (doc, view) = view(path, body).unwrap();
    of(endpoint.dialect).results(&doc, &view, item)
}

/// A neutral request, a line for each of its parts.
pub(super) fn neutral_lines(neutral: &NeutralRequest) -> String {
    let value = serde_json::to_value(neutral).unwrap();
    let lists = ["system", "messages", "tools"].into_iter().flat_map(|key| value[key].as_array().unwrap());
    let lines = lists.chain([&value["tool_choice"], &value["params"]]).map(Value::to_string);
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads a stream that arrives in two pieces.
pub(super) fn read(dialect: &dyn Dialect, form: AnswerForm, bytes: &[u8], cut: usize) -> Answer {
    let mut reader = dialect.reader(form);
    let (first, second) = bytes.split_at(cut);
    match form {
        AnswerForm::Sse => {
            let mut framer = Framer::new();
            framer.push(first, |frame| reader.event(frame.event, &frame.data));
            framer.push(second, |frame| reader.event(frame.event, &frame.data));
            framer.finish(|frame| reader.event(frame.event, &frame.data));
        }
        AnswerForm::JsonArray => {
            let mut framer = ArrayFramer::new();
            framer.push(first, |element| reader.event(None, element));
            framer.push(second, |element| reader.event(None, element));
            framer.finish(|element| reader.event(None, element));
        }
        AnswerForm::Json => reader.body(bytes),
    }
    reader.finish()
}

/// Reads a stream from one piece of text.
pub(super) fn read_text(dialect: &dyn Dialect, stream: &str) -> Answer {
    read(dialect, AnswerForm::Sse, stream.as_bytes(), 0)
}

/// Every recorded stream of a dialect, cut at every byte: the verdict of `manifest.json` must come out.
pub(super) fn check_samples(dialect: &dyn Dialect) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire-samples");
    let manifest = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    let manifest: serde_json::Map<String, Value> = serde_json::from_str(&manifest).unwrap();
    let mut seen = 0;
    for (file, expected) in manifest.iter().filter(|(_, e)| e["dialect"] == dialect.id().name()) {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let form = if file.ends_with(".json") { AnswerForm::JsonArray } else { AnswerForm::Sse };
        let whole = read(dialect, form, &bytes, 0);
        check_verdict(file, &whole, expected);
        for cut in 0..bytes.len() {
            let answer = read(dialect, form, &bytes, cut);
            assert_eq!(format!("{answer:?}"), format!("{whole:?}"), "{file} cut at {cut}");
        }
        seen += 1;
    }
    assert!(seen > 20, "no samples");
}

fn check_verdict(file: &str, answer: &Answer, expected: &Value) {
    let is_tools = answer.ending == Ending::Complete && answer.finish == Finish::ToolCalls;
    match expected["turn"].as_str().unwrap() {
        "finished" | "finished-refusal" | "finished-unterminated" => {
            assert!(answer.is_finished(), "{file}: {answer:?}")
        }
        "tools" => assert!(is_tools, "{file}: {answer:?}"),
        "server-continues" => assert_eq!(answer.finish, Finish::Pause, "{file}"),
        "abnormal" => assert!(!answer.is_finished() && !is_tools, "{file}: {answer:?}"),
        "cut" => assert_eq!(answer.ending, Ending::Cut, "{file}"),
        "invalid" => {}
        other => panic!("{file}: verdict {other} is not known"),
    }
    if let Some(text) = expected["text"].as_str() {
        assert_eq!(answer.text, text, "{file}");
    }
    if let Some(tools) = expected["tools"].as_array() {
        let names: Vec<_> = answer.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, tools.iter().filter_map(Value::as_str).collect::<Vec<_>>(), "{file}");
    }
}

/// A reader that is fed anything at all must come to an end.
pub(super) fn feed_anything(reader: &mut dyn AnswerReader, pieces: &[Vec<u8>]) {
    for piece in pieces {
        reader.event(None, piece);
    }
    reader.body(pieces.first().map_or(b"", Vec::as_slice));
    let _ = reader.finish();
}

/// Any small JSON value, made of the words that the dialects look for.
pub(super) fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "type",
        "text",
        "role",
        "user",
        "assistant",
        "model",
        "content",
        "parts",
        "tool_use",
        "tool_result",
        "id",
        "name",
        "input",
        "thinking",
        "signature",
        "functionCall",
        "functionResponse",
        "args",
        "response",
        "output",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let member = (word.clone().prop_map(str::to_owned), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            prop::collection::vec(member, 0..5).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}
