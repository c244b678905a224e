//! JSON texts with some of their values changed; the others keep their order and their spelling.
use crate::json::{ScanError, Splice, SpliceError, raw};
use bytes::Bytes;
use std::borrow::Cow;

/// `text` after these edits.
///
/// # Errors
/// [`SpliceError`] if they overlap, as when a key stands twice.
pub(super) fn edited(text: &str, splice: Splice) -> Result<String, SpliceError> {
    let rope = splice.apply(&Bytes::copy_from_slice(text.as_bytes()))?;
    // Edits begin and end between the tokens of JSON, so that every part is UTF-8.
    Ok(rope.parts().iter().map(|part| String::from_utf8_lossy(part)).collect())
}

/// The members of an object, on their way into a new one.
#[derive(Debug, Clone)]
pub(super) struct Rewrite<'a> {
    members: Vec<Member<'a>>,
}

#[derive(Debug, Clone)]
struct Member<'a> {
    key: Cow<'a, str>,
    value: Cow<'a, str>,
}

impl<'a> Rewrite<'a> {
    /// Starts with the members of `raw`.
    ///
    /// # Errors
    /// [`ScanError::NotAnObject`], [`ScanError::DuplicateKey`].
    pub(super) fn of(raw: &'a str) -> Result<Self, ScanError> {
        let text = |start, end| Cow::Borrowed(raw.get(start..end).unwrap_or_default());
        let member = |field: raw::Field<'a>| Member { key: field.key, value: text(field.value.start, field.value.end) };
        Ok(Self { members: raw::object(raw)?.into_iter().map(member).collect() })
    }

    /// Starts with the members of `raw`, or with none where it is absent or no object.
    pub(super) fn of_any(raw: Option<&'a str>) -> Self {
        raw.and_then(|raw| Self::of(raw).ok()).unwrap_or(Self { members: vec![] })
    }

    /// The text of a member's value, unless it is `null`.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let member = self.members.iter().find(|member| member.key == key)?;
        Some(member.value.as_ref()).filter(|value| *value != "null")
    }

    /// The keys in order.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.key.as_ref())
    }

    /// The whole number that a member holds; 0 where it holds none.
    pub(super) fn number(&self, key: &str) -> u64 {
        self.get(key).and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    /// Gives a member another value, a JSON text, in its place; a new member goes behind the others.
    pub(super) fn set(&mut self, key: &'a str, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        match self.members.iter_mut().find(|member| member.key == key) {
            Some(member) => member.value = value,
            None => self.members.push(Member { key: key.into(), value }),
        }
    }

    /// Leaves out the members for which `stays` is false.
    pub(super) fn retain(&mut self, stays: impl Fn(&str) -> bool) {
        self.members.retain(|member| stays(&member.key));
    }

    /// The new object.
    pub(super) fn finish(self) -> String {
        let mut out = String::with_capacity(self.members.iter().map(|m| m.key.len() + m.value.len() + 4).sum());
        out.push('{');
        for (index, member) in self.members.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push_str(&raw::quote(&member.key));
            out.push(':');
            out.push_str(&member.value);
        }
        out.push('}');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_changed_keeps_its_place_and_spelling() {
        let mut object = Rewrite::of(r#"{ "a": 1.0, "b\n": "\u00e9" ,"c":null,"d":2}"#).unwrap();
        assert_eq!((object.get("c"), object.number("d"), object.number("a")), (None, 2, 0));
        object.set("c", "3");
        object.set("e", "[]");
        object.retain(|key| key != "d");
        assert_eq!(object.finish(), r#"{"a":1.0,"b\n":"\u00e9","c":3,"e":[]}"#);
        assert_eq!(Rewrite::of_any(Some("7")).finish(), "{}");
        assert!(Rewrite::of(r#"{"a":1,"\u0061":2}"#).is_err());
    }
}
