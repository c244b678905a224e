//! `tools.remove` and `tools.keep`: which definitions stay, in all lists of tools that a body has.
use super::choice;
use super::definition::Definition;
use super::members::{Members, set_in};
use super::{Body, Holder};
use crate::context::edit::Globs;
use crate::dialect::{EditError, blocks};
use crate::json::{Doc, ScanError, Span, Splice, raw};
use std::collections::HashSet;

/// Namespaces inside of namespaces that are looked into: one is what the API knows. Deeper ones go as a whole, since
/// nobody knows what they hold.
const MAX_NAMESPACES: usize = 4;

/// What is to stay.
#[derive(Debug, Clone, Copy)]
pub(super) enum Filter<'e> {
    /// What these do not name.
    Remove(&'e Globs),
    /// What these name.
    Keep(&'e Globs),
    /// Everything that can be read.
    All,
}

impl Filter<'_> {
    /// Whether a definition may stay: in every way in which it can be read.
    fn keeps(self, definition: &Definition<'_>) -> bool {
        match self {
            Self::Remove(globs) => !definition.all_names().any(|name| globs.matches(name)),
            Self::Keep(globs) => definition.names.iter().all(|names| names.iter().any(|name| globs.matches(name))),
            Self::All => true,
        }
    }

    /// Whether a namespace's own name decides for all that it holds.
    fn of_space(self, space: &Definition<'_>) -> Option<bool> {
        let is_named = |globs: &Globs| space.all_names().any(|name| globs.matches(name));
        match self {
            Self::Remove(globs) => is_named(globs).then_some(false),
            Self::Keep(globs) => is_named(globs).then_some(true),
            Self::All => None,
        }
    }
}

#[derive(Debug)]
enum Verdict {
    Stays,
    Goes,
    /// Some of a namespace's tools go.
    Partly(List),
}

/// The definitions of a list and what becomes of them. Spans count from the start of the body.
type List = Vec<(Span, Verdict)>;

/// What is known of the tools once all lists are judged.
pub(super) struct Sieve<'e> {
    filter: Filter<'e>,
    /// Names of the tools that stay.
    pub(super) left: HashSet<String>,
    /// Names of the tools that go.
    gone: HashSet<String>,
}

impl<'e> Sieve<'e> {
    pub(super) fn new(filter: Filter<'e>) -> Self {
        Self { filter, left: HashSet::new(), gone: HashSet::new() }
    }

    /// Whether a choice names a tool that the model may not call any more.
    pub(super) fn forbids(&self, choice: &Definition<'_>) -> bool {
        !choice.all_names().any(|name| self.left.contains(name))
            && (!self.filter.keeps(choice) || choice.all_names().any(|name| self.gone.contains(name)))
    }

    /// Judges the definitions of a list.
    fn judge(&mut self, doc: &Doc, elements: &[Span], within: &Within<'_>) -> List {
        elements.iter().map(|element| (*element, self.judge_one(doc, *element, within))).collect()
    }

    fn judge_one(&mut self, doc: &Doc, element: Span, within: &Within<'_>) -> Verdict {
        let raw = doc.text(element);
        // What is ambiguous may be any tool.
        let Ok(definition) = Definition::read(raw, within.space) else { return Verdict::Goes };
        let Some(members) = definition.members else {
            let stays = within.decided.unwrap_or_else(|| self.filter.keeps(&definition));
            let names = if stays { &mut self.left } else { &mut self.gone };
            names.extend(definition.all_names().map(str::to_owned));
            return if stays { Verdict::Stays } else { Verdict::Goes };
        };
        if within.depth == MAX_NAMESPACES {
            return Verdict::Goes;
        }
        let inner = Within {
            space: definition.all_names().next(),
            decided: within.decided.or_else(|| self.filter.of_space(&definition)),
            depth: within.depth + 1,
        };
        let list = members.offset(element.start);
        let elements: Vec<Span> =
            raw::array(doc.text(list)).unwrap_or_default().into_iter().map(|e| e.offset(list.start)).collect();
        let judged = self.judge(doc, &elements, &inner);
        let verdict = match inner.decided {
            Some(false) => Verdict::Goes,
            _ if judged.iter().all(|(_, verdict)| matches!(verdict, Verdict::Stays)) => Verdict::Stays,
            _ if all_go(&judged) => Verdict::Goes,
            _ => Verdict::Partly(judged),
        };
        let names = if matches!(verdict, Verdict::Goes) { &mut self.gone } else { &mut self.left };
        names.extend(definition.all_names().map(str::to_owned));
        verdict
    }
}

/// Where a list stands.
#[derive(Default)]
struct Within<'a> {
    /// The namespace that holds it.
    space: Option<&'a str>,
    /// What the name of that one decides.
    decided: Option<bool>,
    depth: usize,
}

fn all_go(list: &List) -> bool {
    list.iter().all(|(_, verdict)| matches!(verdict, Verdict::Goes))
}

/// Judges all lists of tools.
fn judged(body: &Body<'_>, sieve: &mut Sieve<'_>) -> Vec<List> {
    let judge = |carrier: &super::Carrier| sieve.judge(body.doc, &carrier.elements, &Within::default());
    body.carriers.iter().map(judge).collect()
}

/// The names of all tools.
pub(super) fn names(body: &Body<'_>) -> HashSet<String> {
    let mut sieve = Sieve::new(Filter::All);
    judged(body, &mut sieve);
    sieve.left
}

/// Leaves only the tools that the filter keeps, and no choice of another one.
pub(super) fn sift(body: &Body<'_>, filter: Filter<'_>) -> Result<Splice, EditError> {
    let mut sieve = Sieve::new(filter);
    let lists = judged(body, &mut sieve);
    let (mut splice, mut members) = (Splice::new(), Members::default());
    let mut items = HashSet::new();
    for (carrier, list) in body.carriers.iter().zip(&lists).filter(|(_, list)| !list.is_empty()) {
        match carrier.holder {
            Holder::Member(key) if all_go(list) => members.remove(key),
            Holder::Item(index) if all_go(list) => drop(items.insert(index)),
            _ => write(&mut splice, body.doc, list)?,
        }
    }
    if items.len() == body.list.len() && !items.is_empty() {
        // There is no input without items: their lists are emptied instead.
        for (_, list) in body.carriers.iter().zip(&lists).filter(|(c, _)| matches!(c.holder, Holder::Item(_))) {
            write(&mut splice, body.doc, list)?;
        }
    } else {
        blocks::remove(&mut splice, &body.list, |index| items.contains(&index));
    }
    for (key, names) in body.form.options {
        if body.doc.get(key).is_some() && forbids_option(filter, names) {
            members.remove(key);
        }
    }
    let is_emptied = lists.iter().any(|list| !list.is_empty()) && lists.iter().all(all_go);
    if is_emptied {
        choice::remove(&mut members);
    } else {
        choice::repair(body, &sieve, &mut members, &mut splice);
    }
    members.write(&mut splice, body.doc);
    Ok(splice)
}

/// A tool that is switched on by a member of the body.
fn forbids_option(filter: Filter<'_>, names: &[&str]) -> bool {
    match filter {
        Filter::Remove(globs) => names.iter().any(|name| globs.matches(name)),
        Filter::Keep(globs) => !names.iter().any(|name| globs.matches(name)),
        Filter::All => false,
    }
}

fn write(splice: &mut Splice, doc: &Doc, list: &List) -> Result<(), ScanError> {
    let spans: Vec<Span> = list.iter().map(|(span, _)| *span).collect();
    blocks::remove(splice, &spans, |index| {
        list.get(index).is_some_and(|(_, verdict)| matches!(verdict, Verdict::Goes))
    });
    for (_, verdict) in list {
        if let Verdict::Partly(inner) = verdict {
            write(splice, doc, inner)?;
        }
    }
    move_markers(splice, doc, list)
}

/// The cache marker of a tool that goes stands on the one before it from then on, so that the client's breakpoint is kept.
/// Where that has one there is none to move, and where no tool is left before it nothing is there to be cached.
fn move_markers(splice: &mut Splice, doc: &Doc, list: &List) -> Result<(), ScanError> {
    let read = |span: Span| Definition::read(doc.text(span), None);
    let mut before: Option<Span> = None;
    let mut lost: Option<Span> = None;
    let end = (Span::at(0), Verdict::Stays);
    for (span, verdict) in list.iter().chain([&end]) {
        if matches!(verdict, Verdict::Goes) {
            if read(*span).is_ok_and(|definition| !definition.markers.is_empty()) {
                lost = Some(*span);
            }
            continue;
        }
        if let (Some(lost), Some(heir)) = (lost.take(), before)
            && read(heir)?.markers.is_empty()
        {
            for (_, key, value) in read(lost)?.markers.into_iter().take(1) {
                set_in(splice, doc.text(heir), heir.start, &key, value)?;
            }
        }
        before = Some(*span);
    }
    Ok(())
}
