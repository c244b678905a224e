//! One object of a request, looked into without a parse of its values.
use crate::json::raw::{self, Field};
use crate::json::{ScanError, Span};
use std::borrow::Cow;
use std::collections::HashSet;

/// An object's members, by decoded key.
#[derive(Debug)]
pub(super) struct Object<'a> {
    raw: &'a str,
    fields: Vec<Field<'a>>,
}

impl<'a> Object<'a> {
    /// Reads the members of `raw`.
    ///
    /// # Errors
    /// [`ScanError::NotAnObject`], [`ScanError::DuplicateKey`].
    pub(super) fn parse(raw: &'a str) -> Result<Self, ScanError> {
        Ok(Self { raw, fields: raw::object(raw)? })
    }

    /// Reads the members of a protocol buffer message in JSON: a server takes `systemInstruction` and
    /// `system_instruction` as one field, so the keys are read in camel case and both in one object are a duplicate.
    ///
    /// # Errors
    /// [`ScanError::NotAnObject`], [`ScanError::DuplicateKey`].
    pub(super) fn parse_proto(raw: &'a str) -> Result<Self, ScanError> {
        let mut object = Self::parse(raw)?;
        if !object.fields.iter().any(|field| field.key.contains('_')) {
            return Ok(object);
        }
        for field in &mut object.fields {
            field.key = camel_case(&field.key).into();
        }
        distinct(object.fields.iter().map(|field| field.key.as_ref()))?;
        Ok(object)
    }

    /// Whether nothing stands behind the object in its text.
    pub(super) fn is_all(&self) -> bool {
        let end = match self.fields.last() {
            Some(last) => self.raw.get(last.value.end..),
            None => self.raw.trim_start().strip_prefix('{'),
        };
        end.is_some_and(|end| end.trim() == "}")
    }

    /// Where a member's value is, counted from the start of the object's text.
    pub(super) fn span(&self, key: &str) -> Option<Span> {
        self.fields.iter().find(|field| field.key == key).map(|field| field.value)
    }

    /// The same, unless the value is `null`, which is as good as absent.
    pub(super) fn value_span(&self, key: &str) -> Option<Span> {
        self.span(key).filter(|span| slice(self.raw, *span) != "null")
    }

    /// The text of a member's value, unless it is `null`.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.value_span(key).map(|span| slice(self.raw, span))
    }

    /// The string that a member holds.
    pub(super) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(raw::string)
    }

    /// All members in order: key and text of the value.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.fields.iter().map(|field| (field.key.as_ref(), slice(self.raw, field.value)))
    }
}

/// That no key stands twice.
///
/// # Errors
/// [`ScanError::DuplicateKey`] for the first key that stands twice.
pub(super) fn distinct<'k>(keys: impl Iterator<Item = &'k str>) -> Result<(), ScanError> {
    let mut seen = HashSet::new();
    for key in keys {
        if !seen.insert(key) {
            return Err(ScanError::DuplicateKey { key: key.to_owned() });
        }
    }
    Ok(())
}

/// The part of `raw` that `span` names; empty for a span of another text.
pub(super) fn slice(raw: &str, span: Span) -> &str {
    raw.get(span.start..span.end).unwrap_or_default()
}

/// `system_instruction` as `systemInstruction`, by the protocol buffers' JSON mapping.
pub(super) fn camel_case(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    let mut upper = false;
    for c in key.chars() {
        match c {
            '_' => upper = true,
            c if upper => {
                out.push(c.to_ascii_uppercase());
                upper = false;
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_one_key_are_a_duplicate() {
        let twins = r#"{"a":1,"toolConfig":{},"tool_config":{}}"#;
        assert!(Object::parse(twins).is_ok());
        let error = Object::parse_proto(twins).unwrap_err();
        assert_eq!(error, ScanError::DuplicateKey { key: "toolConfig".to_owned() });
    }

    #[test]
    fn what_stands_behind_an_object_is_seen() {
        for (text, expected) in
            [("{}", true), (" { \n}\n", true), (r#"{"a":{} } "#, true), (r#"{"a":1}{"#, false), ("{} {}", false)]
        {
            assert_eq!(Object::parse(text).unwrap().is_all(), expected, "{text}");
        }
    }

    #[test]
    fn null_is_absent() {
        let object = Object::parse(r#"{"a":null,"b":"x\ny"}"#).unwrap();
        assert_eq!(object.get("a"), None);
        assert_eq!(object.string("b").as_deref(), Some("x\ny"));
    }
}
