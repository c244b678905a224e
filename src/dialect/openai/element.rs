//! One element of the history, read one level deep: what facts, hooks and placements are made from.
use crate::context::Role;
use crate::context::answer::{Call, call_key};
use crate::dialect::object::{Object, slice};
use crate::dialect::transcript::arguments;
use crate::json::{Kind, ScanError, Span, raw};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Keys of a part that mark a cache breakpoint: OpenAI's own, and the one that gateways to Claude models take.
const MARKERS: [&str; 2] = ["prompt_cache_breakpoint", "cache_control"];

/// A message or item. Spans count from the element's first byte.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Element<'a> {
    /// Who speaks.
    pub(in crate::dialect) role: Speaker,
    /// The value that holds the text: `content`, or a result's `output`.
    pub(in crate::dialect) body: Option<Span>,
    /// Its texts, in order.
    pub(in crate::dialect) texts: Vec<Text<'a>>,
    /// Parts that are not text (images, files, audio).
    pub(in crate::dialect) attachments: Vec<Span>,
    /// The calls that the client is to answer.
    pub(in crate::dialect) calls: Vec<ToolCall<'a>>,
    /// Ids of the calls that it answers.
    pub(in crate::dialect) results: Vec<Cow<'a, str>>,
    /// A result that the provider itself may have made.
    pub(in crate::dialect) may_be_hosted: bool,
    /// Holds encrypted reasoning.
    pub(in crate::dialect) signed: bool,
    /// Cache markers on its parts.
    pub(in crate::dialect) markers: u8,
    /// A compaction of what stands before it.
    pub(in crate::dialect) compaction: bool,
    /// Defines tools.
    pub(in crate::dialect) defines_tools: bool,
    /// Waits for the user's approval of a provider-side call.
    pub(in crate::dialect) asks_approval: bool,
    /// Some of its text is a refusal.
    pub(in crate::dialect) refused: bool,
    /// Text of an intermediate note, not of an answer.
    pub(in crate::dialect) commentary: bool,
}

/// [`Role`] with [`Role::Other`] as the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) struct Speaker(pub(in crate::dialect) Role);

impl Default for Speaker {
    fn default() -> Self {
        Self(Role::Other)
    }
}

/// One text of an element. It is unescaped only for those who read it: a system prompt is long, and nobody does.
#[derive(Debug)]
pub(in crate::dialect) struct Text<'a> {
    /// The string with its quotes.
    pub(in crate::dialect) span: Span,
    /// The part that it stands in; `None` where the content is the string itself.
    pub(in crate::dialect) part: Option<Span>,
    raw: &'a str,
}

impl<'a> Text<'a> {
    /// What it says.
    pub(in crate::dialect) fn value(&self) -> Cow<'a, str> {
        raw::string(self.raw).unwrap_or_default()
    }
}

/// A tool call as the element carries it.
#[derive(Debug)]
pub(in crate::dialect) struct ToolCall<'a> {
    /// Its id; empty for the old `function_call`.
    pub(in crate::dialect) id: Cow<'a, str>,
    /// The tool.
    pub(in crate::dialect) name: Cow<'a, str>,
    /// What it is called with.
    pub(in crate::dialect) input: Input<'a>,
    /// The turn does not wait for its result.
    pub(in crate::dialect) asynchronous: bool,
}

/// How a call carries its input.
#[derive(Debug)]
pub(in crate::dialect) enum Input<'a> {
    /// JSON inside a string: function arguments.
    Arguments(Cow<'a, str>),
    /// Free text: custom tools.
    Text(Cow<'a, str>),
    /// A JSON value: computer and shell actions.
    Json(&'a str),
}

impl Input<'_> {
    /// The input as JSON: free text becomes a string, arguments that are not JSON become `null`.
    pub(in crate::dialect) fn json(&self) -> Box<RawValue> {
        let text = match self {
            Self::Arguments(text) => text.to_string(),
            Self::Text(text) => raw::quote(text),
            Self::Json(text) => (*text).to_owned(),
        };
        arguments(text)
    }
}

impl ToolCall<'_> {
    /// What tells it from other calls.
    pub(in crate::dialect) fn key(&self) -> String {
        if self.id.is_empty() { call_key("", &self.name, self.input.json().get()) } else { self.id.to_string() }
    }

    /// The same in neutral words.
    pub(in crate::dialect) fn call(&self) -> Call {
        Call { id: self.id.to_string(), name: self.name.to_string(), input: self.input.json() }
    }
}

impl<'a> Element<'a> {
    /// An element of this role with nothing in it.
    pub(in crate::dialect) fn of(role: Role) -> Self {
        Self { role: Speaker(role), ..Self::default() }
    }

    /// Its texts, blocks joined by a newline.
    pub(in crate::dialect) fn text(&self) -> String {
        join(self.texts.iter().map(Text::value))
    }

    /// Reads the texts and other parts of `body`, a value inside of the element `raw`.
    ///
    /// # Errors
    /// [`ScanError::DuplicateKey`] if a part has a key twice.
    pub(in crate::dialect) fn read_body(&mut self, raw: &'a str, body: Option<Span>) -> Result<(), ScanError> {
        let Some(body) = body else { return Ok(()) };
        self.body = Some(body);
        let value = slice(raw, body);
        match raw::kind(value) {
            Some(Kind::String) => self.push_text(raw, body, None),
            Some(Kind::Array) => {
                for part in raw::array(value).unwrap_or_default() {
                    self.read_part(raw, part.offset(body.start))?;
                }
            }
            Some(Kind::Object) => self.attachments.push(body),
            _ => {}
        }
        Ok(())
    }

    fn read_part(&mut self, raw: &'a str, part: Span) -> Result<(), ScanError> {
        let text = slice(raw, part);
        if raw::kind(text) != Some(Kind::Object) {
            self.attachments.push(part);
            return Ok(());
        }
        let object = Object::parse(text)?;
        let markers = object.entries().filter(|(key, value)| MARKERS.contains(key) && *value != "null").count();
        self.markers = self.markers.saturating_add(u8::try_from(markers).unwrap_or(u8::MAX));
        let member = match object.string("type").as_deref() {
            Some("text" | "input_text" | "output_text") => "text",
            Some("refusal") => "refusal",
            _ => {
                self.attachments.push(part);
                return Ok(());
            }
        };
        if let Some(span) = object.span(member) {
            self.refused |= member == "refusal";
            self.push_text(raw, span.offset(part.start), Some(part));
        }
        Ok(())
    }

    /// Adds the string at `span`, if it is one.
    pub(in crate::dialect) fn push_text(&mut self, raw: &'a str, span: Span, part: Option<Span>) {
        let raw = slice(raw, span);
        if raw::kind(raw) == Some(Kind::String) {
            self.texts.push(Text { span, part, raw });
        }
    }
}

/// Blocks of text, joined by a newline; empty ones leave no line.
pub(in crate::dialect) fn join<'t>(texts: impl Iterator<Item = Cow<'t, str>>) -> String {
    let mut joined = String::new();
    for text in texts.filter(|t| !t.is_empty()) {
        if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(&text);
    }
    joined
}

/// Whether a part's member is a cache marker, which the normal form forgets.
pub(in crate::dialect) fn is_marker(key: &str) -> bool {
    MARKERS.contains(&key)
}
