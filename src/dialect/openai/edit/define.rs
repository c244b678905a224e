//! `tools.describe`, `tools.replace` and `tools.add`.
use super::definition::{Definition, define};
use super::{Body, Holder, Style, choice};
use crate::context::edit::Tool;
use crate::dialect::EditError;
use crate::dialect::edit::{Changes, Fields, Keys};
use crate::json::{Span, Splice, raw};
use serde_json::Value;

/// A definition in a body.
pub(super) struct Found<'d> {
    /// Where it is.
    pub(super) span: Span,
    /// What it says.
    pub(super) definition: Definition<'d>,
    /// How its list writes definitions.
    pub(super) style: Style,
}

impl<'d> Body<'d> {
    /// All tools of all lists, also those in namespaces; what can't be read is left out.
    pub(super) fn definitions(&self) -> Vec<Found<'d>> {
        let mut found = Vec::new();
        for carrier in self.carriers() {
            self.collect(&carrier.elements, carrier.style, None, &mut found);
        }
        found
    }

    fn collect(&self, elements: &[Span], style: Style, space: Option<&str>, found: &mut Vec<Found<'d>>) {
        for span in elements {
            let Ok(definition) = Definition::read(self.doc.text(*span), space) else { continue };
            // Namespaces inside of namespaces are unknown to the API.
            if let Some(list) = definition.members.map(|list| list.offset(span.start)).filter(|_| space.is_none()) {
                let inner = raw::array(self.doc.text(list)).unwrap_or_default();
                let inner: Vec<Span> = inner.into_iter().map(|element| element.offset(list.start)).collect();
                self.collect(&inner, style, definition.all_names().next(), found);
            } else {
                found.push(Found { span: *span, definition, style });
            }
        }
    }

    /// The tools with this name.
    fn named(&self, name: &str) -> Result<Vec<Found<'d>>, EditError> {
        let found: Vec<_> = self.definitions().into_iter().filter(|tool| tool.definition.is_named(name)).collect();
        if found.is_empty() { Err(EditError::Missing { what: format!("tool {name}") }) } else { Ok(found) }
    }

    fn must_be_new(&self, name: &str) -> Result<(), EditError> {
        match self.named(name) {
            Ok(_) => Err(EditError::Exists { name: name.to_owned() }),
            Err(_) => Ok(()),
        }
    }
}

pub(super) fn describe(body: &Body<'_>, name: &str, text: &str) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    for Found { span, definition, .. } in body.named(name)? {
        if definition.is_built_in() {
            let what = "description of a built-in tool";
            return Err(EditError::Unknown { dialect: body.form.name, what });
        }
        let mut changes = Changes::default();
        changes.set(&["description"], raw::quote(text));
        changes.apply(&Fields::at(body.doc, definition.details.offset(span.start), Keys::Exact)?, &mut splice)?;
    }
    Ok(splice)
}

pub(super) fn replace(body: &Body<'_>, name: &str, tool: &Tool) -> Result<Splice, EditError> {
    let found = body.named(name)?;
    if tool.name != name {
        body.must_be_new(&tool.name)?;
    }
    let (mut splice, mut changes) = (Splice::new(), Changes::default());
    for Found { span, definition, style } in found {
        let mut new = define(tool, style);
        for (key, value) in definition.markers {
            new.insert(key, serde_json::from_str(value).unwrap_or_default());
        }
        splice.replace(span, Value::Object(new).to_string());
    }
    choice::rename(body, name, &tool.name, &mut changes, &mut splice);
    changes.apply(&Fields::body(body.doc, Keys::Exact)?, &mut splice)?;
    Ok(splice)
}

/// Puts a tool where the client has its own: behind the last one of the first list that holds any. Lists in answers of a
/// search are history, not a place for it.
pub(super) fn add(body: &Body<'_>, tool: &Tool) -> Result<Splice, EditError> {
    body.must_be_new(&tool.name)?;
    let mut splice = Splice::new();
    let carriers = body.carriers();
    let carrier = carriers.iter().find(|carrier| carrier.holder != Holder::Stays && !carrier.elements.is_empty());
    if let Some(carrier) = carrier
        && let Some(last) = carrier.elements.last()
    {
        splice.insert(last.end, format!(",{}", Value::Object(define(tool, carrier.style))));
    } else {
        let mut changes = Changes::default();
        changes.set(&["tools"], Value::Array(vec![define(tool, body.form.style).into()]));
        changes.apply(&Fields::body(body.doc, Keys::Exact)?, &mut splice)?;
    }
    Ok(splice)
}
