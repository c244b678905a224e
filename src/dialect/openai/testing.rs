//! What the tests of both dialects need.
use crate::context::{Answer, AnswerForm, Edit, ItemFacts, Leg, LegReply, Place, RequestView, Step};
use crate::dialect::{Dialect, EditError, FactsCache, Joiner, NoCache, Piece, Reading, ViewError};
use crate::json::Doc;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Marks a client's reminder in these tests.
pub(in crate::dialect) const REMINDER: &str = "<reminder>";

/// A dialect with the path of its main endpoint.
#[derive(Clone, Copy)]
pub(in crate::dialect) struct Wire {
    pub(in crate::dialect) dialect: &'static dyn Dialect,
    pub(in crate::dialect) path: &'static str,
}

impl Wire {
    pub(in crate::dialect) fn try_view(self, doc: &Doc, cache: &dyn FactsCache) -> Result<RequestView, ViewError> {
        let endpoint = self.dialect.endpoint(&http::Method::POST, self.path, None).unwrap();
        self.dialect.view(doc, &endpoint, &Reading { is_reminder: &|text| text.starts_with(REMINDER), cache })
    }

    pub(in crate::dialect) fn view(self, body: &str) -> RequestView {
        self.try_view(&doc(body), &NoCache).unwrap()
    }

    pub(in crate::dialect) fn step(self, body: &str) -> Step {
        self.view(body).step
    }

    /// The body with these places lowered. It must be JSON.
    pub(in crate::dialect) fn lowered(self, body: &str, places: &[Place]) -> String {
        self.lowered_or_refused(body, places).unwrap()
    }

    /// The same; `None` if a placement has no place.
    pub(in crate::dialect) fn lowered_or_refused(self, body: &str, places: &[Place]) -> Option<String> {
        let doc = doc(body);
        let view = self.try_view(&doc, &NoCache).unwrap();
        let rope = self.dialect.lower(&doc, &view, places).ok()?.apply(doc.bytes()).unwrap();
        let text = String::from_utf8(rope.to_bytes().to_vec()).unwrap();
        serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        Some(text)
    }

    /// The body as an edit leaves it. It must be JSON that the dialect can read.
    pub(in crate::dialect) fn edited(self, body: &str, edit: &Value) -> Result<String, EditError> {
        let doc = doc(body);
        let view = self.try_view(&doc, &NoCache).unwrap();
        let edit: Edit = serde_json::from_value(edit.clone()).unwrap();
        let rope = self.dialect.edit(&doc, &view, &edit)?.apply(doc.bytes())?;
        let text = String::from_utf8(rope.to_bytes().to_vec()).unwrap();
        serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        self.view(&text);
        Ok(text)
    }

    /// The names of the tools that the body shows.
    pub(in crate::dialect) fn roster(self, body: &str) -> Option<Vec<String>> {
        let doc = doc(body);
        let view = self.try_view(&doc, &NoCache).unwrap();
        self.dialect.roster(&doc, &view)
    }

    /// The answer that a stream brings.
    pub(in crate::dialect) fn streamed(self, stream: &[u8]) -> Answer {
        let mut reader = self.dialect.reader(AnswerForm::Sse);
        for (event, data) in frames(stream) {
            reader.event(event.as_deref(), &data);
        }
        reader.finish()
    }

    pub(in crate::dialect) fn whole(self, body: &str) -> Answer {
        let mut reader = self.dialect.reader(AnswerForm::Json);
        reader.body(body.as_bytes());
        reader.finish()
    }
}

pub(in crate::dialect) fn doc(body: &str) -> Doc {
    Doc::parse(Bytes::copy_from_slice(body.as_bytes())).unwrap()
}

pub(in crate::dialect) fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|t| (*t).to_owned()).collect()
}

/// Splits a whole stream at blank lines; a last frame without one counts.
pub(in crate::dialect) fn frames(stream: &[u8]) -> Vec<(Option<Vec<u8>>, Vec<u8>)> {
    let text = String::from_utf8_lossy(stream).replace("\r\n", "\n").replace('\r', "\n");
    let field = |frame: &str, name: &str| {
        let lines: Vec<_> = frame
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(|value| value.strip_prefix(' ').unwrap_or(value))
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n").into_bytes())
    };
    text.split("\n\n").filter_map(|frame| Some((field(frame, "event"), field(frame, "data")?))).collect()
}

fn samples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire-samples")
}

pub(in crate::dialect) fn sample(name: &str) -> Vec<u8> {
    std::fs::read(samples().join(name)).unwrap()
}

/// Name and manifest entry of every sample of a dialect.
pub(in crate::dialect) fn manifest(dialect: &str) -> Vec<(String, Value)> {
    let manifest: serde_json::Map<String, Value> = serde_json::from_slice(&sample("manifest.json")).unwrap();
    manifest.into_iter().filter(|(_, entry)| entry["dialect"] == dialect).collect()
}

/// Checks an answer against the verdict of its manifest entry.
pub(in crate::dialect) fn assert_verdict(name: &str, entry: &Value, answer: &Answer) {
    use crate::context::Finish;
    use crate::context::answer::Ending;
    let verdict = entry["turn"].as_str().unwrap();
    let right = match verdict {
        "finished" | "finished-refusal" | "finished-async" | "finished-unterminated" => answer.is_finished(),
        "tools" => answer.finish == Finish::ToolCalls && answer.ending == Ending::Complete,
        "server-continues" | "needs-approval" => answer.finish == Finish::Pause,
        "abnormal" => !answer.is_finished() && answer.finish != Finish::ToolCalls && answer.ending != Ending::Cut,
        "cut" => answer.ending == Ending::Cut,
        "invalid" => true,
        other => panic!("{name}: unknown verdict {other}"),
    };
    assert!(right, "{name} should be {verdict}: {answer:?}");
    if let Some(text) = entry["text"].as_str() {
        assert_eq!(answer.text, text, "{name}");
    }
    if let Some(tools) = entry["tools"].as_array() {
        let names: Vec<_> = answer.calls.iter().map(|c| Value::from(c.name.as_str())).collect();
        assert_eq!(&names, tools, "{name}");
    }
}

/// A cache that remembers everything.
#[derive(Default)]
pub(in crate::dialect) struct MapCache(RefCell<HashMap<String, Arc<ItemFacts>>>);

impl FactsCache for MapCache {
    fn facts(&self, raw: &str, compute: &dyn Fn() -> ItemFacts) -> Arc<ItemFacts> {
        let known = self.0.borrow().get(raw).cloned();
        known.unwrap_or_else(|| {
            let facts = Arc::new(compute());
            self.0.borrow_mut().insert(raw.to_owned(), facts.clone());
            facts
        })
    }
}

/// Any placement of a few texts, also blank ones.
pub(in crate::dialect) fn any_place() -> impl Strategy<Value = Place> {
    let texts = || proptest::collection::vec(prop_oneof![Just(String::new()), Just("x\n\"".to_owned())], 0..3);
    prop_oneof![
        (0usize..3, texts()).prop_map(|(after, texts)| Place::SystemFront { after, texts }),
        texts().prop_map(|texts| Place::SystemEnd { texts }),
        (0usize..6, texts()).prop_map(|(item, texts)| Place::ItemEnd { item, texts }),
        (0usize..4, 0usize..3).prop_map(|(start, len)| Place::Omit { items: start..start + len }),
    ]
}

/// A stream as the pieces that a gateway hands on: events with their blank lines.
pub(in crate::dialect) fn pieces(stream: &str) -> Vec<String> {
    stream.split_inclusive("\n\n").map(str::to_owned).collect()
}

/// Hands one piece on.
pub(in crate::dialect) fn hand(
    joiner: &mut dyn Joiner,
    piece: &str,
    out: &mut Vec<Bytes>,
) -> Result<(), crate::dialect::JoinError> {
    let frame = frames(piece.as_bytes()).pop();
    let (event, data) = frame.map_or((None, None), |(event, data)| (event, Some(data)));
    let raw = Bytes::copy_from_slice(piece.as_bytes());
    joiner.piece(&Piece { raw, event: event.as_deref(), data: data.as_deref() }, out)
}

/// What became of several legs.
#[derive(Debug)]
pub(in crate::dialect) struct Joined {
    /// What went down in each leg, and at the end.
    pub(in crate::dialect) down: Vec<String>,
    /// What each leg said.
    pub(in crate::dialect) answers: Vec<Option<Vec<String>>>,
}

impl Joined {
    pub(in crate::dialect) fn stream(&self) -> String {
        self.down.concat()
    }
}

impl Wire {
    /// Joins streams.
    pub(in crate::dialect) fn join(self, legs: &[String]) -> Joined {
        let mut joiner = self.dialect.joiner(AnswerForm::Sse);
        let mut joined = Joined { down: vec![], answers: vec![] };
        for (index, leg) in legs.iter().enumerate() {
            let mut out = vec![];
            if index > 0 {
                joiner.next_leg();
            }
            for piece in pieces(leg) {
                hand(joiner.as_mut(), &piece, &mut out).unwrap_or_else(|error| panic!("{error}: {piece}"));
            }
            joined.down.push(text(&out));
            joined.answers.push(joiner.answer());
        }
        let mut out = vec![];
        joiner.end(&mut out);
        joined.down.push(text(&out));
        joined
    }

    /// The error that a later leg ends with, if any; what went down stays as it was then.
    pub(in crate::dialect) fn break_with(self, first: &str, later: &str) -> Option<crate::dialect::JoinError> {
        let mut joiner = self.dialect.joiner(AnswerForm::Sse);
        let mut out = vec![];
        for piece in pieces(first) {
            hand(joiner.as_mut(), &piece, &mut out).unwrap();
        }
        joiner.next_leg();
        pieces(later).iter().find_map(|piece| {
            let before = out.clone();
            let error = hand(joiner.as_mut(), piece, &mut out).err()?;
            assert_eq!(out, before);
            Some(error)
        })
    }

    /// Joins bodies.
    pub(in crate::dialect) fn join_bodies(self, bodies: &[&str]) -> (String, Vec<Option<Vec<String>>>) {
        let mut joiner = self.dialect.joiner(AnswerForm::Json);
        let (mut out, mut answers) = (vec![], vec![]);
        for (index, body) in bodies.iter().enumerate() {
            if index > 0 {
                joiner.next_leg();
            }
            let raw = Bytes::copy_from_slice(body.as_bytes());
            joiner.piece(&Piece { raw: raw.clone(), event: None, data: Some(&raw) }, &mut out).unwrap();
            answers.push(joiner.answer());
            assert!(joiner.is_over() && out.is_empty());
        }
        joiner.end(&mut out);
        (text(&out), answers)
    }

    /// The body of the next leg.
    pub(in crate::dialect) fn extended(self, body: &str, leg: &Leg) -> String {
        let doc = doc(body);
        let view = self.try_view(&doc, &NoCache).unwrap();
        let rope = self.dialect.extend(&doc, &view, leg).unwrap().apply(doc.bytes()).unwrap();
        let text = String::from_utf8(rope.to_bytes().to_vec()).unwrap();
        serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        text
    }
}

fn text(out: &[Bytes]) -> String {
    String::from_utf8(out.concat()).unwrap()
}

/// Whatever comes as a second leg: no panic, and an end.
pub(in crate::dialect) fn survive(wire: Wire, first: &str, later: &[String]) {
    let mut joiner = wire.dialect.joiner(AnswerForm::Sse);
    let mut out = vec![];
    for leg in [pieces(first).as_slice(), later, later] {
        for piece in leg {
            let _ = hand(joiner.as_mut(), piece, &mut out);
        }
        let _ = (joiner.answer(), joiner.has_spoken(), joiner.is_over());
        joiner.next_leg();
    }
    joiner.end(&mut out);
}

/// A leg with this answer and message.
pub(in crate::dialect) fn leg(answer: &[String], message: &str) -> Leg {
    Leg { id: Some("resp_leg".to_owned()), answer: answer.to_vec(), reply: LegReply::Message(message.to_owned()) }
}
