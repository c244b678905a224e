//! What edits need to know of a body: see `Dialect::edit`.
use super::view;
use crate::context::RequestView;
use crate::context::edit::ParamName;
use crate::dialect::blocks;
use crate::dialect::object::Object;
use crate::dialect::openai::edit::{Body, Carrier, Form, Param, Style, Taken};
use crate::json::{Doc, Span, Splice, raw};
use std::collections::BTreeSet;

const FORM: Form = Form {
    name: "chat",
    style: Style::Nested,
    params: &[
        Param { name: ParamName::MaxTokens, keys: &["max_completion_tokens", "max_tokens"], inner: None },
        Param { name: ParamName::Temperature, keys: &["temperature"], inner: None },
        Param { name: ParamName::TopP, keys: &["top_p"], inner: None },
        Param { name: ParamName::Stop, keys: &["stop"], inner: None },
        Param { name: ParamName::ReasoningEffort, keys: &["reasoning_effort"], inner: None },
        Param { name: ParamName::ResponseFormat, keys: &["response_format"], inner: None },
    ],
    options: &[("web_search_options", &["web_search", "web_search_options"])],
    part: "text",
    answer_part: "text",
    take_calls,
    answer: None,
};

/// The body as edits see it. Without messages there is none; the view has refused such a body.
pub(super) fn body<'d>(doc: &'d Doc, view: &'d RequestView) -> Body<'d> {
    let lists = [("tools", Style::Nested), ("functions", Style::Bare)];
    Body {
        doc,
        view,
        form: &FORM,
        list: view::messages(doc).map(|messages| messages.elements.clone()).unwrap_or_default(),
        read: view::GRAMMAR.read,
        instructions: None,
        leading: (0..view::leading(&view.items)).collect(),
        carriers: lists.into_iter().filter_map(|(key, style)| Carrier::member(doc, key, style)).collect(),
    }
}

/// Calls are counted as [`super::element::read`] reads them: `tool_calls`, then the old `function_call`.
fn take_calls(splice: &mut Splice, raw: &str, base: usize, gone: &BTreeSet<usize>) -> Taken {
    let Ok(object) = Object::parse(raw) else { return Taken::All };
    let list = object.value_span("tool_calls");
    let calls: Vec<Span> = list
        .and_then(|list| {
            Some(raw::array(raw.get(list.start..list.end)?)?.into_iter().map(|c| c.offset(list.start)).collect())
        })
        .unwrap_or_default();
    let old = object.value_span("function_call").map(|_| calls.len());
    let takes_list = (0..calls.len()).all(|call| gone.contains(&call));
    let takes_old = old.is_some_and(|call| gone.contains(&call));
    let stays = (!takes_list && !calls.is_empty()) || (old.is_some() && !takes_old) || says_something(&object);
    if !stays {
        return Taken::All;
    }
    if !takes_list {
        let calls: Vec<Span> = calls.iter().map(|call| call.offset(base)).collect();
        blocks::remove(splice, &calls, |call| gone.contains(&call));
    }
    let goes = |key: &str| (key == "tool_calls" && takes_list) || (key == "function_call" && takes_old);
    let fields = raw::object(raw).unwrap_or_default();
    let spans: Vec<Span> = fields.iter().map(|f| Span::new(f.key_span.start, f.value.end).offset(base)).collect();
    blocks::remove(splice, &spans, |index| fields.get(index).is_some_and(|field| goes(&field.key)));
    Taken::Some
}

/// Whether a message of the model would say something without its calls.
fn says_something(message: &Object<'_>) -> bool {
    let is_filled = |value: &str| !matches!(value, r#""""# | "[]");
    ["content", "refusal", "audio"].iter().filter_map(|key| message.get(key)).any(is_filled)
}
