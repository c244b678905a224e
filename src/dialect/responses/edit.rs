//! What edits need to know of a body: see `Dialect::edit`.
use super::view::{self, Input, Instructions};
use crate::context::edit::ParamName;
use crate::context::{Delta, RequestView};
use crate::dialect::EditError;
use crate::dialect::edit::params::{ParamPlaces, Path};
use crate::dialect::edit::{Changes, Format};
use crate::dialect::openai::edit::{Body, Carrier, Form, Holder, Style, Taken};
use crate::dialect::openai::{edit as openai, set};
use crate::json::{Doc, Kind, Span, raw};
use serde_json::{Value, json};

const FORM: Form = Form {
    name: "responses",
    style: Style::Flat,
    options: &[],
    part: "input_text",
    answer_part: "output_text",
    // A call is an item of its own.
    take_calls: |_, _, _, _| Taken::All,
    answer: Some(answer),
};

/// Where a body has its parameters.
pub(super) struct Params;

impl ParamPlaces for Params {
    fn path(&self, name: ParamName) -> Result<Path, EditError> {
        Ok(match name {
            ParamName::MaxTokens => &["max_output_tokens"],
            ParamName::Temperature => &["temperature"],
            ParamName::TopP => &["top_p"],
            ParamName::Stop => return Err(EditError::Unknown { dialect: FORM.name, what: "stop" }),
            ParamName::ReasoningEffort => &["reasoning", "effort"],
            ParamName::ResponseFormat => FORMAT,
        })
    }

    fn format(&self, format: &Format, changes: &mut Changes<'_>) -> Result<(), EditError> {
        let value = match format {
            Format::Text => json!({"type": "text"}),
            Format::JsonObject => json!({"type": "json_object"}),
            Format::Schema { name, schema, strict } => {
                let kind = ("type".to_owned(), Value::from("json_schema"));
                Value::Object([kind].into_iter().chain(openai::schema(name, schema, *strict)).collect())
            }
        };
        changes.set(FORMAT, value);
        Ok(())
    }
}

const FORMAT: Path = &["text", "format"];

fn answer(text: &str) -> String {
    let part = format!(r#"{{"type":"output_text","text":{}}}"#, raw::quote(text));
    format!(r#"{{"type":"message","role":"assistant","content":[{part}]}}"#)
}

/// The body as edits see it.
///
/// # Errors
/// [`EditError::Missing`] for an input of a type that is not known.
pub(super) fn body<'d>(doc: &'d Doc, view: &'d RequestView) -> Result<Body<'d>, EditError> {
    let input = Input::of(doc).ok_or_else(|| EditError::Missing { what: "input of a known type".to_owned() })?;
    Ok(Body {
        doc,
        view,
        form: &FORM,
        read: input.read,
        instructions: match Instructions::of(doc) {
            Instructions::Text(span) => Some(span),
            _ => None,
        },
        leading: view::leading(&view.items).collect(),
        find_carriers,
        list: input.items.into_owned(),
    })
}

fn find_carriers(doc: &Doc, list: &[Span]) -> Vec<Carrier> {
    let inside = list.iter().enumerate().filter_map(|(index, span)| inside(doc, index, *span));
    Carrier::member(doc, "tools", Style::Flat).into_iter().chain(inside).collect()
}

/// The tools in an item: Codex sends all of its own in one, and a tool search brings further ones. A list of the tools that
/// a provider's MCP server has is not for the client to change.
fn inside(doc: &Doc, index: usize, span: Span) -> Option<Carrier> {
    let holder = match raw::get_str(doc.text(span), "type").unwrap_or_default().as_ref() {
        "mcp_list_tools" => return None,
        "additional_tools" => Holder::Item(index),
        _ => Holder::Stays,
    };
    Carrier::inside(doc, span, holder, Style::Flat)
}

/// The names of all tools; `None` where others may be called: tools of an MCP server, of a stored prompt or conversation,
/// and of earlier responses where the request itself brings none.
pub(super) fn roster(doc: &Doc, view: &RequestView) -> Option<Vec<String>> {
    let body = body(doc, view).ok()?;
    let brings_none = body.carriers().iter().all(Carrier::is_empty);
    let is_opaque = match &view.delta {
        Some(Delta::Conversation(_)) => true,
        Some(_) => brings_none,
        None => false,
    };
    // Its answer is fetched later, by requests that show no tools.
    let is_background = set(doc, "background").is_some_and(|background| doc.text(background.value) == "true");
    let has_prompt = set(doc, "prompt").is_some_and(|prompt| prompt.kind == Kind::Object);
    if is_opaque || is_background || has_prompt || body.has_kind("mcp") { None } else { Some(body.roster()) }
}
