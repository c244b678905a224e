//! The place that a JSON pointer names.
use super::{SameKey, StepError, replaced};
use crate::json::{Kind, ScanError, Span, raw};

/// What stands, or may be put, at a pointer.
#[derive(Debug)]
pub(super) enum Place {
    /// The whole text.
    Whole(Span),
    /// A member or an element that is there: one of `siblings`, which are members with their keys or elements.
    There { siblings: Vec<Span>, index: usize, value: Span, is_element: bool },
    /// A member that is not there, or the end of an array: behind the last of `siblings`. The text that goes before its
    /// value is `key`.
    Behind { container: Span, last: Option<Span>, key: String },
}

impl Place {
    /// The place that `pointer` names in `text`. Where a key stands twice nobody can tell which one is meant.
    pub(super) fn find(text: &str, pointer: &str, same: SameKey) -> Result<Self, StepError> {
        let mut place = Self::Whole(Span::new(0, text.len()));
        for token in tokens(pointer)? {
            let container = place.value().ok_or_else(|| StepError::Nothing(pointer.to_owned()))?;
            place =
                Self::inside(text, container, &token, same)?.ok_or_else(|| StepError::Nothing(pointer.to_owned()))?;
        }
        Ok(place)
    }

    fn inside(text: &str, container: Span, token: &str, same: SameKey) -> Result<Option<Self>, ScanError> {
        let inner = text.get(container.start..container.end).unwrap_or_default();
        match raw::kind(inner) {
            Some(Kind::Object) => Self::member(inner, container, token, same).map(Some),
            Some(Kind::Array) => Ok(Self::element(inner, container, token)),
            _ => Ok(None),
        }
    }

    fn member(inner: &str, container: Span, key: &str, same: SameKey) -> Result<Self, ScanError> {
        let fields = raw::object(inner)?;
        let index = fields.iter().position(|field| field.key == key);
        let index = index.or_else(|| fields.iter().position(|field| same(&field.key, key)));
        let siblings = fields.iter().map(|field| Span::new(field.key_span.start, field.value.end));
        let siblings: Vec<Span> = siblings.map(|span| span.offset(container.start)).collect();
        Ok(match index.and_then(|index| Some((index, fields.get(index)?))) {
            Some((index, field)) => {
                Self::There { siblings, index, value: field.value.offset(container.start), is_element: false }
            }
            None => Self::Behind { container, last: siblings.last().copied(), key: format!("{}:", raw::quote(key)) },
        })
    }

    fn element(inner: &str, container: Span, token: &str) -> Option<Self> {
        let siblings = raw::array(inner)?.into_iter().map(|span| span.offset(container.start));
        let siblings: Vec<Span> = siblings.collect();
        let index = if token == "-" { siblings.len() } else { raw::array_index(token)? };
        match siblings.get(index) {
            Some(value) => Some(Self::There { value: *value, siblings, index, is_element: true }),
            None if index == siblings.len() => {
                Some(Self::Behind { container, last: siblings.last().copied(), key: String::new() })
            }
            None => None,
        }
    }

    /// The value that stands there.
    pub(super) fn value(&self) -> Option<Span> {
        match self {
            Self::Whole(value) | Self::There { value, .. } => Some(*value),
            Self::Behind { .. } => None,
        }
    }

    /// `text` with `value` put there: in the place of a member that is there, before an element that is there.
    pub(super) fn put(self, text: &str, value: &str) -> Result<String, StepError> {
        Ok(match self {
            Self::Whole(whole) => replaced(text, whole, value),
            Self::There { value: there, is_element: false, .. } => replaced(text, there, value),
            Self::There { value: there, .. } => replaced(text, Span::at(there.start), &format!("{value},")),
            Self::Behind { last: Some(last), key, .. } => replaced(text, Span::at(last.end), &format!(",{key}{value}")),
            Self::Behind { container, last: None, key } => {
                replaced(text, Span::at(container.end.saturating_sub(1)), &format!("{key}{value}"))
            }
        })
    }

    /// `text` without what stands there, and without its comma.
    pub(super) fn take(self, text: &str, pointer: &str) -> Result<String, StepError> {
        let Self::There { siblings, index, .. } = self else {
            return Err(match self {
                Self::Whole(_) => StepError::NotAnObject,
                _ => StepError::Nothing(pointer.to_owned()),
            });
        };
        let before = index.checked_sub(1).and_then(|before| siblings.get(before));
        let gone = match (siblings.get(index), siblings.get(index + 1), before) {
            (Some(this), Some(next), _) => Span::new(this.start, next.start),
            (Some(this), None, Some(before)) => Span::new(before.end, this.end),
            (Some(this), None, None) => *this,
            (None, ..) => return Err(StepError::Nothing(pointer.to_owned())),
        };
        Ok(replaced(text, gone, ""))
    }
}

/// The reference tokens of a pointer, unescaped (RFC 6901, sections 3 and 4).
fn tokens(pointer: &str) -> Result<Vec<String>, StepError> {
    let malformed = || StepError::NoPointer(pointer.to_owned());
    let mut tokens = pointer.split('/');
    if tokens.next() != Some("") {
        return Err(malformed());
    }
    tokens.map(|token| unescape(token).ok_or_else(malformed)).collect()
}

fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let (sign, rest) = match part.as_bytes().first()? {
            b'0' => ('~', part.get(1..)?),
            b'1' => ('/', part.get(1..)?),
            _ => return None,
        };
        plain.push(sign);
        plain.push_str(rest);
    }
    Some(plain)
}
