//! Lowers placements to edits: see `Dialect::lower`.
use super::restore::restored;
use super::{element, legs, view};
use crate::context::{Item, Leg, Place, RequestView, Restored, Role};
use crate::dialect::openai::insert::{self, Insertions, StringContent, Target};
use crate::dialect::openai::omit;
use crate::dialect::openai::restore::{self, Spot};
use crate::dialect::{LowerError, blocks, history};
use crate::json::{Doc, Span, Splice, raw};
use std::collections::{BTreeMap, HashSet};

pub(super) fn lower(doc: &Doc, view: &RequestView, places: &[Place]) -> Result<Splice, LowerError> {
    let messages = &view::messages(doc).ok_or(LowerError::NoSystem)?.elements;
    let mut edit = Edit {
        doc,
        view,
        messages,
        insertions: Insertions::new("text"),
        system: System::read(doc, view, messages)?,
        gone: omit::omitted(view, places),
        splits: Vec::new(),
        restored: restore::restored(places),
        results: Vec::new(),
    };
    for place in places {
        match place {
            Place::SystemFront { after, texts } => edit.system_front(*after, texts),
            Place::SystemEnd { texts } => edit.system_end(texts),
            Place::ItemEnd { item, texts } => edit.item_end(*item, texts)?,
            Place::Result { item, result: 0, replace, append } => edit.result(*item, replace.as_deref(), append)?,
            Place::Result { item, .. } => return Err(LowerError::NoPlace { item: *item }),
            Place::Split { item, legs } => edit.split(*item, legs)?,
            // Every request has its whole history.
            Place::Owed { .. } => return Err(LowerError::NoPlace { item: 0 }),
            Place::Restore { .. } | Place::Omit { .. } | Place::GoesOnBehind { .. } => {}
        }
    }
    edit.restore();
    edit.write()
}

/// Where instructions go. Servers with strict chat templates refuse any system message but one at the very start
/// (llama.cpp, case B35), so there is never a second one.
enum System {
    /// Into the client's own leading messages: their text blocks, and the end of the last.
    Client { blocks: Vec<Target>, end: Target },
    /// Into a new message at the start.
    New(Vec<String>),
}

impl System {
    fn read(doc: &Doc, view: &RequestView, messages: &[Span]) -> Result<Self, LowerError> {
        let leading = messages.get(..view::leading(&view.items)).unwrap_or_default();
        let mut blocks = Vec::new();
        let mut end = None;
        for span in leading {
            let element = element::read(doc.text(*span))?;
            blocks.extend(insert::blocks_of(&element, span.start, StringContent::Joins));
            end = insert::end_of(&element, doc.text(*span), span.start, StringContent::Joins).or(end);
        }
        match end {
            Some(end) => Ok(Self::Client { blocks, end }),
            None if leading.is_empty() => Ok(Self::New(Vec::new())),
            None => Err(LowerError::NoSystem),
        }
    }
}

struct Edit<'a> {
    doc: &'a Doc,
    view: &'a RequestView,
    messages: &'a [Span],
    insertions: Insertions,
    system: System,
    /// Indexes of the messages that are left out.
    gone: HashSet<usize>,
    /// What stands in the place of answers.
    splits: Vec<(Span, String)>,
    /// Calls that stand in answers again, by their item; those of `splits` are taken out.
    restored: BTreeMap<usize, Vec<&'a Restored>>,
    /// Their results.
    results: Vec<(Spot, String)>,
}

impl Edit<'_> {
    fn system_front(&mut self, after: usize, texts: &[String]) {
        match &mut self.system {
            System::Client { blocks, end } => self.insertions.front(blocks, *end, after, texts),
            System::New(new) => new.extend(insert::filled(texts)),
        }
    }

    fn system_end(&mut self, texts: &[String]) {
        match &mut self.system {
            System::Client { end, .. } => self.insertions.behind(*end, texts),
            System::New(new) => new.extend(insert::filled(texts)),
        }
    }

    /// User and tool messages alike: behind the client's own content. A text inside of the tool's content is the one
    /// place between a call and the model's next word that every server takes.
    fn item_end(&mut self, index: usize, texts: &[String]) -> Result<(), LowerError> {
        let no_place = LowerError::NoPlace { item: index };
        let item = self.view.items.get(index).ok_or(no_place.clone())?;
        if !matches!(item.role(), Role::User | Role::Tool) || self.is_gone(item) {
            return Err(no_place);
        }
        let raw = self.doc.text(item.span);
        let element = element::read(raw)?;
        let end = insert::end_of(&element, raw, item.span.start, StringContent::Joins).ok_or(no_place)?;
        self.insertions.behind(end, texts);
        Ok(())
    }

    /// A tool message holds one result.
    fn result(&mut self, index: usize, replace: Option<&str>, append: &[String]) -> Result<(), LowerError> {
        let no_place = LowerError::NoPlace { item: index };
        let item = self
            .view
            .items
            .get(index)
            .filter(|item| item.role() == Role::Tool && !self.gone.contains(&item.elements.start));
        let item = item.ok_or(no_place.clone())?;
        let raw = self.doc.text(item.span);
        let element = element::read(raw)?;
        let target = match replace {
            Some(text) => self.insertions.instead(&element, raw, item.span.start, text),
            None => insert::end_of(&element, raw, item.span.start, StringContent::Joins),
        };
        self.insertions.behind(target.ok_or(no_place)?, append);
        Ok(())
    }

    fn split(&mut self, index: usize, answers: &[Leg]) -> Result<(), LowerError> {
        let item = self.view.items.get(index).filter(|item| item.role() == Role::Assistant);
        let item = item.ok_or(LowerError::NoPlace { item: index })?;
        let copy = self.messages.get(item.elements.clone()).unwrap_or_default().iter().map(|s| self.doc.text(*s));
        if self.is_gone(item) {
            return Ok(());
        }
        let calls = self.restored.remove(&index).unwrap_or_default();
        let results = self.results_of(index, &calls);
        let calls = if results.is_some() { calls.as_slice() } else { &[] };
        match legs::apart(copy, answers, calls)? {
            Some((apart, found)) => {
                self.splits.push((item.span, apart));
                self.results.extend(results.filter(|_| found).into_iter().flatten());
            }
            // It stays one answer, and gets its calls as such.
            None => drop(self.restored.insert(index, calls.to_vec())),
        }
        Ok(())
    }

    fn is_gone(&self, item: &Item) -> bool {
        self.gone.contains(&item.elements.start)
    }

    fn results_of(&self, index: usize, calls: &[&Restored]) -> Option<Vec<(Spot, String)>> {
        let results = restore::results(self.view, index, calls, |item| self.is_gone(item))?;
        Some(results.into_iter().map(|(spot, result)| (spot, legs::result(result))).collect())
    }

    /// Puts calls into the answers that are not taken apart.
    fn restore(&mut self) {
        for (index, calls) in std::mem::take(&mut self.restored) {
            let Some(item) = self.view.items.get(index).filter(|item| !self.is_gone(item)) else { continue };
            let texts = history::texts(self.doc, self.messages, item);
            if let Some(results) = self.results_of(index, &calls)
                && let Some(messages) = restored(&texts, &calls)
            {
                let spans = self.messages.get(item.elements.clone()).unwrap_or_default();
                let changed = |(span, message): &(Span, String)| self.doc.text(*span) != message;
                self.splits.extend(spans.iter().copied().zip(messages).filter(changed));
                self.results.extend(results);
            }
        }
    }

    fn write(self) -> Result<Splice, LowerError> {
        let mut splice = Splice::new();
        if let System::New(texts) = &self.system
            && !texts.is_empty()
        {
            let content = raw::quote(&insert::joined(texts.iter()));
            let message = format!(r#"{{"role":"system","content":{content}}}"#);
            let alone = (0..self.messages.len()).all(|index| self.gone.contains(&index));
            let start = omit::list_start(self.doc, "messages", self.messages).ok_or(LowerError::NoSystem)?;
            splice.insert(start, if alone { message } else { message + "," });
        }
        self.insertions.write(&mut splice);
        for (item, apart) in self.splits {
            splice.replace(item, apart);
        }
        for (spot, result) in self.results {
            spot.put(&mut splice, &result);
        }
        blocks::remove(&mut splice, self.messages, |index| self.gone.contains(&index));
        Ok(splice)
    }
}
