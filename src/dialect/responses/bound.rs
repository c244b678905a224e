//! Whole responses, held to the tools that they may call; and what of a call is named where.
use super::element;
use crate::context::{Binding, Call, Glance, Ruling};
use crate::dialect::binder::{BindError, Ruled};
use crate::dialect::body_binder::Bound;
use crate::dialect::object::{Object, slice};
use crate::dialect::rewrite::Rewrite;
use crate::json::{Kind, ScanError, raw};

/// A call as an item has it.
#[derive(Debug, Clone)]
pub(super) struct CallItem {
    /// The item's type.
    pub(super) kind: String,
    /// The item's own id.
    pub(super) item_id: String,
    /// The names that it goes by: its own, and where it is in a namespace that with it.
    names: Vec<String>,
    pub(super) call: Call,
}

impl CallItem {
    /// The call that an item is; `None` for what the client does not make.
    ///
    /// # Errors
    /// [`BindError::Unreadable`] when it could be one that is not seen.
    pub(super) fn read(item: &str) -> Result<Option<Self>, BindError> {
        let element = element::read(item).map_err(BindError::unreadable)?;
        let Some(call) = element.calls.first() else { return Ok(None) };
        let object = Object::parse(item).map_err(BindError::unreadable)?;
        if object.get("name").is_some_and(|name| raw::kind(name) != Some(Kind::String)) {
            return Err(BindError::Unreadable("a name that is no string".to_owned()));
        }
        let text = |key| object.string(key).unwrap_or_default().into_owned();
        let call = call.call();
        let mut names = vec![call.name.clone()];
        names
            .extend(object.string("namespace").filter(|s| !s.is_empty()).map(|space| format!("{space}.{}", call.name)));
        Ok(Some(Self { kind: text("type"), item_id: text("id"), names, call }))
    }

    /// What its names say.
    pub(super) fn glance(&self, binding: &Binding) -> Glance {
        let named = |name: &String| binding.glance(name);
        self.names.iter().map(named).find(|glance| *glance == Glance::Refuse).unwrap_or(binding.glance(&self.call.name))
    }

    /// Whether another reading of the item is the same call. Input and ids may come late.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let agrees = |one: &str, two: &str| one.is_empty() || two.is_empty() || one == two;
        self.kind == other.kind
            && self.names == other.names
            && agrees(&self.call.id, &other.call.id)
            && agrees(&self.item_id, &other.item_id)
    }
}

/// The member that holds the input of a call of this type; `true` where it is a string.
pub(super) fn input_member(kind: &str, item: &Object<'_>) -> (&'static str, bool) {
    match kind {
        "function_call" => ("arguments", true),
        "custom_tool_call" => ("input", true),
        "computer_call" if item.get("actions").is_some() => ("actions", false),
        "apply_patch_call" => ("operation", false),
        "tool_search_call" => ("arguments", false),
        _ => ("action", false),
    }
}

/// Another input as an item of this type carries it.
pub(super) fn replacement(kind: &str, input: &str) -> String {
    match (kind, raw::kind(input)) {
        ("custom_tool_call", Some(Kind::String)) => input.to_owned(),
        ("custom_tool_call" | "function_call", _) => raw::quote(input),
        _ => input.to_owned(),
    }
}

/// The item with another input; an empty one where `input` is `None`: it is still to come.
///
/// # Errors
/// [`ScanError`] when the item can't be read.
pub(super) fn with_input(item: &str, input: Option<&str>) -> Result<String, ScanError> {
    let object = Object::parse(item)?;
    let kind = object.string("type").unwrap_or_default();
    let (member, is_string) = input_member(&kind, &object);
    let value = match input {
        None if is_string => r#""""#.to_owned(),
        None => return Ok(item.to_owned()),
        Some(input) => replacement(&kind, input),
    };
    let mut edited = Rewrite::of(item)?;
    edited.set(member, value);
    Ok(edited.finish())
}

/// The elements of an `output` list.
pub(super) fn elements(list: &str) -> Vec<&str> {
    raw::array(list).unwrap_or_default().into_iter().map(|span| slice(list, span)).collect()
}

/// An item of an answer as the client gets it.
///
/// # Errors
/// [`ScanError`] when the item can't be read.
pub(super) fn ruled(item: &str, ruling: &Ruling) -> Result<Option<String>, ScanError> {
    match ruling {
        Ruling::Allow => Ok(Some(item.to_owned())),
        Ruling::Refuse(_) => Ok(None),
        Ruling::Replace(input) => with_input(item, Some(input)).map(Some),
    }
}

/// A text as a part of a message.
pub(super) fn text_part(text: &str) -> String {
    format!(r#"{{"type":"output_text","text":{},"annotations":[],"logprobs":[]}}"#, raw::quote(text))
}

/// A message of the model's, in this state.
pub(super) fn message(id: &str, status: &str, parts: &str) -> String {
    let id = raw::quote(id);
    format!(r#"{{"id":{id},"type":"message","role":"assistant","status":"{status}","content":[{parts}]}}"#)
}

/// The id of the message that is added to a response.
pub(super) fn message_id(response: &str) -> String {
    let id = raw::get_str(response, "id").unwrap_or_default();
    format!("msg_{}_told", id.strip_prefix("resp_").unwrap_or(&id))
}

/// Whole responses.
pub(super) struct BoundResponse;

impl Bound for BoundResponse {
    fn calls(body: &str) -> Result<Vec<Call>, BindError> {
        if raw::kind(body.trim()) != Some(Kind::Object) {
            return Ok(vec![]);
        }
        let output = Object::parse(body).map_err(BindError::unreadable)?.get("output").unwrap_or("[]");
        let mut calls = vec![];
        for item in elements(output) {
            calls.extend(CallItem::read(item)?.map(|item| item.call));
        }
        Ok(calls)
    }

    fn edited(body: &str, calls: &[Ruled], notice: Option<&str>) -> Result<String, BindError> {
        let mut response = Rewrite::of(body).map_err(BindError::unreadable)?;
        let output = response.get("output").unwrap_or("[]").to_owned();
        let (mut kept, mut calls) = (vec![], calls.iter());
        for item in elements(&output) {
            let is_call = CallItem::read(item)?.is_some();
            let known = if is_call { calls.next() } else { None };
            let ruling = known.map_or(&Ruling::Allow, |known| &known.ruling);
            kept.extend(ruled(item, ruling).map_err(BindError::unreadable)?);
        }
        kept.extend(notice.map(|text| message(&message_id(body), "completed", &text_part(text))));
        response.set("output", format!("[{}]", kept.join(",")));
        Ok(response.finish())
    }
}

/// The calls among the items of an answer.
pub(super) fn native_calls(answer: &[String]) -> Vec<String> {
    answer.iter().filter(|item| matches!(CallItem::read(item), Ok(Some(_)))).cloned().collect()
}
