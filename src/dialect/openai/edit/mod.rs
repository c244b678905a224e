//! Edits of a request, for both APIs: they differ in where things stand and how they are spelled, and that is said by
//! [`Body`] and [`Form`].

mod choice;
mod define;
mod definition;
mod judge;
mod redact;
mod remove;
mod replace;
mod select;
mod sift;
mod system;
#[cfg(test)]
pub(in crate::dialect) mod testing;
mod texts;

use super::history::Read;
use crate::context::{Edit, Operation, Place, RequestView};
use crate::dialect::edit::params::{self, Mode, ParamPlaces};
use crate::dialect::edit::{Changes, Fields, Keys, Sieve};
use crate::dialect::{Dialect, EditError};
use crate::json::{Doc, Span, Splice, raw};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// How an API spells things.
#[derive(Debug)]
pub(in crate::dialect) struct Form {
    /// Its name.
    pub(in crate::dialect) name: &'static str,
    /// How it defines tools.
    pub(in crate::dialect) style: Style,
    /// Members of the body that switch tools on, and their names.
    pub(in crate::dialect) options: &'static [(&'static str, &'static [&'static str])],
    /// Type of a text part in what is said to the model.
    pub(in crate::dialect) part: &'static str,
    /// Type of a text part in what the model says.
    pub(in crate::dialect) answer_part: &'static str,
    /// Takes calls out of an element, `raw`, that begins at the byte.
    pub(in crate::dialect) take_calls: fn(&mut Splice, &str, usize, &BTreeSet<usize>) -> Taken,
    /// An answer that is this text alone, for answers without any; `None` where an answer always has a place for it.
    pub(in crate::dialect) answer: Option<fn(&str) -> String>,
}

/// What is left of an element when calls were taken out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Taken {
    /// Something.
    Some,
    /// Nothing: it goes as a whole.
    All,
}

/// How a list writes tool definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Style {
    /// A type, and what it is in a member of that name: Chat.
    Nested,
    /// Neither: the old `functions`.
    Bare,
    /// A type beside the rest: Responses.
    Flat,
}

/// Where a list of tools stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Holder {
    /// It is this member of the body, which goes with its last tool.
    Member(&'static str),
    /// In this element of the history, which goes with its last tool.
    Item(usize),
    /// In an element that stays when the list is empty.
    Stays,
}

/// A list of tools.
#[derive(Debug)]
pub(in crate::dialect) struct Carrier {
    /// Where it stands.
    pub(in crate::dialect) holder: Holder,
    /// How it writes definitions.
    pub(in crate::dialect) style: Style,
    /// The definitions.
    pub(in crate::dialect) elements: Vec<Span>,
}

impl Carrier {
    /// Whether it holds no definition.
    pub(in crate::dialect) fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The list that a member of the body holds, if it holds one.
    pub(in crate::dialect) fn member(doc: &Doc, key: &'static str, style: Style) -> Option<Self> {
        let elements = doc.get(key)?.elements.clone();
        Some(Self { holder: Holder::Member(key), style, elements })
    }

    /// The list in the member `tools` of the element at `span`, if it holds one.
    pub(in crate::dialect) fn inside(doc: &Doc, span: Span, holder: Holder, style: Style) -> Option<Self> {
        let element = doc.text(span);
        let list = raw::get(element, "tools")?;
        let elements = raw::array(element.get(list.start..list.end)?)?;
        let elements = elements.into_iter().map(|element| element.offset(span.start + list.start)).collect();
        Some(Self { holder, style, elements })
    }
}

/// A request body of either API.
pub(in crate::dialect) struct Body<'d> {
    /// The body itself.
    pub(in crate::dialect) doc: &'d Doc,
    /// What is known of it.
    pub(in crate::dialect) view: &'d RequestView,
    /// How its API spells things.
    pub(in crate::dialect) form: &'static Form,
    /// The elements of the history; where the history is a string, that alone.
    pub(in crate::dialect) list: Vec<Span>,
    /// Reads one of them.
    pub(in crate::dialect) read: Read,
    /// The instructions that stand beside the history.
    pub(in crate::dialect) instructions: Option<Span>,
    /// The items of the view that are instructions ahead of the conversation.
    pub(in crate::dialect) leading: Vec<usize>,
    /// Finds the lists of tools: see [`Body::carriers`].
    pub(in crate::dialect) find_carriers: fn(&Doc, &[Span]) -> Vec<Carrier>,
}

impl Body<'_> {
    /// The lists of tools. Looked for by the edits that are about tools alone: the whole history may hold them.
    pub(in crate::dialect) fn carriers(&self) -> Vec<Carrier> {
        (self.find_carriers)(self.doc, &self.list)
    }

    /// The names of all tools that the body shows, sorted.
    pub(in crate::dialect) fn roster(&self) -> Vec<String> {
        let mut names: Vec<String> = judge::names(self).into_iter().collect();
        names.sort_unstable();
        names
    }

    /// Whether a tool of this type is defined.
    pub(in crate::dialect) fn has_kind(&self, kind: &str) -> bool {
        self.definitions().iter().any(|tool| tool.definition.kind == kind)
    }
}

/// A JSON schema with its name, as both APIs write it.
pub(in crate::dialect) fn schema(name: &str, schema: &Value, strict: Option<bool>) -> Map<String, Value> {
    let mut named = Map::from_iter([("name".to_owned(), name.into()), ("schema".to_owned(), schema.clone())]);
    named.extend(strict.map(|strict| ("strict".to_owned(), strict.into())));
    named
}

/// What an edit changes: see `Dialect::rewrite`.
pub(in crate::dialect) fn edit(
    dialect: &dyn Dialect,
    body: &Body<'_>,
    places: &dyn ParamPlaces,
    edit: &Edit,
) -> Result<Splice, EditError> {
    if let Some(sieve) = Sieve::of(edit) {
        return sift::sift(body, sieve);
    }
    match edit {
        Edit::SystemReplace { text, matching } => match system::replace(body, &text.0, matching.as_ref())? {
            Some(splice) => Ok(splice),
            None => {
                let end = Place::SystemEnd { texts: vec![text.0.clone()] };
                Ok(dialect.lower(body.doc, body.view, &[end])?)
            }
        },
        Edit::MessagesRedact { pattern, with } => redact::redact(body, pattern, with),
        Edit::MessagesRemove { which } => remove::remove(body, which),
        Edit::MessagesReplace { which, text } => replace::replace(body, which, &text.0),
        Edit::ToolsDescribe { name, text } => define::describe(body, name, &text.0),
        Edit::ToolsReplace { name, tool } => define::replace(body, name, tool),
        Edit::ToolsAdd { tool } => define::add(body, tool),
        Edit::ToolChoiceSet { choice } => choice::set(body, choice),
        Edit::ParamsSet(_) | Edit::ParamsClamp(_) | Edit::ParamsRemove { .. } => parameters(body, places, edit),
        _ => Ok(Splice::new()),
    }
}

/// Changes of parameters. A request that only counts generates nothing.
fn parameters(body: &Body<'_>, places: &dyn ParamPlaces, edit: &Edit) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    if body.view.operation == Operation::Count {
        return Ok(splice);
    }
    let fields = Fields::body(body.doc, Keys::Exact)?;
    let changes = match edit {
        Edit::ParamsSet(params) => params::change(&fields, params, Mode::Set, places, body.form.name)?,
        Edit::ParamsClamp(params) => params::change(&fields, params, Mode::Clamp, places, body.form.name)?,
        Edit::ParamsRemove { names } => params::remove(names, places)?,
        _ => Changes::default(),
    };
    changes.apply(&fields, &mut splice)?;
    Ok(splice)
}
