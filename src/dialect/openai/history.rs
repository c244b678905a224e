//! From elements to items: facts, runs of the model's elements, and what the end of the history means.
use super::element::{Element, Text, ToolCall, is_marker};
use crate::context::digest::NormalForm;
use crate::context::view::RoleOr;
use crate::context::{Item, ItemFacts, Role, Step};
use crate::dialect::Reading;
use crate::dialect::object::{Object, slice};
use crate::json::{Doc, ScanError, Span};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// How a dialect reads one element.
pub(in crate::dialect) type Read = for<'a> fn(&'a str) -> Result<Element<'a>, ScanError>;

/// What differs between the two histories.
#[derive(Clone, Copy)]
pub(in crate::dialect) struct Grammar {
    /// Reads one element.
    pub(in crate::dialect) read: Read,
    /// The provider's own tools leave results in the history (Responses: hosted shell, hosted tool search). They answer
    /// no call of the client's and belong to the answer before them.
    pub(in crate::dialect) hosted_results: bool,
    /// What a user message behind tool results is.
    pub(in crate::dialect) interjection: Interjection,
}

/// What a user message behind tool results is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Interjection {
    /// A new prompt.
    Prompt,
    /// Part of the same turn, whose results stand beside it.
    SameTurn,
}

/// The items of the history: neighbouring elements of the model form one.
///
/// # Errors
/// [`ScanError`] for the first element that is ambiguous.
pub(in crate::dialect) fn items(
    doc: &Doc,
    elements: &[Span],
    grammar: Grammar,
    reading: &Reading<'_>,
) -> Result<Vec<Item>, ScanError> {
    let read = grammar.read;
    let mut items: Vec<Item> = Vec::with_capacity(elements.len());
    let mut calls: HashSet<String> = HashSet::new();
    for (index, span) in elements.iter().enumerate() {
        let facts = facts(doc.text(*span), reading, read)?;
        let continues = match (items.last().map(Item::role), facts.role.0) {
            (Some(Role::Assistant), Role::Assistant) => true,
            (Some(Role::Assistant), Role::Tool) if grammar.hosted_results => {
                !facts.results.iter().any(|id| calls.contains(id)) && read(doc.text(*span))?.may_be_hosted
            }
            _ => false,
        };
        if grammar.hosted_results {
            calls.extend(facts.calls.iter().cloned());
        }
        match items.last_mut().filter(|_| continues) {
            Some(run) => {
                run.span.end = span.end;
                run.elements.end = index + 1;
            }
            None => items.push(Item { span: *span, elements: index..index + 1, facts }),
        }
    }
    for item in items.iter_mut().filter(|i| i.elements.len() > 1) {
        item.facts = run_facts(doc, item.span, elements.get(item.elements.clone()).unwrap_or_default(), read, reading)?;
    }
    Ok(items)
}

/// The facts of one element, from the cache if its text is known.
pub(in crate::dialect) fn facts(raw: &str, reading: &Reading<'_>, read: Read) -> Result<Arc<ItemFacts>, ScanError> {
    cached(raw, reading, &|| Ok(facts_of(&[read(raw)?], raw, reading)))
}

fn run_facts(
    doc: &Doc,
    run: Span,
    elements: &[Span],
    read: Read,
    reading: &Reading<'_>,
) -> Result<Arc<ItemFacts>, ScanError> {
    let raw = doc.text(run);
    cached(raw, reading, &|| {
        let read: Vec<_> = elements.iter().map(|e| read(doc.text(*e))).collect::<Result<_, _>>()?;
        Ok(facts_of(&read, raw, reading))
    })
}

/// The facts of `raw`; one that is refused is known as such, so that it is refused again.
fn cached(
    raw: &str,
    reading: &Reading<'_>,
    compute: &dyn Fn() -> Result<ItemFacts, ScanError>,
) -> Result<Arc<ItemFacts>, ScanError> {
    let refused = |error| ItemFacts { broken: Some(error), ..ItemFacts::default() };
    let facts = reading.cache.facts(raw, &|| compute().unwrap_or_else(refused));
    facts.broken.clone().map_or(Ok(facts), Err)
}

/// The facts of a run of elements with one speaker; `raw` is the text from the first to the last. Attachments are only
/// looked at in runs of one.
fn facts_of(run: &[Element<'_>], raw: &str, reading: &Reading<'_>) -> ItemFacts {
    let Some(first) = run.first() else { return ItemFacts::default() };
    let mut facts = ItemFacts { role: RoleOr(first.role.0), ..ItemFacts::default() };
    for element in run {
        facts.signed |= element.signed;
        facts.compaction |= element.compaction;
        facts.markers = facts.markers.saturating_add(element.markers);
        facts.calls.extend(element.calls.iter().map(ToolCall::key));
    }
    match first.role.0 {
        Role::User => {
            facts.link = user_form(first, raw, reading).digest();
            facts.prompt = facts.link;
        }
        Role::Tool => {
            facts.results = first.results.iter().map(|id| id.to_string()).collect();
            facts.link = result_form(first, raw).digest();
        }
        Role::Assistant => facts.link = answer_form(run, raw).digest(),
        Role::System | Role::Other => {}
    }
    facts
}

fn user_form(element: &Element<'_>, raw: &str, reading: &Reading<'_>) -> NormalForm {
    let mut form = NormalForm::new();
    for text in own_texts(element, reading) {
        form.text(&text);
    }
    attachments(&mut form, element, raw);
    form
}

fn result_form(element: &Element<'_>, raw: &str) -> NormalForm {
    let mut form = NormalForm::new();
    for id in &element.results {
        form.part("result", id);
    }
    for text in &element.texts {
        form.text(&text.value());
    }
    attachments(&mut form, element, raw);
    form
}

/// The normal form that [`crate::context::Answer::link`] has for the same answer. A compaction that stands alone says
/// nothing, so its own text is its trace.
fn answer_form(run: &[Element<'_>], raw: &str) -> NormalForm {
    let mut form = NormalForm::new();
    for element in run.iter().filter(|e| e.role.0 == Role::Assistant) {
        for text in &element.texts {
            form.text(&text.value());
        }
        for call in &element.calls {
            form.part("call", &call.key());
        }
    }
    if form.digest().is_none() && run.iter().any(|e| e.compaction) {
        form.part("block", raw);
    }
    form
}

/// Adds the parts that are not text, member by member and without cache markers, which clients move from request to
/// request.
fn attachments(form: &mut NormalForm, element: &Element<'_>, raw: &str) {
    for span in &element.attachments {
        let part = slice(raw, *span);
        match Object::parse(part) {
            Ok(object) => {
                form.part("block", "");
                for (key, value) in object.entries().filter(|(key, _)| !is_marker(key)) {
                    form.part(key, value);
                }
            }
            Err(_) => form.part("block", part),
        }
    }
}

/// The texts that are the user's own words.
pub(in crate::dialect) fn own_texts<'e>(
    element: &'e Element<'_>,
    reading: &'e Reading<'_>,
) -> impl Iterator<Item = Cow<'e, str>> {
    element.texts.iter().map(Text::value).filter(|t| !(reading.is_reminder)(t))
}

/// What the end of the history says the request is. Instructions and items that are nobody's speech are looked past
/// (aider ends every request with a system message, Codex a compaction with a trigger). A user message of reminders alone
/// is no prompt: behind tool results the tool step goes on, behind an answer there is nothing new to say.
pub(in crate::dialect) fn step(items: &[Item], interjection: Interjection) -> Step {
    let mut prompt = None;
    for (index, item) in items.iter().enumerate().rev() {
        match item.role() {
            Role::System | Role::Other => {}
            Role::User if item.facts.prompt.is_some() && prompt.is_none() => {
                if interjection == Interjection::Prompt {
                    return Step::Prompt { item: index };
                }
                prompt = Some(index);
            }
            Role::User => {}
            Role::Tool => return Step::Tool { item: index },
            Role::Assistant => return prompt.map_or(Step::Resume, |item| Step::Prompt { item }),
        }
    }
    prompt.map_or(Step::Empty, |item| Step::Prompt { item })
}
