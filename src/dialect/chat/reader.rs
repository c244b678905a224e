//! Reads an answer: chunks of a stream, or a whole `chat.completion`.
use super::element;
use crate::context::answer::{Answer, Call, Ending};
use crate::context::{Finish, Role, Usage};
use crate::dialect::AnswerReader;
use crate::dialect::openai::answer::{Budget, unseen, usage};
use crate::dialect::openai::element::{Element, Input, ToolCall};
use crate::dialect::openai::error;
use crate::json::{Span, raw};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What stands after the last chunk.
const DONE: &[u8] = b"[DONE]";

/// What a call costs of the budget besides its text: a thousand calls use it up. Each piece looks for its call, so that
/// their number must have a limit.
const CALL_COST: usize = 16 << 10;

/// One chunk, or a whole body, whose choices have a `message` where a chunk's have a `delta`.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    #[serde(borrow)]
    function_call: Option<Called<'a>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<Called<'a>>,
    #[serde(borrow)]
    custom: Option<Called<'a>>,
}

/// A function's arguments, or a custom tool's input.
#[derive(Deserialize)]
struct Called<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// A call whose pieces are still coming.
#[derive(Debug, Default)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    name: String,
    input: String,
    custom: bool,
}

/// The reader. Of several choices it reads the first.
#[derive(Debug, Default)]
pub(super) struct Reader {
    id: Option<String>,
    text: String,
    refusal: String,
    open_calls: Vec<OpenCall>,
    calls: Vec<Call>,
    reason: Option<String>,
    usage: Usage,
    many: bool,
    done: bool,
    error: Option<String>,
    budget: Budget,
}

impl AnswerReader for Reader {
    fn event(&mut self, _event: Option<&[u8]>, data: &[u8]) {
        if data.trim_ascii() == DONE {
            self.done = true;
        } else if let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) {
            self.chunk(chunk);
        }
    }

    fn body(&mut self, body: &[u8]) {
        match serde_json::from_slice::<Chunk<'_>>(body) {
            Ok(chunk) => {
                let answered = chunk.choices.as_ref().is_some_and(|c| !c.is_empty());
                self.chunk(chunk);
                if !answered && self.error.is_none() {
                    self.error = Some("no choices".to_owned());
                }
                self.done = true;
            }
            // Half a body is a cut answer; anything else that is not JSON is somebody's error page.
            Err(error) if error.is_eof() => {}
            Err(_) => self.error = Some("not JSON".to_owned()),
        }
    }

    fn is_terminal(&self) -> bool {
        // Each of several choices has its own finish_reason: there only the marker tells.
        self.is_closed() || (self.reason.is_some() && !self.many)
    }

    /// The chunk with the token counts comes between the finish and the marker.
    fn is_closed(&self) -> bool {
        self.done || self.error.is_some()
    }

    fn finish(&mut self) -> Answer {
        let mut calls = std::mem::take(&mut self.calls);
        calls.extend(self.open_calls.drain(..).map(OpenCall::close));
        let mut text = std::mem::take(&mut self.text);
        text.push_str(&std::mem::take(&mut self.refusal));
        let ending = match (&self.error, &self.reason) {
            (Some(_), _) => Ending::Failed,
            (None, Some(_)) => Ending::Complete,
            (None, None) if self.done => Ending::Complete,
            (None, None) => Ending::Cut,
        };
        let finish = match (&self.reason, ending) {
            (Some(reason), Ending::Complete) => finish(reason, !calls.is_empty()),
            _ => Finish::Error,
        };
        Answer {
            id: self.id.take(),
            text,
            calls,
            finish,
            native_finish: self.reason.take(),
            ending,
            usage: self.usage,
            many: self.many,
            error: self.error.take(),
            ..unseen()
        }
    }
}

/// What a `finish_reason` means. Compatible servers say `stop` also when they call tools.
fn finish(reason: &str, calls: bool) -> Finish {
    match reason {
        "stop" if calls => Finish::ToolCalls,
        "stop" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" => Finish::Length,
        "content_filter" => Finish::Refusal,
        _ => Finish::Error,
    }
}

impl Reader {
    fn chunk(&mut self, chunk: Chunk<'_>) {
        if let Some(error) = chunk.error {
            self.error.get_or_insert_with(|| error::text(error.get()));
        }
        if self.id.is_none() {
            self.id = chunk.id.and_then(|id| raw::string(id.get())).filter(|id| !id.is_empty()).map(Into::into);
        }
        if let Some(usage) = chunk.usage.and_then(|u| usage(u.get(), "prompt", "completion")) {
            self.usage = usage;
        }
        for choice in chunk.choices.into_iter().flatten() {
            self.choice(choice);
        }
    }

    fn choice(&mut self, choice: Choice<'_>) {
        if choice.index != 0 {
            self.many = true;
            return;
        }
        if let Some(delta) = choice.delta {
            self.delta(delta);
        }
        if let Some(message) = choice.message {
            self.message(message.get());
        }
        if let Some(reason) = choice.finish_reason.and_then(|r| raw::string(r.get())).filter(|r| !r.is_empty()) {
            self.reason = Some(reason.into_owned());
        }
    }

    fn message(&mut self, message: &str) {
        match element::read(message) {
            Ok(element) => {
                self.text = element.text();
                self.calls = element.calls.iter().map(ToolCall::call).collect();
            }
            Err(error) => self.error = Some(error.to_string()),
        }
    }

    fn delta(&mut self, delta: Delta<'_>) {
        if let Some(content) = delta.content.map(RawValue::get) {
            match raw::string(content) {
                Some(text) => self.budget.push(&mut self.text, &text),
                None => self.parts(content),
            }
        }
        if let Some(refusal) = delta.refusal.and_then(|r| raw::string(r.get())) {
            self.budget.push(&mut self.refusal, &refusal);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            let id = call.id.and_then(|id| raw::string(id.get())).unwrap_or_default();
            if let Some(open) = open_call(&mut self.open_calls, &mut self.budget, call.index, &id) {
                open.custom |= call.custom.is_some();
                for called in [call.function, call.custom].into_iter().flatten() {
                    open.take(&called, &mut self.budget);
                }
            }
        }
        if let Some(called) = delta.function_call
            && let Some(open) = open_call(&mut self.open_calls, &mut self.budget, None, "")
        {
            open.take(&called, &mut self.budget);
        }
    }

    /// Content as parts, as some compatible servers stream it.
    fn parts(&mut self, content: &str) {
        let mut element = Element::of(Role::Assistant);
        if element.read_body(content, Some(Span::new(0, content.len()))).is_ok() {
            for text in &element.texts {
                self.budget.push(&mut self.text, &text.value());
            }
        }
    }
}

/// The call that a piece belongs to. Compatible servers leave the index out, or give every call the same one and tell
/// them apart by id; a piece without either goes on with the last.
fn open_call<'c>(
    calls: &'c mut Vec<OpenCall>,
    budget: &mut Budget,
    index: Option<u64>,
    id: &str,
) -> Option<&'c mut OpenCall> {
    let other = |call: &OpenCall| !id.is_empty() && !call.id.is_empty() && call.id != id;
    let known = match index {
        Some(_) => calls.iter().rposition(|call| call.index == index),
        None => calls.len().checked_sub(1),
    };
    let known = known.filter(|at| calls.get(*at).is_some_and(|call| !other(call)));
    match known {
        Some(at) => {
            let call = calls.get_mut(at)?;
            if call.id.is_empty() {
                budget.push(&mut call.id, id);
            }
            Some(call)
        }
        None => {
            if !budget.take(CALL_COST + id.len()) {
                return None;
            }
            calls.push(OpenCall { index, id: id.to_owned(), ..OpenCall::default() });
            calls.last_mut()
        }
    }
}

impl OpenCall {
    fn take(&mut self, called: &Called<'_>, budget: &mut Budget) {
        if let Some(name) = called.name.and_then(|n| raw::string(n.get()))
            && self.name.is_empty()
        {
            budget.push(&mut self.name, &name);
        }
        for piece in [called.arguments, called.input].into_iter().flatten() {
            match raw::string(piece.get()) {
                Some(text) => budget.push(&mut self.input, &text),
                // Some compatible servers send the arguments as an object, in one piece.
                None => budget.push(&mut self.input, piece.get()),
            }
        }
    }

    fn close(self) -> Call {
        let input = if self.custom { Input::Text(self.input.into()) } else { Input::Arguments(self.input.into()) };
        ToolCall { id: self.id.into(), name: self.name.into(), input, asynchronous: false }.call()
    }
}
