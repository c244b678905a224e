//! JSON Patch (RFC 6902) on the text of a body: what no step touches keeps its bytes.
//!
//! Steps are made one after the other, each on the text that the one before left. The result is compared with the body, so
//! that what is sent still shares its beginning and end.
use super::scan::Scanner;
use super::{Kind, ScanError, Span, Splice, raw};
use serde_json::Value;
use std::borrow::Cow;

mod equal;
mod place;

use equal::equal;
use place::Place;

/// Most steps of one patch. Each goes over the whole body; what is written by hand has a handful.
pub const MAX_STEPS: usize = 256;

/// Bytes by which a patch may make a body longer: what a hook may write is far below, but `copy` could double a body again
/// and again.
pub const MAX_GROWTH: usize = 16 << 20;

/// One operation (RFC 6902, section 4). Paths are JSON pointers (RFC 6901).
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// A further member or element.
    Add(&'a str, &'a Value),
    /// Something is not there.
    Remove(&'a str),
    /// Another value.
    Replace(&'a str, &'a Value),
    /// Something goes elsewhere.
    Move {
        /// From where.
        from: &'a str,
        /// Where to.
        to: &'a str,
    },
    /// Something stands elsewhere, too.
    Copy {
        /// From where.
        from: &'a str,
        /// Where to.
        to: &'a str,
    },
    /// The patch is for bodies that hold this.
    Test(&'a str, &'a Value),
}

/// Whether two keys name one member where none is spelled the same: servers may know a member by two spellings.
pub type SameKey = fn(&str, &str) -> bool;

/// Why a step can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The pointer names nothing.
    #[error("there is nothing at {0:?}")]
    Nothing(String),
    /// The text is no JSON pointer.
    #[error("{0:?} is no JSON pointer")]
    NoPointer(String),
    /// A test that failed.
    #[error("the value at {0:?} is another one")]
    Test(String),
    /// Something would go into itself.
    #[error("{0:?} can't move into itself")]
    IntoItself(String),
    /// The result is no JSON object any more.
    #[error("the body would be no JSON object")]
    NotAnObject,
    /// Longer than a patch may make a body.
    #[error("more than {MAX_STEPS} steps, or longer by more than {MAX_GROWTH} bytes")]
    TooMuch,
    /// What stands there is ambiguous, or the result too deep.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// What a patch changes of the body `text`: all of its steps, or nothing.
///
/// # Errors
/// The first step that can't be made, counted from 0, and why.
pub fn patch(text: &str, steps: &[Step<'_>], same: SameKey) -> Result<Splice, (usize, StepError)> {
    if steps.len() > MAX_STEPS {
        return Err((MAX_STEPS, StepError::TooMuch));
    }
    let mut patched = Cow::Borrowed(text);
    for (index, step) in steps.iter().enumerate() {
        let next = step.make(&patched, same).and_then(|next| match next {
            Some(next) if next.len() > text.len().saturating_add(MAX_GROWTH) => Err(StepError::TooMuch),
            next => Ok(next),
        });
        if let Some(next) = next.map_err(|error| (index, error))? {
            patched = Cow::Owned(next);
        }
    }
    check(&patched).map_err(|error| (steps.len().saturating_sub(1), error))?;
    Ok(difference(text, &patched))
}

impl Step<'_> {
    /// The text behind this step; `None` where it changes nothing.
    fn make(&self, text: &str, same: SameKey) -> Result<Option<String>, StepError> {
        let find = |path: &str| Place::find(text, path, same);
        let value = |path: &str| find(path)?.value().ok_or_else(|| StepError::Nothing(path.to_owned()));
        match *self {
            Self::Add(path, value) => find(path)?.put(text, &value.to_string()).map(Some),
            Self::Remove(path) => find(path)?.take(text, path).map(Some),
            Self::Replace(path, new) => Ok(Some(replaced(text, value(path)?, &new.to_string()))),
            Self::Copy { from, to } => {
                let copied = part(text, value(from)?);
                find(to)?.put(text, copied).map(Some)
            }
            Self::Move { from, to } => {
                let moved = part(text, value(from)?);
                if from == to {
                    return Ok(None);
                }
                if to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
                    return Err(StepError::IntoItself(from.to_owned()));
                }
                let without = find(from)?.take(text, from)?;
                Place::find(&without, to, same)?.put(&without, moved).map(Some)
            }
            Self::Test(path, expected) => match equal(part(text, value(path)?), expected) {
                true => Ok(None),
                false => Err(StepError::Test(path.to_owned())),
            },
        }
    }
}

fn part(text: &str, span: Span) -> &str {
    text.get(span.start..span.end).unwrap_or_default()
}

/// `text` with `new` in the place of `span`.
fn replaced(text: &str, span: Span, new: &str) -> String {
    [text.get(..span.start).unwrap_or_default(), new, text.get(span.end..).unwrap_or_default()].concat()
}

/// That the result is an object that can be read.
fn check(text: &str) -> Result<(), StepError> {
    if raw::kind(text) != Some(Kind::Object) {
        return Err(StepError::NotAnObject);
    }
    let mut scanner = Scanner::new(text);
    scanner.value(0)?;
    Ok(scanner.end()?)
}

/// The change from `old` to `new`: what lies between what they begin with and what they end with.
fn difference(old: &str, new: &str) -> Splice {
    let mut splice = Splice::new();
    if old == new {
        return splice;
    }
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let begin = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = |text: &'_ [u8]| text.len() - begin;
    let shorter = rest(old).min(rest(new));
    let end = old.iter().rev().zip(new.iter().rev()).take(shorter).take_while(|(a, b)| a == b).count();
    let between = new.get(begin..new.len() - end).unwrap_or_default().to_vec();
    splice.replace(Span::new(begin, old.len() - end), between);
    splice
}

#[cfg(test)]
mod tests;
