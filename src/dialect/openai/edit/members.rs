//! Members of objects, set and taken out.
use crate::dialect::blocks;
use crate::json::{Doc, ScanError, Span, Splice, raw};

/// Gives a member of the object `raw`, which begins at byte `base` of the body, another value; a new one goes behind the
/// others.
///
/// # Errors
/// [`ScanError`] if it is no object, or has a key twice.
pub(super) fn set_in(splice: &mut Splice, raw: &str, base: usize, key: &str, value: &str) -> Result<(), ScanError> {
    let fields = raw::object(raw)?;
    match (fields.iter().find(|field| field.key == key), fields.last()) {
        (Some(field), _) => splice.replace(field.value.offset(base), value.to_owned()),
        (None, Some(last)) => splice.insert(last.value.end + base, format!(",{}:{value}", raw::quote(key))),
        (None, None) => {
            splice.replace(Span::new(0, raw.len()).offset(base), format!("{{{}:{value}}}", raw::quote(key)))
        }
    }
    Ok(())
}

/// Takes a member out of the object `raw`, which begins at byte `base` of the body.
///
/// # Errors
/// [`ScanError`] if it is no object, or has a key twice.
pub(super) fn remove_in(splice: &mut Splice, raw: &str, base: usize, key: &str) -> Result<(), ScanError> {
    let fields = raw::object(raw)?;
    let spans: Vec<Span> = fields.iter().map(|f| Span::new(f.key_span.start, f.value.end).offset(base)).collect();
    blocks::remove(splice, &spans, |index| fields.get(index).is_some_and(|field| field.key == key));
    Ok(())
}

/// What becomes of the members of the body itself. Collected, since commas depend on all of them, and the last word on a
/// member holds.
#[derive(Debug, Default)]
pub(super) struct Members {
    set: Vec<(String, String)>,
    gone: Vec<String>,
}

impl Members {
    /// Gives a member this value, a JSON text.
    pub(super) fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        match self.set.iter_mut().find(|(set, _)| set == key) {
            Some((_, old)) => *old = value,
            None => self.set.push((key.to_owned(), value)),
        }
    }

    /// Takes a member out, if it is there.
    pub(super) fn remove(&mut self, key: &str) {
        self.gone.push(key.to_owned());
    }

    /// Whether a member gets a value.
    pub(super) fn sets(&self, key: &str) -> bool {
        self.set.iter().any(|(set, _)| set == key)
    }

    /// Writes all of it as edits.
    pub(super) fn write(self, splice: &mut Splice, doc: &Doc) {
        let spans: Vec<Span> = doc.members().iter().map(|m| Span::new(m.key_span.start, m.value.end)).collect();
        let is_gone = |index: usize| doc.members().get(index).is_some_and(|member| self.gone.contains(&member.key));
        blocks::remove(splice, &spans, is_gone);
        let mut new = Vec::new();
        for (key, value) in &self.set {
            match doc.get(key) {
                Some(member) => splice.replace(member.value, value.clone()),
                None => new.push(format!("{}:{value}", raw::quote(key))),
            }
        }
        if new.is_empty() {
            return;
        }
        let stays = doc.members().iter().any(|member| !self.gone.contains(&member.key));
        let comma = if stays { "," } else { "" };
        splice.insert(end(doc), format!("{comma}{}", new.join(",")));
    }
}

/// Where further members go: behind the last one, or behind the brace of an empty object.
fn end(doc: &Doc) -> usize {
    let brace = || doc.bytes().iter().position(|byte| *byte == b'{').map_or(0, |at| at + 1);
    doc.members().last().map_or_else(brace, |last| last.value.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::openai::testing::doc;

    fn written(body: &str, set: &[(&str, &str)], gone: &[&str]) -> String {
        let (doc, mut splice, mut members) = (doc(body), Splice::new(), Members::default());
        set.iter().for_each(|(key, value)| members.set(key, *value));
        gone.iter().for_each(|key| members.remove(key));
        members.write(&mut splice, &doc);
        String::from_utf8(splice.apply(doc.bytes()).unwrap().to_bytes().to_vec()).unwrap()
    }

    #[test]
    fn commas_come_and_go_with_members() {
        let cases: &[(&str, &[(&str, &str)], &[&str], &str)] = &[
            ("{ }", &[("a", "1"), ("b", "2")], &[], r#"{"a":1,"b":2 }"#),
            (r#"{"a": 1, "b": 2}"#, &[("c", "3"), ("a", "0"), ("a", "9")], &[], r#"{"a": 9, "b": 2,"c":3}"#),
            (r#"{"a": 1, "b": 2, "c":3}"#, &[], &["b", "a"], r#"{"c":3}"#),
            (r#"{"a": 1, "b": 2, "c":3}"#, &[("d", "4")], &["b", "c"], r#"{"a": 1,"d":4}"#),
            (r#"{"a":1}"#, &[("b", "2")], &["a"], r#"{"b":2}"#),
            (r#"{"\u0061":1}"#, &[("a", "2")], &[], r#"{"\u0061":2}"#),
        ];
        for (body, set, gone, expected) in cases {
            assert_eq!(written(body, set, gone), *expected, "{body}");
        }
    }
}
