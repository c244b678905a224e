//! A look into one element of a validated body. The text is trusted to be valid JSON ([`super::Doc`] saw to that, or
//! serde_json wrote it), so these skip instead of validating; on broken text they return errors or `None`, never panic.
use super::{Kind, ScanError, Span};
use std::borrow::Cow;

/// One member of an object; spans count from the start of the text that was given.
#[derive(Debug, Clone)]
pub struct Field<'a> {
    /// The key, decoded.
    pub key: Cow<'a, str>,
    /// The key with its quotes, as written.
    pub key_span: Span,
    /// The value.
    pub value: Span,
}

/// The members of the object that `raw` holds, in order.
///
/// # Errors
/// [`ScanError::NotAnObject`] if it holds something else, [`ScanError::DuplicateKey`] if a key stands twice.
pub fn object(raw: &str) -> Result<Vec<Field<'_>>, ScanError> {
    let _ = raw;
    Err(ScanError::NotAnObject)
}

/// The elements of the array that `raw` holds; `None` if it holds something else.
pub fn array(raw: &str) -> Option<Vec<Span>> {
    let _ = raw;
    None
}

/// The kind of the value that `raw` holds.
pub fn kind(raw: &str) -> Option<Kind> {
    let _ = raw;
    None
}

/// The string that `raw` holds, unescaped; borrowed where it has no escapes. Lone surrogates become U+FFFD.
pub fn string(raw: &str) -> Option<Cow<'_, str>> {
    let _ = raw;
    None
}

/// `text` as a JSON string with its quotes.
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// `text` escaped as the inside of a JSON string, without quotes: to be inserted into a string that is there.
pub fn escape(text: &str) -> String {
    let quoted = quote(text);
    quoted[1..quoted.len() - 1].to_owned()
}
