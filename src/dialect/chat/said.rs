//! What a streamed answer says, put together from its deltas.
use super::chunk::{Called, Delta};
use crate::context::{Call, Role};
use crate::dialect::openai::answer::Budget;
use crate::dialect::openai::element::{Element, Input, ToolCall};
use crate::json::{Span, raw};
use serde_json::value::RawValue;

/// What a call costs of the budget besides its text: a thousand calls use it up. Each piece looks for its call, so that
/// their number must have a limit.
const CALL_COST: usize = 16 << 10;

/// Text, refusal and calls so far, bounded.
#[derive(Debug, Default)]
pub(super) struct Said {
    text: String,
    refusal: String,
    calls: Vec<OpenCall>,
    /// Something that a message in a request can't say the same way.
    strange: bool,
    budget: Budget,
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

impl Said {
    pub(super) fn add(&mut self, delta: &Delta<'_>) {
        if let Some(content) = delta.content.map(RawValue::get) {
            match raw::string(content) {
                Some(text) => self.budget.push(&mut self.text, &text),
                None => self.parts(content),
            }
        }
        if let Some(refusal) = delta.refusal.and_then(|r| raw::string(r.get())) {
            self.budget.push(&mut self.refusal, &refusal);
        }
        for call in delta.tool_calls.iter().flatten() {
            let id = call.id.and_then(|id| raw::string(id.get())).unwrap_or_default();
            if let Some(open) = open_call(&mut self.calls, &mut self.budget, call.index, &id) {
                open.custom |= call.custom.is_some();
                for called in [&call.function, &call.custom].into_iter().flatten() {
                    open.take(called, &mut self.budget);
                }
            }
        }
        if let Some(called) = &delta.function_call
            && let Some(open) = open_call(&mut self.calls, &mut self.budget, None, "")
        {
            open.take(called, &mut self.budget);
        }
        self.strange |= delta.function_call.is_some() || delta.audio.is_some();
    }

    /// Content as parts, as some compatible servers stream it.
    fn parts(&mut self, content: &str) {
        let mut element = Element::of(Role::Assistant);
        if element.read_body(content, Some(Span::new(0, content.len()))).is_ok() {
            for text in &element.texts {
                self.budget.push(&mut self.text, &text.value());
            }
        }
        self.strange |= content != "null";
    }

    pub(super) fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    pub(super) fn is_refusal(&self) -> bool {
        !self.refusal.is_empty()
    }

    /// How many calls were begun.
    pub(super) fn calls(&self) -> u64 {
        self.calls.len() as u64
    }

    /// Adds all its text to `text` and gives its calls.
    pub(super) fn close(self, text: &mut String) -> impl Iterator<Item = Call> {
        text.push_str(&self.text);
        text.push_str(&self.refusal);
        self.calls.into_iter().map(OpenCall::close)
    }

    /// The same as a message of a request; none if it says nothing. `None`: it is more, or something else, than a
    /// message can hold.
    pub(super) fn message(&self) -> Option<Vec<String>> {
        if self.strange || self.budget.is_exceeded() || self.calls.iter().any(|call| call.id.is_empty()) {
            return None;
        }
        let calls: Vec<String> = self.calls.iter().map(OpenCall::element).collect();
        let calls = (!calls.is_empty()).then(|| format!("[{}]", calls.join(",")));
        Some(message(&self.text, &self.refusal, calls.as_deref()))
    }
}

/// An assistant message, with its members in the order of OpenAI's SDKs; none if it says nothing. Blank content counts as
/// none: some servers refuse it. The reasoning of compatible servers is no part of it: most refuse that, too.
pub(super) fn message(text: &str, refusal: &str, calls: Option<&str>) -> Vec<String> {
    let blank = text.trim().is_empty();
    if blank && refusal.is_empty() && calls.is_none() {
        return Vec::new();
    }
    let mut message = r#"{"role":"assistant","content":"#.to_owned();
    message += &if blank { "null".to_owned() } else { raw::quote(text) };
    if !refusal.is_empty() {
        message += &format!(r#","refusal":{}"#, raw::quote(refusal));
    }
    if let Some(calls) = calls {
        message += &format!(r#","tool_calls":{calls}"#);
    }
    vec![message + "}"]
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

    /// The call as an element of `tool_calls`.
    fn element(&self) -> String {
        let (kind, input) = if self.custom { ("custom", "input") } else { ("function", "arguments") };
        let [id, name, text] = [&self.id, &self.name, &self.input].map(|text| raw::quote(text));
        format!(r#"{{"id":{id},"type":"{kind}","{kind}":{{"name":{name},"{input}":{text}}}}}"#)
    }

    fn close(self) -> Call {
        let input = if self.custom { Input::Text(self.input.into()) } else { Input::Arguments(self.input.into()) };
        ToolCall { id: self.id.into(), name: self.name.into(), input, asynchronous: false }.call()
    }
}
