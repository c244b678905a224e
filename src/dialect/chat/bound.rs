//! Whole completions, held to the tools that they may call.
use super::call::replacement;
use super::element;
use super::parts::{self, ENDED, is_called};
use super::splice::BLANK_LINE;
use crate::context::{Call, Ruling};
use crate::dialect::binder::{BindError, Ruled};
use crate::dialect::body_binder::Bound;
use crate::dialect::object::{Object, slice};
use crate::dialect::openai::element::ToolCall;
use crate::dialect::rewrite::Rewrite;
use crate::json::{Kind, ScanError, raw};

/// Whole completions.
pub(super) struct BoundCompletion;

impl Bound for BoundCompletion {
    fn calls(body: &str) -> Result<Vec<Call>, BindError> {
        if raw::kind(body.trim()) != Some(Kind::Object) {
            return Ok(vec![]);
        }
        let mut all = vec![];
        for choice in parts::choices(body).map_err(BindError::unreadable)? {
            let choice = Object::parse(choice).map_err(BindError::unreadable)?;
            if let Some(delta) = choice.get("delta")
                && !calls(delta)?.is_empty()
            {
                return Err(BindError::Unreadable("calls in a chunk".to_owned()));
            }
            if let Some(message) = choice.get("message") {
                all.append(&mut calls(message)?);
            }
        }
        Ok(all)
    }

    fn edited(body: &str, calls: &[Ruled], notice: Option<&str>) -> Result<String, BindError> {
        let mut calls = calls.iter();
        let choices = parts::choices(body).and_then(|choices| {
            choices.into_iter().map(|choice| edited_choice(choice, &mut calls, notice)).collect::<Result<Vec<_>, _>>()
        });
        let mut answer = Rewrite::of(body).map_err(BindError::unreadable)?;
        answer.set("choices", format!("[{}]", choices.map_err(BindError::unreadable)?.join(",")));
        Ok(answer.finish())
    }
}

/// The calls of a message.
///
/// # Errors
/// [`BindError::Unreadable`] for a message that clients could read in several ways.
pub(super) fn calls(message: &str) -> Result<Vec<Call>, BindError> {
    let message = Object::parse(message).map_err(BindError::unreadable)?;
    let list = message.get("tool_calls").unwrap_or("[]");
    for call in raw::array(list).unwrap_or_default().into_iter().map(|span| slice(list, span)) {
        let call = Object::parse(call).map_err(BindError::unreadable)?;
        if call.get("function").is_some() && call.get("custom").is_some() {
            return Err(BindError::Unreadable("a call of two kinds".to_owned()));
        }
    }
    let calls = element::read_calls(&message).map_err(BindError::unreadable)?;
    Ok(calls.iter().map(ToolCall::call).collect())
}

/// The calls of an answer as elements of its messages.
pub(super) fn native_calls(answer: &[String]) -> Vec<String> {
    let lists = answer.iter().filter_map(|message| Object::parse(message).ok()?.get("tool_calls"));
    let calls = |list| raw::array(list).unwrap_or_default().into_iter().map(move |span| slice(list, span).to_owned());
    lists.flat_map(calls).collect()
}

fn edited_choice<'r>(
    choice: &str,
    calls: &mut impl Iterator<Item = &'r Ruled>,
    notice: Option<&str>,
) -> Result<String, ScanError> {
    let mut edited = Rewrite::of(choice)?;
    let Some(raw) = edited.get("message").map(str::to_owned) else { return Ok(edited.finish()) };
    let mut message = Rewrite::of(&raw)?;
    let (mut shown, mut refused) = (false, false);
    let mut next = |call: &str, is_old: bool| {
        let ruling = calls.next().map_or(&Ruling::Allow, |ruled| &ruled.ruling);
        let now = ruled_call(call, is_old, ruling)?;
        shown |= now.is_some();
        refused |= now.is_none();
        Ok(now)
    };
    let list = message.get("tool_calls").unwrap_or("[]").to_owned();
    let list: Vec<&str> = raw::array(&list).unwrap_or_default().into_iter().map(|span| slice(&list, span)).collect();
    let list: Vec<String> =
        list.into_iter().filter_map(|call| next(call, false).transpose()).collect::<Result<_, _>>()?;
    let old = match message.get("function_call") {
        Some(call) => next(call, true)?,
        None => None,
    };
    if !refused && old.is_none() && list.is_empty() {
        return Ok(edited.finish());
    }
    message.retain(|key| (key != "tool_calls" || !list.is_empty()) && (key != "function_call" || old.is_some()));
    if !list.is_empty() {
        message.set("tool_calls", format!("[{}]", list.join(",")));
    }
    if let Some(old) = old {
        message.set("function_call", old);
    }
    if refused && !shown {
        if edited.get("finish_reason").is_some_and(is_called) {
            edited.set("finish_reason", ENDED);
        }
        if let Some(notice) = notice {
            let content = with_notice(message.get("content"), notice);
            message.set("content", content);
        }
    }
    edited.set("message", message.finish());
    Ok(edited.finish())
}

/// A call as the client gets it.
fn ruled_call(call: &str, is_old: bool, ruling: &Ruling) -> Result<Option<String>, ScanError> {
    let input = match ruling {
        Ruling::Allow => return Ok(Some(call.to_owned())),
        Ruling::Refuse(_) => return Ok(None),
        Ruling::Replace(input) => input,
    };
    let mut edited = Rewrite::of(call)?;
    if is_old {
        edited.set("arguments", replacement(input, false));
        return Ok(Some(edited.finish()));
    }
    let is_custom = edited.get("custom").is_some();
    let (key, member) = if is_custom { ("custom", "input") } else { ("function", "arguments") };
    let called = edited.get(key).map(str::to_owned);
    let mut called = Rewrite::of_any(called.as_deref());
    called.set(member, replacement(input, is_custom));
    let called = called.finish();
    edited.set(key, called);
    Ok(Some(edited.finish()))
}

/// The content of a message with a text behind it.
fn with_notice(content: Option<&str>, notice: &str) -> String {
    match content.map(|content| (content, raw::kind(content))) {
        Some((content, Some(Kind::String))) if content != r#""""# => {
            let text = raw::string(content).unwrap_or_default();
            raw::quote(&format!("{text}{BLANK_LINE}{notice}"))
        }
        Some((content, Some(Kind::Array))) => {
            let part = format!(r#"{{"type":"text","text":{}}}"#, raw::quote(notice));
            let parts = raw::array(content).unwrap_or_default().into_iter().map(|span| slice(content, span).to_owned());
            format!("[{}]", parts.chain([part]).collect::<Vec<_>>().join(","))
        }
        _ => raw::quote(notice),
    }
}
