//! A look into one element of a body. The text is expected to be valid JSON ([`super::Doc`] saw to that, or serde_json
//! wrote it); on broken text these return errors or `None`, never panic. Nothing is kept: what is not asked for is
//! stepped over at the scanner's speed. Spans count from the start of the text that was given.
use super::scan::Scanner;
use super::unescape::{escape as unescape_one, unescape};
use super::{Kind, ScanError, Span, duplicate};
use memchr::memchr2;
use std::borrow::Cow;
use std::{iter, mem};

/// One member of an object.
#[derive(Debug, Clone)]
pub struct Field<'a> {
    /// The key, decoded.
    pub key: Cow<'a, str>,
    /// The key with its quotes, as written.
    pub key_span: Span,
    /// The value.
    pub value: Span,
}

impl<'a> Field<'a> {
    /// The member of `text` with the key and the value at these places.
    pub(super) fn at(text: &'a str, key_span: Span, value: Span) -> Self {
        Self { key: unescape(inside(text, key_span).unwrap_or_default()), key_span, value }
    }

    /// The same member in a text that begins `base` bytes earlier.
    pub(super) fn offset(self, base: usize) -> Self {
        Self { key_span: self.key_span.offset(base), value: self.value.offset(base), ..self }
    }
}

/// The members of the object that `raw` holds, in order.
///
/// # Errors
/// [`ScanError::NotAnObject`] if it holds something else, [`ScanError::DuplicateKey`] if a key stands twice.
pub fn object(raw: &str) -> Result<Vec<Field<'_>>, ScanError> {
    distinct(fields(raw).ok_or(ScanError::NotAnObject)?.collect::<Result<Vec<_>, _>>()?)
}

/// The members, if each key stands once.
pub(super) fn distinct(fields: Vec<Field<'_>>) -> Result<Vec<Field<'_>>, ScanError> {
    match duplicate(fields.iter().map(|field| field.key.as_ref())) {
        Some(key) => Err(ScanError::DuplicateKey { key: key.to_owned() }),
        None => Ok(fields),
    }
}

/// The elements of the array that `raw` holds; `None` if it holds something else.
pub fn array(raw: &str) -> Option<Vec<Span>> {
    elements(raw)?.collect::<Result<_, _>>().ok()
}

/// The kind of the value that `raw` holds.
pub fn kind(raw: &str) -> Option<Kind> {
    Scanner::new(raw).kind()
}

/// The string that `raw` holds, unescaped; borrowed where it has no escapes. Lone surrogates become U+FFFD.
pub fn string(raw: &str) -> Option<Cow<'_, str>> {
    // Most texts have no escape, and finding none takes a fraction of what reading the string does.
    if let Some(plain) = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'))
        && memchr2(b'"', b'\\', plain.as_bytes()).is_none()
    {
        return Some(Cow::Borrowed(plain));
    }
    let mut scanner = Scanner::new(raw);
    let span = scanner.string().ok()?;
    scanner.end().ok()?;
    inside(raw, span).map(unescape)
}

/// The characters of the string that `raw` holds, decoded as by [`string`], each with the byte of `raw` where it begins.
pub fn chars(raw: &str) -> impl Iterator<Item = (usize, char)> {
    let inside = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or_default();
    let mut rest = inside;
    iter::from_fn(move || {
        let at = 1 + inside.len() - rest.len();
        let mut plain = rest.chars();
        let (character, behind) = match plain.next()? {
            '\\' => unescape_one(plain.as_str()),
            character => (character, plain.as_str()),
        };
        rest = behind;
        Some((at, character))
    })
}

/// The value of the first member with this (decoded) key, if `raw` holds an object that has one. Later members are not
/// looked at, so that a duplicate goes unseen: [`object`] refuses them.
pub fn get(raw: &str, key: &str) -> Option<Span> {
    fields(raw)?.map_while(Result::ok).find(|field| field.key == key).map(|field| field.value)
}

/// The values of the members with these (decoded) keys, of the object that is all of `raw`; `null` is as good as absent.
/// One pass, and nothing is kept of the other members: for the many small objects of a stream.
///
/// # Errors
/// [`ScanError`] when `raw` is not one JSON object, or one of the keys stands twice.
pub fn pick<'a, const N: usize>(raw: &'a str, keys: [&str; N]) -> Result<[Option<&'a str>; N], ScanError> {
    let mut scanner = Scanner::new(raw);
    if !scanner.eat(b'{') {
        return Err(ScanError::NotAnObject);
    }
    let mut found = [None; N];
    let mut first = true;
    while let Some(key_span) = scanner.next_key(mem::take(&mut first))? {
        let value = scanner.value(INNER_DEPTH)?;
        let key = unescape(inside(raw, key_span).unwrap_or_default());
        let Some((place, name)) = found.iter_mut().zip(keys).find(|(_, name)| *name == key) else { continue };
        if place.replace(raw.get(value.start..value.end).unwrap_or_default()).is_some() {
            return Err(ScanError::DuplicateKey { key: name.to_owned() });
        }
    }
    scanner.end()?;
    Ok(found.map(|value| value.filter(|text| *text != "null")))
}

/// The string in the first member with this key, unescaped.
pub fn get_str<'a>(raw: &'a str, key: &str) -> Option<Cow<'a, str>> {
    let span = get(raw, key)?;
    string(raw.get(span.start..span.end)?)
}

/// The value that a JSON pointer names (RFC 6901); the empty pointer names the whole value. Of duplicate keys the
/// first is taken.
pub fn pointer(raw: &str, pointer: &str) -> Option<Span> {
    let mut found = Span::new(0, raw.len());
    let mut tokens = pointer.split('/');
    if !tokens.next()?.is_empty() {
        return None;
    }
    for token in tokens {
        let value = raw.get(found.start..found.end)?;
        let inner = match kind(value)? {
            Kind::Object => get(value, &token.replace("~1", "/").replace("~0", "~"))?,
            Kind::Array => elements(value)?.map_while(Result::ok).nth(array_index(token)?)?,
            _ => return None,
        };
        found = inner.offset(found.start);
    }
    Some(found)
}

/// An array index as RFC 6901, section 4 writes it: decimal digits without leading zeros.
pub(super) fn array_index(token: &str) -> Option<usize> {
    let is_canonical = token == "0" || token.starts_with(|digit: char| matches!(digit, '1'..='9'));
    if is_canonical { token.parse().ok() } else { None }
}

/// `text` as a JSON string with its quotes.
pub fn quote(text: &str) -> String {
    // Writing a str fails on nothing; a value would be written through a formatter, at several times the cost.
    serde_json::to_string(text).unwrap_or_default()
}

/// `text` escaped as the inside of a JSON string, without quotes: to be inserted into a string that is there.
pub fn escape(text: &str) -> String {
    let mut inside = quote(text);
    inside.pop();
    inside.remove(0);
    inside
}

/// The text between the quotes of a string.
fn inside(raw: &str, string: Span) -> Option<&str> {
    raw.get(string.start + 1..string.end - 1)
}

/// Containers that are open around a member or an element: the one that `raw` holds.
const INNER_DEPTH: usize = 1;

/// The members of the object that `raw` holds, one at a time; not to be asked on after an error.
fn fields(raw: &str) -> Option<impl Iterator<Item = Result<Field<'_>, ScanError>>> {
    let mut scanner = Scanner::new(raw);
    let mut first = true;
    scanner.eat(b'{').then_some(())?;
    Some(iter::from_fn(move || {
        let key_span = scanner.next_key(mem::take(&mut first)).transpose()?;
        Some(key_span.and_then(|key_span| Ok(Field::at(raw, key_span, scanner.value(INNER_DEPTH)?))))
    }))
}

/// The elements of the array that `raw` holds, one at a time; not to be asked on after an error.
fn elements(raw: &str) -> Option<impl Iterator<Item = Result<Span, ScanError>>> {
    let mut scanner = Scanner::new(raw);
    let mut first = true;
    scanner.eat(b'[').then_some(())?;
    Some(iter::from_fn(move || match scanner.next_element(mem::take(&mut first)) {
        Ok(true) => Some(scanner.value(INNER_DEPTH)),
        Ok(false) => None,
        Err(error) => Some(Err(error)),
    }))
}

#[cfg(test)]
mod tests;
