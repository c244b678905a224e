//! Which definitions stay, in all lists of tools that a body has.
use super::definition::Definition;
use super::{Body, Carrier};
use crate::dialect::edit::Sieve;
use crate::json::{Doc, ScanError, Span, raw};
use std::collections::HashSet;

/// Namespaces inside of namespaces that are looked into: one is what the API knows. Deeper ones go as a whole, since
/// nobody knows what they hold.
const MAX_NAMESPACES: usize = 4;

/// What becomes of a definition.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It stays.
    Stays,
    /// It goes.
    Goes,
    /// Some of a namespace's tools go.
    Partly(List),
}

/// The definitions of a list and what becomes of them. Spans count from the start of the body.
pub(super) type List = Vec<(Span, Verdict)>;

/// What is known of the tools once all lists are judged.
pub(super) struct Judge<'e> {
    /// What lets tools through; all where there is none.
    sieve: Option<Sieve<'e>>,
    /// Names of the tools that stay.
    pub(super) left: HashSet<String>,
    /// Names of the tools that go.
    gone: HashSet<String>,
    /// The first definition that has a key twice: which tool it is, depends on who reads it.
    ambiguous: Option<ScanError>,
}

impl<'e> Judge<'e> {
    pub(super) fn new(sieve: Option<Sieve<'e>>) -> Self {
        Self { sieve, left: HashSet::new(), gone: HashSet::new(), ambiguous: None }
    }

    /// That every definition says one thing.
    ///
    /// # Errors
    /// [`ScanError::DuplicateKey`]
    pub(super) fn is_clear(&self) -> Result<(), ScanError> {
        self.ambiguous.clone().map_or(Ok(()), Err)
    }

    /// Whether a definition may stay: in every way in which it can be read.
    fn keeps(&self, definition: &Definition<'_>) -> bool {
        let passes =
            |sieve: Sieve<'_>| definition.names.iter().all(|names| sieve.passes(names.iter().map(String::as_str)));
        self.sieve.is_none_or(passes)
    }

    /// Whether a choice names a tool that the model may not call any more.
    pub(super) fn forbids(&self, choice: &Definition<'_>) -> bool {
        !choice.all_names().any(|name| self.left.contains(name))
            && (!self.keeps(choice) || choice.all_names().any(|name| self.gone.contains(name)))
    }

    fn doubt(&mut self, error: ScanError) {
        if matches!(error, ScanError::DuplicateKey { .. }) {
            self.ambiguous.get_or_insert(error);
        }
    }

    /// Judges the definitions of a list.
    fn judge(&mut self, doc: &Doc, elements: &[Span], within: &Within<'_>) -> List {
        elements.iter().map(|element| (*element, self.judge_one(doc, *element, within))).collect()
    }

    fn judge_one(&mut self, doc: &Doc, element: Span, within: &Within<'_>) -> Verdict {
        let raw = doc.text(element);
        let definition = match Definition::read(raw, within.space) {
            Ok(definition) => definition,
            // May be any tool.
            Err(error) => {
                self.doubt(error);
                return Verdict::Goes;
            }
        };
        let Some(members) = definition.members else {
            let stays = within.decided.unwrap_or_else(|| self.keeps(&definition));
            let names = if stays { &mut self.left } else { &mut self.gone };
            names.extend(definition.all_names().map(str::to_owned));
            return if stays { Verdict::Stays } else { Verdict::Goes };
        };
        if within.depth == MAX_NAMESPACES {
            return Verdict::Goes;
        }
        let inner = Within {
            space: definition.all_names().next(),
            decided: within.decided.or_else(|| self.sieve?.of_group(definition.all_names())),
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

pub(super) fn all_go(list: &List) -> bool {
    list.iter().all(|(_, verdict)| matches!(verdict, Verdict::Goes))
}

/// Judges all lists of tools.
pub(super) fn judged(body: &Body<'_>, carriers: &[Carrier], judge: &mut Judge<'_>) -> Vec<List> {
    let lists = carriers.iter().map(|carrier| judge.judge(body.doc, &carrier.elements, &Within::default()));
    lists.collect()
}

/// The names of all tools.
pub(super) fn names(body: &Body<'_>) -> HashSet<String> {
    let mut judge = Judge::new(None);
    judged(body, &body.carriers(), &mut judge);
    judge.left
}
