//! Reading a generateContent request.
use super::facts::facts;
use crate::context::{AnswerForm, Operation, RequestView, Step};
use crate::dialect::object::{Object, camel_case, distinct, slice};
use crate::dialect::{Endpoint, Reading, ViewError, history};
use crate::json::{Doc, Kind, Member, Span, raw};
use std::borrow::Cow;

/// The view of a generateContent or countTokens body. A batch, and a count that wraps a whole request, are not looked
/// into.
pub(super) fn view(doc: &Doc, endpoint: &Endpoint, reading: &Reading<'_>) -> Result<RequestView, ViewError> {
    refuse_twins(doc)?;
    let config = object(doc, "generationConfig")?;
    let setting = |key| config.as_ref().and_then(|config| config.get(key));
    let instruction = member(doc, "systemInstruction");
    let mut view = RequestView {
        operation: endpoint.operation,
        model: endpoint.model.clone().or_else(|| body_model(doc)),
        form: endpoint.form.unwrap_or(AnswerForm::Json),
        system: vec![],
        // Instructions live in the cached content then, and a second set is refused; a count takes them only where the
        // platform is known to, since the client sent some.
        system_open: member(doc, "cachedContent").is_none()
            && (endpoint.operation == Operation::Generate || instruction.is_some()),
        items: vec![],
        step: Step::Empty,
        has_tools: member(doc, "tools").is_some_and(|tools| tools.kind != Kind::Array || !tools.elements.is_empty()),
        max_tokens: setting("maxOutputTokens").and_then(|limit| limit.parse().ok()),
        asks_reasoning: setting("thinkingConfig").map(thinks).transpose()?.unwrap_or(false),
        structured: structured(&setting),
        markers: 0,
        delta: None,
        protected: 0,
        choices: setting("candidateCount").and_then(|count| count.parse().ok()).unwrap_or(1),
    };
    if endpoint.operation == Operation::Batch {
        return Ok(RequestView { system_open: false, ..view });
    }
    if let Some(instruction) = instruction {
        view.system = system(doc, instruction)?;
    }
    view.items = history::items(doc, contents(doc)?, "contents", reading, facts)?;
    view.step = history::step(&view.items);
    Ok(view)
}

fn refuse_twins(doc: &Doc) -> Result<(), ViewError> {
    let keys: Vec<Cow<'_, str>> = doc
        .members()
        .iter()
        .map(|member| if member.key.contains('_') { camel_case(&member.key).into() } else { (&*member.key).into() })
        .collect();
    Ok(distinct(keys.iter().map(AsRef::as_ref))?)
}

/// The member with this camel-case key in either spelling; none when it is null.
pub(super) fn member<'a>(doc: &'a Doc, key: &str) -> Option<&'a Member> {
    spelled(doc, key).filter(|member| member.kind != Kind::Null)
}

/// The member with this camel-case key in either spelling, null or not.
pub(super) fn spelled<'a>(doc: &'a Doc, key: &str) -> Option<&'a Member> {
    let is = |member: &&Member| member.key == key || (member.key.contains('_') && camel_case(&member.key) == key);
    doc.members().iter().find(is)
}

fn object<'a>(doc: &'a Doc, key: &'static str) -> Result<Option<Object<'a>>, ViewError> {
    let Some(member) = member(doc, key) else { return Ok(None) };
    let object = Object::parse_proto(doc.text(member.value)).map_err(|error| history::view_error(error, key))?;
    Ok(Some(object))
}

/// The elements of `contents`; a single content may stand without its array.
///
/// # Errors
/// [`ViewError::Shape`] for anything else.
pub(super) fn contents(doc: &Doc) -> Result<&[Span], ViewError> {
    match member(doc, "contents") {
        None => Ok(&[]),
        Some(contents) if contents.kind == Kind::Array => Ok(&contents.elements),
        Some(contents) if contents.kind == Kind::Object => Ok(std::slice::from_ref(&contents.value)),
        Some(_) => Err(ViewError::Shape { member: "contents" }),
    }
}

fn body_model(doc: &Doc) -> Option<String> {
    let model = raw::string(doc.text(member(doc, "model")?.value))?;
    Some(model.strip_prefix("models/").unwrap_or(&model).to_owned())
}

/// The text spans of the instruction's parts.
fn system(doc: &Doc, member: &Member) -> Result<Vec<Span>, ViewError> {
    let error = |error| history::view_error(error, "systemInstruction");
    let instruction = Object::parse_proto(doc.text(member.value)).map_err(error)?;
    let Some(parts) = instruction.span("parts").map(|parts| parts.offset(member.value.start)) else {
        return Ok(vec![]);
    };
    let text = doc.text(parts);
    let elements = match raw::array(text) {
        Some(elements) => elements.into_iter().map(|element| element.offset(parts.start)).collect(),
        None if text == "null" => vec![],
        None => vec![parts],
    };
    let mut texts = Vec::with_capacity(elements.len());
    for element in elements {
        let part = Object::parse_proto(doc.text(element)).map_err(error)?;
        let span = part.span("text").map(|span| span.offset(element.start));
        texts.extend(span.filter(|span| doc.text(*span).starts_with('"')));
    }
    Ok(texts)
}

/// A budget of 0 switches thinking off.
fn thinks(config: &str) -> Result<bool, ViewError> {
    let config = Object::parse_proto(config).map_err(|error| history::view_error(error, "thinkingConfig"))?;
    Ok(config.get("thinkingBudget") != Some("0"))
}

fn structured<'a>(setting: &dyn Fn(&'static str) -> Option<&'a str>) -> bool {
    ["responseSchema", "responseJsonSchema", "responseFormat"].iter().any(|key| setting(key).is_some())
        || setting("responseMimeType").is_some_and(|mime| mime == r#""application/json""#)
}

/// The text of a content's `parts`, where they are.
pub(super) fn parts_span(content: &str) -> Option<Span> {
    Object::parse_proto(content).ok()?.span("parts").filter(|span| slice(content, *span) != "null")
}
