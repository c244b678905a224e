//! A chunk of an answer, looked through for calls. Everything that could be a call to some client is one, or an error:
//! both spellings of a key, keys with escapes, and keys that only differ in case (Go's `encoding/json` takes them).
use super::chunk::PartialArg;
use super::lower::text_part;
use crate::dialect::object::{Object, distinct, slice};
use crate::dialect::{BindError, Piece, blocks, frame, joiner};
use crate::json::{Kind, Span, Splice, raw};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What stays where all parts of a content were calls that are left out: the SDKs take no content without parts for one.
const NO_PARTS: &str = r#"[{"text":""}]"#;

/// Every call is behind these keys.
const CHUNK: [&str; 1] = ["candidates"];
const CANDIDATE: [&str; 3] = ["content", "index", "finishReason"];
const CONTENT: [&str; 1] = ["parts"];
const PART: [&str; 1] = ["functionCall"];
const CALL: [&str; 5] = ["id", "name", "args", "partialArgs", "willContinue"];
const ARGUMENT: [&str; 4] = ["jsonPath", "stringValue", "numberValue", "boolValue"];

/// A chunk, or a whole response. Spans count from the start of its text.
#[derive(Debug)]
pub(super) struct Screened<'a> {
    /// All of it.
    pub(super) text: &'a str,
    /// The answers that it brings something of.
    pub(super) candidates: Vec<Candidate<'a>>,
}

/// One of the answers.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    /// Which.
    pub(super) index: u64,
    /// Whether it says why the answer ended.
    pub(super) ends: bool,
    /// Its calls, in order.
    pub(super) calls: Vec<CallPart<'a>>,
    span: Span,
    content: Option<Span>,
    /// The array of its parts, and their places.
    parts: Option<Span>,
    elements: Vec<Span>,
}

/// A part with a call, or with a piece of one.
#[derive(Debug)]
pub(super) struct CallPart<'a> {
    /// Which of the parts.
    pub(super) part: usize,
    /// Empty where there is none.
    pub(super) id: Cow<'a, str>,
    /// Empty in later pieces of a call.
    pub(super) name: Cow<'a, str>,
    /// The arguments' text, where they come whole.
    pub(super) args: Option<&'a str>,
    /// Pieces of arguments.
    pub(super) pieces: Option<Vec<PartialArg<'a>>>,
    /// Whether further pieces follow.
    pub(super) continues: bool,
    /// The call itself.
    pub(super) call: Span,
}

impl<'a> Screened<'a> {
    /// Looks through the data of a piece; `None` for what no client can take for a chunk, as a marker of some servers.
    ///
    /// # Errors
    /// [`BindError::Unreadable`] when there could be a call that is not seen.
    pub(super) fn read(data: &'a [u8]) -> Result<Option<Self>, BindError> {
        let text = joiner::text(data).map_err(BindError::unreadable)?;
        if !text.contains('{') {
            return Ok(None);
        }
        if raw::kind(text) == Some(Kind::Array) {
            return errors_alone(text).map(|()| None);
        }
        let chunk = object(text, &CHUNK)?;
        if !chunk.is_all() {
            return Err(BindError::Unreadable("more than one value".to_owned()));
        }
        let spans = list(text, chunk.value_span("candidates"))?;
        let candidates: Vec<_> = spans.into_iter().map(|span| Candidate::read(text, span)).collect::<Result<_, _>>()?;
        let indexes: Vec<String> = candidates.iter().map(|candidate| candidate.index.to_string()).collect();
        distinct(indexes.iter().map(String::as_str)).map_err(BindError::unreadable)?;
        Ok(Some(Self { text, candidates }))
    }

    /// Whether an answer ends here.
    pub(super) fn ends(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.ends)
    }

    /// The chunk with a text of the model's in the answer that ends here, or in the first one.
    pub(super) fn with_text(&self, text: &str) -> Option<Splice> {
        let ending = self.candidates.iter().find(|candidate| candidate.ends);
        Some(ending.or(self.candidates.first())?.with_part(self.text, &text_part(text)))
    }
}

impl<'a> Candidate<'a> {
    fn read(text: &'a str, span: Span) -> Result<Self, BindError> {
        let candidate = object(slice(text, span), &CANDIDATE)?;
        let mut read = Self {
            index: match candidate.get("index") {
                Some(index) => index.parse().map_err(|_| BindError::Unreadable("an index".to_owned()))?,
                None => 0,
            },
            ends: candidate.string("finishReason").is_some_and(|reason| !reason.is_empty()),
            calls: vec![],
            span,
            content: candidate.value_span("content").map(|content| content.offset(span.start)),
            parts: None,
            elements: vec![],
        };
        let Some(content) = read.content else { return Ok(read) };
        let parts = object(slice(text, content), &CONTENT)?.value_span("parts");
        read.parts = parts.map(|parts| parts.offset(content.start));
        read.elements = list(text, read.parts)?;
        for (part, span) in read.elements.iter().enumerate() {
            let call = object(slice(text, *span), &PART)?.value_span("functionCall");
            if let Some(call) = call.map(|call| call.offset(span.start)) {
                read.calls.push(CallPart::read(text, part, call)?);
            }
        }
        Ok(read)
    }

    /// Leaves out these parts, given in order.
    pub(super) fn without(&self, gone: &[usize], splice: &mut Splice) {
        match self.parts {
            Some(parts) if gone.len() == self.elements.len() => splice.replace(parts, NO_PARTS),
            _ => blocks::remove(splice, &self.elements, |part| gone.binary_search(&part).is_ok()),
        }
    }

    fn with_part(&self, text: &str, part: &str) -> Splice {
        let mut splice = Splice::new();
        let member = |object: Span| if is_empty(slice(text, object)) { "" } else { "," };
        match (self.parts, self.content) {
            (Some(parts), _) if is_blank(slice(text, parts)) => splice.replace(parts, format!("[{part}]")),
            (Some(parts), _) => blocks::extend(&mut splice, parts, &self.elements, 0, &[], &[part.to_owned()]),
            (None, Some(content)) => {
                splice.insert(content.end - 1, format!(r#"{}"parts":[{part}]"#, member(content)));
            }
            (None, None) => {
                let content = format!(r#"{}"content":{{"parts":[{part}],"role":"model"}}"#, member(self.span));
                splice.insert(self.span.end - 1, content);
            }
        }
        splice
    }
}

impl<'a> CallPart<'a> {
    fn read(text: &'a str, part: usize, span: Span) -> Result<Self, BindError> {
        let call = object(slice(text, span), &CALL)?;
        let string = |key| match call.get(key) {
            Some(value) => raw::string(value).ok_or_else(|| BindError::Unreadable(format!("the {key} of a call"))),
            None => Ok(Cow::Borrowed("")),
        };
        let continues = match call.get("willContinue") {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return Err(BindError::Unreadable("willContinue".to_owned())),
        };
        let pieces = call.get("partialArgs").map(arguments).transpose()?;
        Ok(Self {
            part,
            id: string("id")?,
            name: string("name")?,
            args: call.get("args"),
            pieces,
            continues,
            call: span,
        })
    }
}

/// That nothing but the data of a piece can be taken for a chunk, whatever else is in its frame: not every reader (Google's
/// Python SDK) goes by fields and blank lines.
///
/// # Errors
/// [`BindError::Unreadable`]
pub(super) fn check_frame(piece: &Piece<'_>) -> Result<(), BindError> {
    let is_plain = |bytes: &[u8]| !bytes.contains(&b'{');
    let is_clear = match frame::around(piece) {
        Some((before, behind)) => is_plain(before) && is_plain(behind),
        None => is_in_lines(piece) || is_plain(&piece.raw),
    };
    if is_clear { Ok(()) } else { Err(BindError::Unreadable("an object beside the data".to_owned())) }
}

/// Whether a chunk stands in several `data:` lines: readers that go line by line would see others than those that join
/// them, so that it goes down in one.
pub(super) fn is_in_lines(piece: &Piece<'_>) -> bool {
    piece.data.is_some_and(|data| data.contains(&b'{')) && frame::around(piece).is_none()
}

/// An object, none of whose keys is one of `keys` in another case.
fn object<'a>(text: &'a str, keys: &[&str]) -> Result<Object<'a>, BindError> {
    let object = Object::parse_proto(text).map_err(BindError::unreadable)?;
    let is_other = |name: &str| keys.iter().any(|key| *key != name && key.eq_ignore_ascii_case(name));
    if let Some((name, _)) = object.entries().find(|(name, _)| is_other(name)) {
        return Err(BindError::Unreadable(format!("the key {name:?}")));
    }
    Ok(object)
}

/// The elements of the array at `span`; none where there is none.
fn list(text: &str, span: Option<Span>) -> Result<Vec<Span>, BindError> {
    let Some(span) = span else { return Ok(vec![]) };
    let elements = raw::array(slice(text, span)).ok_or_else(|| BindError::Unreadable("no array".to_owned()))?;
    Ok(elements.into_iter().map(|element| element.offset(span.start)).collect())
}

/// An array in the place of a chunk may hold errors alone, as servers wrap them.
fn errors_alone(text: &str) -> Result<(), BindError> {
    for span in list(text, Some(Span::new(0, text.len())))? {
        if object(slice(text, span), &CHUNK)?.get("candidates").is_some() {
            return Err(BindError::Unreadable("chunks in an array".to_owned()));
        }
    }
    Ok(())
}

fn arguments(array: &str) -> Result<Vec<PartialArg<'_>>, BindError> {
    let spans = list(array, Some(Span::new(0, array.len())))?;
    spans.into_iter().map(|span| argument(slice(array, span))).collect()
}

fn argument(text: &str) -> Result<PartialArg<'_>, BindError> {
    let object = object(text, &ARGUMENT)?;
    let raw = |key| object.get(key).map(serde_json::from_str::<&RawValue>).transpose().map_err(BindError::unreadable);
    Ok(PartialArg {
        json_path: raw("jsonPath")?,
        string_value: raw("stringValue")?,
        number_value: raw("numberValue")?,
        bool_value: object.get("boolValue").map(|flag| flag == "true"),
    })
}

fn is_empty(object: &str) -> bool {
    Object::parse(object).is_ok_and(|object| object.entries().next().is_none())
}

/// Whether an array of parts says nothing: it is what [`NO_PARTS`] stands for.
fn is_blank(parts: &str) -> bool {
    parts == NO_PARTS || parts == "[]"
}
