//! `messages.replace`: another text, while calls, results and images stay.
use super::Body;
use super::select::{must_be_free, must_be_loose, selected};
use super::texts::{self, Piece};
use crate::context::edit::Selector;
use crate::context::{Item, Role};
use crate::dialect::edit::{Changes, Fields, Keys};
use crate::dialect::openai::element::Element;
use crate::dialect::openai::insert::{self, Insertions, StringContent};
use crate::dialect::{EditError, blocks};
use crate::json::{Span, Splice, raw};
use std::collections::BTreeSet;

pub(super) fn replace(body: &Body<'_>, which: &Selector, text: &str) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    let mut gone = BTreeSet::new();
    for index in selected(body, which)? {
        must_be_free(body, index)?;
        if let Some(item) = body.view.items.get(index) {
            let mut edit = Edit { body, splice: &mut splice, gone: &mut gone, text };
            edit.item(item)?;
        }
    }
    blocks::remove(&mut splice, &body.list, |index| gone.contains(&index));
    Ok(splice)
}

struct Edit<'a> {
    body: &'a Body<'a>,
    splice: &'a mut Splice,
    /// Elements of the history that nothing is left of.
    gone: &'a mut BTreeSet<usize>,
    text: &'a str,
}

/// An element that can hold the text.
struct Open<'a> {
    index: usize,
    span: Span,
    raw: &'a str,
    element: Element<'a>,
}

impl Edit<'_> {
    /// One text of the item becomes the text, its others go.
    fn item(&mut self, item: &Item) -> Result<(), EditError> {
        let body = self.body;
        let mut open = Vec::new();
        for index in item.elements.clone() {
            let Some(span) = body.list.get(index).copied() else { continue };
            let raw = body.doc.text(span);
            let element = (body.read)(raw)?;
            if element.role.0 == item.role() && (element.body.is_some() || is_message(raw, &element)) {
                open.push(Open { index, span, raw, element });
            }
        }
        for Open { span, raw, element, .. } in open.iter().filter(|open| open.element.refused) {
            self.take_refusal(raw, element, span.start);
        }
        let pieces: Vec<Piece> =
            open.iter().flat_map(|open| texts::pieces(&open.element, open.index, open.span.start)).collect();
        match (texts::heir(body.doc, &pieces), open.first()) {
            (Some(heir), _) => self.one_of(&open, pieces, heir)?,
            (None, Some(first)) => self.put_into(first)?,
            (None, None) => self.put_before(item)?,
        }
        Ok(())
    }

    fn one_of(&mut self, open: &[Open<'_>], mut pieces: Vec<Piece>, heir: usize) -> Result<(), EditError> {
        let heir = pieces.remove(heir);
        self.splice.replace(heir.span, raw::quote(self.text));
        let mut emptied = vec![];
        for theirs in pieces.chunk_by(|a, b| a.element == b.element) {
            let element = theirs.first().and_then(|piece| piece.element);
            let holder = open.binary_search_by_key(&element, |open| Some(open.index)).ok().and_then(|at| open.get(at));
            let Some(Open { index, span, raw, element }) = holder else { continue };
            if texts::take_out(self.splice, raw, span.start, element, theirs) {
                emptied.push(*index);
            }
        }
        must_be_loose(self.body, emptied.iter().copied())?;
        self.gone.extend(emptied);
        Ok(())
    }

    /// What Chat says beside the content why the model did not answer: the message has another text now.
    fn take_refusal(&mut self, raw: &str, element: &Element<'_>, base: usize) {
        let inside = |span: Span| element.body.is_some_and(|body| body.start <= span.start && span.end <= body.end);
        if let Some(refusal) = raw::get(raw, "refusal").filter(|refusal| !inside(*refusal)) {
            self.splice.replace(refusal.offset(base), "null");
        }
    }

    /// Into an element whose body has no text: calls alone, or images.
    fn put_into(&mut self, open: &Open<'_>) -> Result<(), EditError> {
        let Open { span, raw, element, .. } = open;
        let part = if element.role.0 == Role::Assistant { self.body.form.answer_part } else { self.body.form.part };
        match insert::end_of(element, raw, span.start, StringContent::Joins) {
            Some(end) => {
                let mut insertions = Insertions::new(part);
                insertions.behind(end, &[self.text.to_owned()]);
                insertions.write(self.splice);
            }
            None if element.body.is_none() => {
                let mut changes = Changes::default();
                changes.set(&["content"], raw::quote(self.text));
                changes.apply(&Fields::at(self.body.doc, *span, Keys::Exact)?, self.splice)?;
            }
            None => return Err(self.no_text()),
        }
        Ok(())
    }

    /// Ahead of an answer of which no element can hold text.
    fn put_before(&mut self, item: &Item) -> Result<(), EditError> {
        let answer = self.body.form.answer.filter(|_| item.role() == Role::Assistant).ok_or_else(|| self.no_text())?;
        self.splice.insert(item.span.start, answer(self.text) + ",");
        Ok(())
    }

    fn no_text(&self) -> EditError {
        EditError::Unknown { dialect: self.body.form.name, what: "text in such a message" }
    }
}

/// Whether an element without a body is a message that could have one, and no call or reasoning: those have no role.
fn is_message(raw: &str, element: &Element<'_>) -> bool {
    element.role.0 == Role::Assistant && raw::get(raw, "role").is_some()
}
