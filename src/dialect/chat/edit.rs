//! What edits need to know of a body: see `Dialect::edit`.
use super::view;
use crate::context::RequestView;
use crate::context::edit::ParamName;
use crate::dialect::edit::params::{ParamPlaces, Path, number};
use crate::dialect::edit::{Changes, Format};
use crate::dialect::object::Object;
use crate::dialect::openai::edit::{Body, Carrier, Form, Style, Taken};
use crate::dialect::openai::{edit as openai, set};
use crate::dialect::{EditError, blocks};
use crate::json::{Doc, Span, Splice, raw};
use serde_json::json;
use std::collections::BTreeSet;

const FORM: Form = Form {
    name: "chat",
    style: Style::Nested,
    options: &[("web_search_options", &["web_search", "web_search_options"])],
    part: "text",
    answer_part: "text",
    take_calls,
    answer: None,
};

/// Where this body has its parameters.
pub(super) struct Params<'d>(pub(super) &'d Doc);

impl ParamPlaces for Params<'_> {
    fn path(&self, name: ParamName) -> Result<Path, EditError> {
        Ok(match name {
            ParamName::MaxTokens => self.limit(),
            ParamName::Temperature => &["temperature"],
            ParamName::TopP => &["top_p"],
            ParamName::Stop => &["stop"],
            ParamName::ReasoningEffort => &["reasoning_effort"],
            ParamName::ResponseFormat => FORMAT,
        })
    }

    fn rivals(&self, name: ParamName) -> &'static [Path] {
        match name {
            ParamName::MaxTokens if self.limit() == NEW_LIMIT => &[OLD_LIMIT],
            ParamName::MaxTokens => &[NEW_LIMIT],
            _ => &[],
        }
    }

    fn format(&self, format: &Format, changes: &mut Changes<'_>) -> Result<(), EditError> {
        let value = match format {
            Format::Text => json!({"type": "text"}),
            Format::JsonObject => json!({"type": "json_object"}),
            Format::Schema { name, schema, strict } => {
                json!({"type": "json_schema", "json_schema": openai::schema(name, schema, *strict)})
            }
        };
        changes.set(FORMAT, value);
        Ok(())
    }
}

const FORMAT: Path = &["response_format"];
const NEW_LIMIT: Path = &["max_completion_tokens"];
/// Deprecated, but the only one that many compatible servers know.
const OLD_LIMIT: Path = &["max_tokens"];

impl Params<'_> {
    /// The limit that the client has; of two the higher one, since servers differ in which of them holds.
    fn limit(&self) -> Path {
        let limit = |key| set(self.0, key).map(|member| number(self.0.text(member.value)).unwrap_or(f64::INFINITY));
        match (limit("max_completion_tokens"), limit("max_tokens")) {
            (None, Some(_)) => OLD_LIMIT,
            (Some(new), Some(old)) if old > new => OLD_LIMIT,
            _ => NEW_LIMIT,
        }
    }
}

/// The body as edits see it. Without messages there is none; the view has refused such a body.
pub(super) fn body<'d>(doc: &'d Doc, view: &'d RequestView) -> Body<'d> {
    Body {
        doc,
        view,
        form: &FORM,
        list: view::messages(doc).map(|messages| messages.elements.clone()).unwrap_or_default(),
        read: view::GRAMMAR.read,
        instructions: None,
        leading: (0..view::leading(&view.items)).collect(),
        find_carriers,
    }
}

fn find_carriers(doc: &Doc, _list: &[Span]) -> Vec<Carrier> {
    let lists = [("tools", Style::Nested), ("functions", Style::Bare)];
    lists.into_iter().filter_map(|(key, style)| Carrier::member(doc, key, style)).collect()
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
