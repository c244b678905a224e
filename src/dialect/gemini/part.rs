//! A content's parts, read by what they hold.
use crate::dialect::object::{Object, slice};
use crate::json::{ScanError, raw};
use std::borrow::Cow;

/// One part.
#[derive(Debug)]
pub(super) struct Part<'a> {
    object: Object<'a>,
    /// What it holds.
    pub(super) kind: PartKind<'a>,
}

/// The member of a part that says what it is.
#[derive(Debug)]
pub(super) enum PartKind<'a> {
    /// Text that is no thought.
    Text(Cow<'a, str>),
    /// A summary of the model's thoughts.
    Thought,
    /// `functionCall`.
    Call(FunctionCall<'a>),
    /// `functionResponse`.
    Response(FunctionResponse<'a>),
    /// Images, files, server-side tools and their results, and whatever comes next.
    Other,
}

/// A function call.
#[derive(Debug)]
pub(super) struct FunctionCall<'a> {
    /// Empty where the server gave none.
    pub(super) id: Cow<'a, str>,
    /// The function.
    pub(super) name: Cow<'a, str>,
    /// The arguments' text. Absent is the same as none.
    pub(super) args: &'a str,
}

/// A function's response.
#[derive(Debug)]
pub(super) struct FunctionResponse<'a> {
    /// The call's id, or the function's name where calls have no id.
    pub(super) id: Cow<'a, str>,
    /// What it says: `output` or `result` where they are strings, else the whole object.
    pub(super) text: Cow<'a, str>,
    /// Whether it carries an `error`.
    pub(super) is_error: bool,
}

impl<'a> Part<'a> {
    /// Reads one part.
    ///
    /// # Errors
    /// [`ScanError`] when it is no object or has a key twice.
    pub(super) fn parse(raw: &'a str) -> Result<Self, ScanError> {
        let object = Object::parse_proto(raw)?;
        let kind = if object.get("thought") == Some("true") {
            PartKind::Thought
        } else if let Some(text) = object.string("text") {
            PartKind::Text(text)
        } else if let Some(call) = object.get("functionCall") {
            PartKind::Call(FunctionCall::parse(call)?)
        } else if let Some(response) = object.get("functionResponse") {
            PartKind::Response(FunctionResponse::parse(response)?)
        } else {
            PartKind::Other
        };
        Ok(Self { object, kind })
    }

    /// Whether it carries a thought signature.
    pub(super) fn is_signed(&self) -> bool {
        self.object.string("thoughtSignature").is_some_and(|signature| !signature.is_empty())
    }

    /// The function's response as written.
    pub(super) fn response(&self) -> Option<&'a str> {
        self.object.get("functionResponse")
    }

    /// Its members.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.object.entries()
    }
}

impl<'a> FunctionCall<'a> {
    fn parse(raw: &'a str) -> Result<Self, ScanError> {
        let object = Object::parse_proto(raw)?;
        Ok(Self {
            id: object.string("id").unwrap_or_default(),
            name: object.string("name").unwrap_or_default(),
            args: object.get("args").unwrap_or("{}"),
        })
    }
}

impl<'a> FunctionResponse<'a> {
    fn parse(raw: &'a str) -> Result<Self, ScanError> {
        let object = Object::parse_proto(raw)?;
        let response = object.get("response").unwrap_or_default();
        // The function's own object: its keys are not the protocol's, so both spellings of one are two keys.
        let inner = if response.starts_with('{') { Some(Object::parse(response)?) } else { None };
        let string = |key| inner.as_ref().and_then(|inner| inner.string(key));
        Ok(Self {
            id: object.string("id").filter(|id| !id.is_empty()).or(object.string("name")).unwrap_or_default(),
            text: string("output").or(string("result")).unwrap_or(Cow::Borrowed(response)),
            is_error: inner.as_ref().is_some_and(|inner| inner.get("error").is_some()),
        })
    }
}

/// The parts of a content, read one by one. One part may stand without its array.
pub(super) fn parts<'a>(content: &Object<'a>) -> impl Iterator<Item = Result<Part<'a>, ScanError>> {
    let parts = content.get("parts").unwrap_or("[]");
    let elements = raw::array(parts);
    let single = elements.is_none().then(|| Part::parse(parts));
    let listed = elements.into_iter().flatten().map(|span| Part::parse(slice(parts, span)));
    listed.chain(single)
}
