//! Lowers placements to edits: see `Dialect::lower`.
use super::restore::{Slot, slots};
use super::view::{self, Input, Instructions};
use super::{legs, results};
use crate::context::{Item, Leg, Place, RequestView, Restored, Role};
use crate::dialect::openai::insert::{self, Insertions, StringContent, Target};
use crate::dialect::openai::omit;
use crate::dialect::openai::restore::{self, Spot};
use crate::dialect::{LowerError, blocks, history};
use crate::json::{Doc, Span, Splice, raw};
use std::collections::{BTreeMap, HashSet};

pub(super) fn lower(doc: &Doc, view: &RequestView, places: &[Place]) -> Result<Splice, LowerError> {
    let input = Input::of(doc).ok_or(LowerError::NoSystem)?;
    let mut edit = Edit {
        doc,
        view,
        system: System::of(doc, view, &input)?,
        input,
        insertions: Insertions::new("input_text"),
        messages: Vec::new(),
        gone: omit::omitted(view, places),
        splits: Vec::new(),
        restored: restore::restored(places),
        around: Vec::new(),
        owed: Vec::new(),
        structured: Splice::new(),
        goes_on_behind: None,
    };
    for place in places {
        match place {
            Place::SystemFront { after, texts } => edit.system_front(*after, texts)?,
            Place::SystemEnd { texts } => edit.system_end(texts)?,
            Place::ItemEnd { item, texts } => edit.item_end(*item, texts)?,
            Place::Owed { results } => edit.owed = results.iter().map(legs::result).collect(),
            Place::Result { item, result: 0, replace, append } => {
                edit.own_result(*item, replace.as_deref(), append)?;
            }
            Place::Result { item, .. } => return Err(LowerError::NoPlace { item: *item }),
            Place::Split { item, legs } => edit.split(*item, legs)?,
            Place::GoesOnBehind { id } => edit.goes_on_behind = Some(id),
            Place::Restore { .. } | Place::Omit { .. } => {}
        }
    }
    edit.restore();
    Ok(edit.write())
}

/// Where instructions go.
enum System {
    /// Into the client's own: their text blocks, and the end of the last.
    Client { blocks: Vec<Target>, end: Target },
    /// Into `instructions`, which the client left out or empty.
    New(Vec<String>),
    /// Nowhere: `instructions` has a type that is not known.
    Closed,
}

impl System {
    /// `instructions` is not carried over by the provider and can be sent every time, so it is the place in a request
    /// that carries only what is new; a developer message there would be stored once more with each request.
    fn of(doc: &Doc, view: &RequestView, input: &Input<'_>) -> Result<Self, LowerError> {
        match Instructions::of(doc) {
            Instructions::Foreign => return Ok(Self::Closed),
            Instructions::Text(span) => {
                return Ok(Self::Client { blocks: vec![Target::Joined(span)], end: Target::Joined(span) });
            }
            Instructions::Absent | Instructions::Empty(_) if view.delta.is_some() => return Ok(Self::New(Vec::new())),
            Instructions::Absent | Instructions::Empty(_) => {}
        }
        let mut blocks = Vec::new();
        let mut end = None;
        for item in view::leading(&view.items).filter_map(|index| view.items.get(index)) {
            let (raw, base) = (doc.text(item.span), item.span.start);
            let element = (input.read)(raw)?;
            blocks.extend(insert::blocks_of(&element, base, StringContent::Wraps));
            end = insert::end_of(&element, raw, base, StringContent::Wraps).or(end);
        }
        Ok(end.map_or(Self::New(Vec::new()), |end| Self::Client { blocks, end }))
    }
}

struct Edit<'a> {
    doc: &'a Doc,
    view: &'a RequestView,
    input: Input<'a>,
    system: System,
    insertions: Insertions,
    /// New user messages, and the byte that each is put at.
    messages: Vec<(usize, Vec<String>)>,
    /// Indexes of the elements that are left out.
    gone: HashSet<usize>,
    /// What stands in the place of answers that are taken apart, and of calls.
    splits: Vec<(Span, String)>,
    /// Calls that stand in answers again, by their item; those of `splits` are taken out.
    restored: BTreeMap<usize, Vec<&'a Restored>>,
    /// Further items.
    around: Vec<(Spot, String)>,
    /// Results at the start of a delta.
    owed: Vec<String>,
    /// Outputs that are written anew and take no blocks of text.
    structured: Splice,
    /// The id of the response that the request goes on behind.
    goes_on_behind: Option<&'a str>,
}

impl Edit<'_> {
    fn system_front(&mut self, after: usize, texts: &[String]) -> Result<(), LowerError> {
        match &mut self.system {
            System::Client { blocks, end } => self.insertions.front(blocks, *end, after, texts),
            System::New(new) => new.extend(insert::filled(texts)),
            System::Closed => return Err(LowerError::NoSystem),
        }
        Ok(())
    }

    fn system_end(&mut self, texts: &[String]) -> Result<(), LowerError> {
        match &mut self.system {
            System::Client { end, .. } => self.insertions.behind(*end, texts),
            System::New(new) => new.extend(insert::filled(texts)),
            System::Closed => return Err(LowerError::NoSystem),
        }
        Ok(())
    }

    fn item_end(&mut self, index: usize, texts: &[String]) -> Result<(), LowerError> {
        let no_place = LowerError::NoPlace { item: index };
        let item = self.view.items.get(index).ok_or(no_place.clone())?;
        let content = match item.role() {
            Role::User => StringContent::Wraps,
            Role::Tool => StringContent::Joins,
            _ => return Err(no_place),
        };
        let raw = self.doc.text(item.span);
        let element = (self.input.read)(raw)?;
        match insert::end_of(&element, raw, item.span.start, content) {
            _ if self.is_gone(item) => Err(no_place),
            Some(end) => {
                self.insertions.behind(end, texts);
                Ok(())
            }
            None => self.message_behind(index, texts),
        }
    }

    /// An output is one result.
    fn own_result(&mut self, index: usize, replace: Option<&str>, append: &[String]) -> Result<(), LowerError> {
        let no_place = LowerError::NoPlace { item: index };
        let item = self.view.items.get(index).filter(|item| item.role() == Role::Tool && !self.is_gone(item));
        let item = item.ok_or(no_place.clone())?;
        let raw = self.doc.text(item.span);
        let element = (self.input.read)(raw)?;
        let target = match replace {
            Some(text) if element.body.is_none() => {
                results::replace_structured(self.doc, item.span, text, &mut self.structured)?.ok_or(no_place)?;
                None
            }
            Some(text) => Some(self.insertions.instead(&element, raw, item.span.start, text).ok_or(no_place)?),
            None => insert::end_of(&element, raw, item.span.start, StringContent::Joins),
        };
        match target {
            Some(target) => self.insertions.behind(target, append),
            None => self.message_behind(index, append)?,
        }
        Ok(())
    }

    /// A user message of its own, for items that take no text: behind all results that follow, since nothing may stand
    /// between a call and its result.
    fn message_behind(&mut self, index: usize, texts: &[String]) -> Result<(), LowerError> {
        let results = self.view.items.iter().skip(index + 1).take_while(|i| i.role() == Role::Tool).count();
        let last = self.view.items.get(index + results).filter(|last| !self.is_gone(last));
        let last = last.ok_or(LowerError::NoPlace { item: index })?;
        let texts: Vec<String> = insert::filled(texts).collect();
        if !texts.is_empty() {
            self.messages.push((last.span.end, texts));
        }
        Ok(())
    }

    fn split(&mut self, index: usize, answers: &[Leg]) -> Result<(), LowerError> {
        let item = self.view.items.get(index).filter(|item| item.role() == Role::Assistant);
        let item = item.ok_or(LowerError::NoPlace { item: index })?;
        let copy = self.input.items.get(item.elements.clone()).unwrap_or_default();
        let copy = copy.iter().map(|span| self.doc.text(*span));
        if self.is_gone(item) {
            return Ok(());
        }
        let calls = self.restored.remove(&index).unwrap_or_default();
        let results = self.results_of(index, &calls);
        let calls = if results.is_some() { calls.as_slice() } else { &[] };
        match legs::apart(self.doc, copy, answers, calls)? {
            Some((apart, found)) => {
                self.splits.push((item.span, apart));
                self.around.extend(results.filter(|_| found).into_iter().flatten());
            }
            // It stays one answer, and gets its calls as such.
            None => drop(self.restored.insert(index, calls.to_vec())),
        }
        Ok(())
    }

    fn results_of(&self, index: usize, calls: &[&Restored]) -> Option<Vec<(Spot, String)>> {
        let results = restore::results(self.view, index, calls, |item| self.is_gone(item))?;
        Some(results.into_iter().map(|(spot, told)| (spot, legs::result(told))).collect())
    }

    /// Puts calls into the answers that are not taken apart.
    fn restore(&mut self) {
        for (index, calls) in std::mem::take(&mut self.restored) {
            let Some(item) = self.view.items.get(index).filter(|item| !self.is_gone(item)) else { continue };
            let texts = history::texts(self.doc, &self.input.items, item);
            let (Some(results), Some(slots)) = (self.results_of(index, &calls), slots(&texts, &calls)) else {
                continue;
            };
            let spans = self.input.items.get(item.elements.clone()).unwrap_or_default();
            for (slot, native) in slots.into_iter().zip(legs::natives(self.doc, &calls)) {
                let span = |at: usize| spans.get(at).copied().unwrap_or(item.span);
                match slot {
                    Slot::Before(at) => self.around.push((Spot::Before(span(at).start), native)),
                    Slot::Behind(at) => self.around.push((Spot::Behind(span(at).end), native)),
                    Slot::Instead(at) => self.splits.push((span(at), native)),
                }
            }
            self.around.extend(results);
        }
    }

    fn is_gone(&self, item: &Item) -> bool {
        self.gone.contains(&item.elements.start)
    }

    fn write(mut self) -> Splice {
        let mut splice = std::mem::take(&mut self.structured);
        if let Some(id) = self.goes_on_behind {
            legs::go_on_behind(&mut splice, self.doc, id);
        }
        for (item, apart) in std::mem::take(&mut self.splits) {
            splice.replace(item, apart);
        }
        if let System::New(texts) = std::mem::replace(&mut self.system, System::Closed) {
            write_instructions(&mut splice, self.doc, &texts);
        }
        for (position, texts) in std::mem::take(&mut self.messages) {
            let content = self.insertions.list(texts.iter());
            splice.insert(position, format!(r#",{{"type":"message","role":"user","content":{content}}}"#));
        }
        for (spot, item) in std::mem::take(&mut self.around) {
            spot.put(&mut splice, &item);
        }
        if self.input.is_string {
            self.write_prompt(&mut splice);
        } else {
            self.write_owed(&mut splice);
            self.insertions.write(&mut splice);
            blocks::remove(&mut splice, &self.input.items, |index| self.gone.contains(&index));
        }
        splice
    }

    /// Results ahead of all other items.
    fn write_owed(&self, splice: &mut Splice) {
        if self.owed.is_empty() {
            return;
        }
        let owed = self.owed.join(",");
        let alone = (0..self.input.items.len()).all(|index| self.gone.contains(&index));
        match (self.doc.get("input"), self.input.items.first()) {
            (_, Some(first)) => splice.insert(first.start, if alone { owed } else { owed + "," }),
            (Some(input), None) => splice.replace(input.value, format!("[{owed}]")),
            (None, None) => blocks::append_member(splice, self.doc, "input", &format!("[{owed}]")),
        }
    }

    /// A string input becomes a list with one message, whose content is a list in turn.
    fn write_prompt(self, splice: &mut Splice) {
        let Some(value) = self.input.value else { return };
        let owed: String = self.owed.iter().map(|item| format!("{item},")).collect();
        if self.gone.contains(&0) {
            splice.replace(value, format!("[{}]", self.owed.join(",")));
        } else if !owed.is_empty() || self.insertions.touches(Target::Wrapped(value)) {
            splice.insert(value.start, format!(r#"[{owed}{{"type":"message","role":"user","content":"#));
            self.insertions.write(splice);
            splice.insert(value.end, "}]");
        } else {
            self.insertions.write(splice);
        }
    }
}

fn write_instructions(splice: &mut Splice, doc: &Doc, texts: &[String]) {
    if texts.is_empty() {
        return;
    }
    let text = raw::quote(&insert::joined(texts.iter()));
    match (Instructions::of(doc), doc.members().first()) {
        (Instructions::Empty(span), _) => splice.replace(span, text),
        (_, Some(first)) => splice.insert(first.key_span.start, format!(r#""instructions":{text},"#)),
        // An empty object: behind its opening brace.
        (_, None) => {
            let brace = doc.bytes().iter().position(|b| *b == b'{').unwrap_or_default();
            splice.insert(brace + 1, format!(r#""instructions":{text}"#));
        }
    }
}
