//! What the tests of joining and splitting share.
use super::testing::{lower, view};
use super::{Dialect, JoinError, Joiner, Piece, of};
use crate::context::{AnswerForm, Leg, LegReply, LegResult, Place};
use crate::json::raw;
use bytes::Bytes;
use serde_json::Value;
use std::path::PathBuf;

/// A piece that owns what it says.
pub(super) struct Owned {
    pub(super) raw: Bytes,
    event: Option<Vec<u8>>,
    pub(super) data: Option<Vec<u8>>,
}

impl Owned {
    pub(super) fn piece(&self) -> Piece<'_> {
        Piece { raw: self.raw.clone(), event: self.event.as_deref(), data: self.data.as_deref() }
    }
}

/// The pieces of an answer.
pub(super) fn pieces(form: AnswerForm, bytes: &[u8]) -> Vec<Owned> {
    match form {
        AnswerForm::Sse => events(&String::from_utf8_lossy(bytes)),
        AnswerForm::JsonArray => elements(&String::from_utf8_lossy(bytes)),
        AnswerForm::Json => vec![Owned { raw: bytes.to_vec().into(), event: None, data: Some(bytes.to_vec()) }],
    }
}

fn events(text: &str) -> Vec<Owned> {
    let (mut pieces, mut frame) = (vec![], String::new());
    for line in text.split_inclusive('\n') {
        frame.push_str(line);
        if line.trim().is_empty() {
            pieces.push(event(&std::mem::take(&mut frame)));
        }
    }
    if !frame.is_empty() {
        pieces.push(event(&frame));
    }
    pieces
}

fn event(frame: &str) -> Owned {
    let field = |name: &str| {
        let values = frame.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let values: Vec<_> = values.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect();
        (!values.is_empty()).then(|| values.join("\n").into_bytes())
    };
    let bare = frame.starts_with('{').then(|| frame.trim().as_bytes().to_vec());
    Owned { raw: frame.to_owned().into(), event: field("event"), data: field("data").or(bare) }
}

fn elements(text: &str) -> Vec<Owned> {
    let (mut pieces, mut from) = (vec![], 0);
    for span in raw::array(text).unwrap_or_default() {
        let data = Some(text.as_bytes()[span.start..span.end].to_vec());
        pieces.push(Owned { raw: text[from..span.end].to_owned().into(), event: None, data });
        from = span.end;
    }
    pieces.push(Owned { raw: text[from..].to_owned().into(), event: None, data: None });
    pieces
}

/// What became of several legs.
pub(super) struct Joined {
    pub(super) text: String,
    pub(super) legs: Vec<Option<Vec<String>>>,
}

/// Joins whole legs.
pub(super) fn join(dialect: &dyn Dialect, form: AnswerForm, legs: &[&[u8]]) -> Result<Joined, JoinError> {
    let mut joiner = dialect.joiner(form);
    let (mut out, mut answers) = (vec![], vec![]);
    for (index, leg) in legs.iter().enumerate() {
        if index > 0 {
            joiner.next_leg();
        }
        feed(joiner.as_mut(), form, leg, &mut out)?;
        answers.push(joiner.answer());
    }
    joiner.end(&mut out);
    Ok(Joined { text: String::from_utf8_lossy(&out.concat()).into_owned(), legs: answers })
}

/// What becomes of a leg that stays alone, and of whatever comes behind it.
pub(super) fn alone(dialect: &dyn Dialect, form: AnswerForm, leg: &[u8]) -> String {
    let mut joiner = dialect.joiner(form);
    let mut out = vec![];
    for piece in pieces(form, leg) {
        joiner.piece(&piece.piece(), &mut out).unwrap();
    }
    joiner.end(&mut out);
    String::from_utf8_lossy(&out.concat()).into_owned()
}

/// Feeds one leg, until it is over. An error must leave `out` as it was.
pub(super) fn feed(
    joiner: &mut dyn Joiner,
    form: AnswerForm,
    leg: &[u8],
    out: &mut Vec<Bytes>,
) -> Result<(), JoinError> {
    for piece in pieces(form, leg) {
        let before = out.len();
        let result = joiner.piece(&piece.piece(), out);
        if result.is_err() {
            assert_eq!(out.len(), before, "an error left something behind");
        }
        result?;
        if joiner.is_over() {
            break;
        }
    }
    Ok(())
}

/// Anything at all as two legs must come to an end.
pub(super) fn join_anything(dialect: &dyn Dialect, form: AnswerForm, legs: &[Vec<(Vec<u8>, Vec<u8>)>]) {
    let mut joiner = dialect.joiner(form);
    let mut out = vec![];
    for leg in legs {
        for (event, data) in leg {
            let event = (!event.is_empty()).then_some(event.as_slice());
            let _ = joiner.piece(&Piece { raw: data.clone().into(), event, data: Some(data) }, &mut out);
        }
        let _ = (joiner.is_over(), joiner.has_spoken(), joiner.answer());
        joiner.next_leg();
    }
    joiner.end(&mut out);
}

/// The recorded streams of a dialect: name, bytes, verdict.
pub(super) fn samples(dialect: &dyn Dialect) -> Vec<(String, Vec<u8>, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire-samples");
    let manifest = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    let manifest: serde_json::Map<String, Value> = serde_json::from_str(&manifest).unwrap();
    let of_dialect = manifest.iter().filter(|(_, entry)| entry["dialect"] == dialect.id().name());
    let sample = |(file, entry): (&String, &Value)| {
        let verdict = entry["turn"].as_str().unwrap().to_owned();
        (file.clone(), std::fs::read(folder.join(file)).unwrap(), verdict)
    };
    of_dialect.map(sample).collect()
}

/// The streams of turns that ended by themselves.
pub(super) fn finished(dialect: &dyn Dialect) -> Vec<(String, Vec<u8>)> {
    let is_finished = |(_, _, verdict): &(String, Vec<u8>, String)| verdict == "finished";
    let finished = samples(dialect).into_iter().filter(|sample| sample.0.ends_with(".sse") && is_finished(sample));
    finished.map(|(file, bytes, _)| (file, bytes)).collect()
}

/// The form of a sample.
pub(super) fn form_of(file: &str) -> AnswerForm {
    if file.ends_with(".json") { AnswerForm::JsonArray } else { AnswerForm::Sse }
}

/// A leg that was told something.
pub(super) fn told(answer: &[&str], text: &str) -> Leg {
    let answer = answer.iter().map(|element| (*element).to_owned()).collect();
    Leg { id: Some("id_leg".to_owned()), answer, reply: LegReply::Message(text.to_owned()) }
}

/// A leg whose call was answered.
pub(super) fn answered(answer: &[&str], id: &str, name: &str, text: &str) -> Leg {
    let result = LegResult {
        id: id.to_owned(),
        name: name.to_owned(),
        kind: String::new(),
        text: text.to_owned(),
        is_error: true,
    };
    Leg { reply: LegReply::Results(vec![result]), ..told(answer, "") }
}

/// The body of the leg behind `leg`.
pub(super) fn extend(path: &str, body: &str, leg: &Leg) -> String {
    let endpoint = super::endpoint(&http::Method::POST, path, None).unwrap();
    let (doc, view) = view(path, body).unwrap();
    let splice = of(endpoint.dialect).extend(&doc, &view, leg).unwrap();
    String::from_utf8(splice.apply(doc.bytes()).unwrap().to_bytes().to_vec()).unwrap()
}

/// The body with an answer taken apart.
pub(super) fn split(path: &str, body: &str, item: usize, legs: &[Leg]) -> String {
    lower(path, body, &[Place::Split { item, legs: legs.into() }]).unwrap()
}
