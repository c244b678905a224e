//! Puts texts around the client's own, in the type the client used.
use super::element::{Element, is_marker};
use crate::dialect::object::{Object, slice};
use crate::json::{Kind, Span, Splice, raw};
use std::collections::HashMap;

/// What stands between two texts in one string.
const BLANK_LINE: &str = "\n\n";

/// A value of the client's that texts are put next to. Spans count from the start of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::dialect) enum Target {
    /// A string that stays one: texts go inside, separated by a blank line.
    Joined(Span),
    /// A string that becomes a list of parts.
    Wrapped(Span),
    /// A part of a list: texts become its neighbours.
    Part(Span),
    /// An empty list.
    EmptyList(Span),
    /// A null, which becomes a string.
    Null(Span),
}

/// What becomes of a content that is a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum StringContent {
    /// It stays a string.
    Joins,
    /// It becomes a list of parts.
    Wraps,
}

impl StringContent {
    fn target(self, span: Span) -> Target {
        match self {
            Self::Joins => Target::Joined(span),
            Self::Wraps => Target::Wrapped(span),
        }
    }
}

/// The end of an element's body; `raw` is the element, which begins at `base`.
pub(in crate::dialect) fn end_of(element: &Element<'_>, raw: &str, base: usize, kind: StringContent) -> Option<Target> {
    let body = element.body?;
    let value = slice(raw, body);
    match raw::kind(value)? {
        Kind::String => Some(kind.target(body.offset(base))),
        Kind::Array => Some(match raw::array(value)?.last() {
            Some(part) => Target::Part(part.offset(body.start + base)),
            None => Target::EmptyList(body.offset(base)),
        }),
        Kind::Null => Some(Target::Null(body.offset(base))),
        _ => None,
    }
}

/// Every text block of an element as a target, in order.
pub(in crate::dialect) fn blocks_of<'e>(
    element: &'e Element<'_>,
    base: usize,
    kind: StringContent,
) -> impl Iterator<Item = Target> + 'e {
    element.texts.iter().map(move |text| match text.part {
        Some(part) => Target::Part(part.offset(base)),
        None => kind.target(text.span.offset(base)),
    })
}

#[derive(Default)]
struct Around {
    before: Vec<String>,
    behind: Vec<String>,
    /// The client's own goes.
    instead: Option<Instead>,
}

/// A body that is written anew.
struct Instead {
    body: Span,
    /// The body is a list of parts; the cache markers of the last part that has some, members behind a comma.
    markers: Option<String>,
    text: String,
}

impl Around {
    fn is_empty(&self) -> bool {
        self.before.is_empty() && self.behind.is_empty() && self.instead.is_none()
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.before.iter().chain(&self.behind)
    }
}

/// Texts to be put in, collected per target, since several placements may meet at one.
pub(in crate::dialect) struct Insertions {
    /// Type of a text part in this dialect.
    part_type: &'static str,
    around: HashMap<Target, Around>,
}

impl Insertions {
    pub(in crate::dialect) fn new(part_type: &'static str) -> Self {
        Self { part_type, around: HashMap::new() }
    }

    /// Puts `texts` ahead of the target.
    pub(in crate::dialect) fn before(&mut self, target: Target, texts: &[String]) {
        self.at(target).before.extend(filled(texts));
    }

    /// Puts `texts` behind the target.
    pub(in crate::dialect) fn behind(&mut self, target: Target, texts: &[String]) {
        self.at(target).behind.extend(filled(texts));
    }

    /// Puts `text` in the place of an element's whole body, in the type that it has; `raw` is the element, which begins at
    /// `base`. What is put behind the returned target stands behind `text`. `None`: it has no body.
    pub(in crate::dialect) fn instead(
        &mut self,
        element: &Element<'_>,
        raw: &str,
        base: usize,
        text: &str,
    ) -> Option<Target> {
        let body = element.body?;
        let target = end_of(element, raw, base, StringContent::Joins)?;
        let markers = raw::array(slice(raw, body)).map(|parts| {
            let marked = parts.iter().rev().map(|part| markers(slice(raw, part.offset(body.start))));
            marked.into_iter().find(|members| !members.is_empty()).unwrap_or_default()
        });
        let body = body.offset(base);
        self.at(target).instead = Some(Instead { body, markers, text: text.to_owned() });
        Some(target)
    }

    /// Puts `texts` ahead of a client's instructions, behind the first `after` blocks; `end` is where they end.
    pub(in crate::dialect) fn front(&mut self, blocks: &[Target], end: Target, after: usize, texts: &[String]) {
        match after.checked_sub(1) {
            None => match blocks.first() {
                Some(first) => self.before(*first, texts),
                None => self.behind(end, texts),
            },
            Some(last) => self.behind(blocks.get(last).copied().unwrap_or(end), texts),
        }
    }

    /// Whether a text goes next to this target.
    pub(in crate::dialect) fn touches(&self, target: Target) -> bool {
        self.around.get(&target).is_some_and(|around| !around.is_empty())
    }

    fn at(&mut self, target: Target) -> &mut Around {
        self.around.entry(target).or_default()
    }

    /// One text as a part of a list.
    pub(in crate::dialect) fn part(&self, text: &str) -> String {
        format!(r#"{{"type":"{}","text":{}}}"#, self.part_type, raw::quote(text))
    }

    /// Texts as a list of parts.
    pub(in crate::dialect) fn list<'t>(&self, texts: impl Iterator<Item = &'t String>) -> String {
        format!("[{}]", texts.map(|t| self.part(t)).collect::<Vec<_>>().join(","))
    }

    /// Writes everything that was collected as edits.
    pub(in crate::dialect) fn write(self, splice: &mut Splice) {
        for (target, around) in self.around.iter().filter(|(_, around)| !around.is_empty()) {
            if let Some(instead) = &around.instead {
                splice.replace(instead.body, self.anew(instead, &around.behind));
                continue;
            }
            match *target {
                Target::Joined(span) => write_joined(splice, span, around),
                Target::Wrapped(span) if is_empty_string(span) => splice.replace(span, self.list(around.all())),
                Target::Wrapped(span) => {
                    let before: String = around.before.iter().map(|t| self.part(t) + ",").collect();
                    splice.insert(span.start, format!(r#"[{before}{{"type":"{}","text":"#, self.part_type));
                    splice.insert(span.end, format!("}}{}]", self.parts_behind(around)));
                }
                Target::Part(span) => {
                    for text in &around.before {
                        splice.insert(span.start, self.part(text) + ",");
                    }
                    splice.insert(span.end, self.parts_behind(around));
                }
                Target::EmptyList(span) => splice.replace(span, self.list(around.all())),
                Target::Null(span) => splice.replace(span, raw::quote(&joined(around.all()))),
            }
        }
    }

    /// A blank text is no part that a provider takes; alone it is written as a string.
    fn anew(&self, Instead { markers, text, .. }: &Instead, behind: &[String]) -> String {
        let own = Some(text).filter(|text| !text.trim().is_empty());
        match markers {
            Some(markers) if own.is_some() || !behind.is_empty() => {
                let own = own.map(|text| {
                    let part = self.part(text);
                    format!("{}{markers}}}", part.strip_suffix('}').unwrap_or_default())
                });
                let parts = own.into_iter().chain(behind.iter().map(|text| self.part(text)));
                format!("[{}]", parts.collect::<Vec<_>>().join(","))
            }
            _ if behind.is_empty() => raw::quote(text),
            _ => raw::quote(&joined(own.into_iter().chain(behind))),
        }
    }

    fn parts_behind(&self, around: &Around) -> String {
        around.behind.iter().map(|t| format!(",{}", self.part(t))).collect()
    }
}

/// Texts, separated by blank lines.
pub(in crate::dialect) fn joined<'t>(texts: impl Iterator<Item = &'t String>) -> String {
    texts.map(String::as_str).collect::<Vec<_>>().join(BLANK_LINE)
}

/// The texts that are not blank: providers refuse empty text.
pub(in crate::dialect) fn filled(texts: &[String]) -> impl Iterator<Item = String> + '_ {
    texts.iter().filter(|t| !t.trim().is_empty()).cloned()
}

/// The cache markers of a part, as members behind a comma.
fn markers(part: &str) -> String {
    let Ok(object) = Object::parse(part) else { return String::new() };
    let members = object.entries().filter(|(key, value)| is_marker(key) && *value != "null");
    members.map(|(key, value)| format!(",{}:{value}", raw::quote(key))).collect()
}

fn write_joined(splice: &mut Splice, span: Span, around: &Around) {
    let escape = |texts: &[String]| raw::escape(&joined(texts.iter()));
    if is_empty_string(span) {
        splice.replace(span, raw::quote(&joined(around.all())));
        return;
    }
    let blank_line = raw::escape(BLANK_LINE);
    if !around.before.is_empty() {
        splice.insert(span.start + 1, escape(&around.before) + &blank_line);
    }
    if !around.behind.is_empty() {
        splice.insert(span.end - 1, blank_line + &escape(&around.behind));
    }
}

/// Whether the string at `span` is `""`.
fn is_empty_string(span: Span) -> bool {
    span.len() == 2
}
