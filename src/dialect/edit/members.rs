//! Changes of members anywhere below an object, made together: commas and missing objects on the way come out right whatever
//! is changed beside each other.
use super::fields::Fields;
use crate::dialect::blocks;
use crate::json::{ScanError, Span, Splice, raw};
use std::borrow::Cow;
use std::collections::HashMap;

/// Members that get other values, or go.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Changes<'p> {
    /// The path of keys to a member, and its new value as JSON text; `None` takes it out. The last one of a path counts.
    list: Vec<(Vec<&'p str>, Option<String>)>,
}

impl<'p> Changes<'p> {
    /// Gives the member at the end of `path` a value, a JSON text. Objects that are missing on the way are made.
    pub(in crate::dialect) fn set(&mut self, path: &[&'p str], value: impl ToString) {
        self.list.push((path.to_vec(), Some(value.to_string())));
    }

    /// Takes the member at the end of `path` out, if it is there.
    pub(in crate::dialect) fn remove(&mut self, path: &[&'p str]) {
        self.list.push((path.to_vec(), None));
    }

    /// Makes the changes on an object. Nothing else may change in the members that they name.
    ///
    /// # Errors
    /// [`ScanError::DuplicateKey`] in an object on the way.
    pub(in crate::dialect) fn apply(&self, fields: &Fields<'_>, splice: &mut Splice) -> Result<(), ScanError> {
        let read = |path: &Vec<&'p str>| path.iter().map(|key| fields.keys.read(Cow::Borrowed(*key))).collect();
        let paths: Vec<Vec<Cow<'_, str>>> = self.list.iter().map(|(path, _)| read(path)).collect();
        let values = self.list.iter().map(|(_, value)| value.as_deref());
        let list: Vec<Change<'_>> = paths.iter().map(Vec::as_slice).zip(values).collect();
        apply(&list, fields, splice)
    }
}

/// One change below an object: the rest of its path, and its value.
type Change<'c> = (&'c [Cow<'c, str>], Option<&'c str>);

/// What becomes of one member.
enum Fate<'c> {
    Set(&'c str),
    Gone,
    /// Something below it changes.
    Inside(Vec<Change<'c>>),
}

fn apply(list: &[Change<'_>], fields: &Fields<'_>, splice: &mut Splice) -> Result<(), ScanError> {
    let mut gone = vec![false; fields.list.len()];
    let mut added = vec![];
    let places: HashMap<&str, usize> =
        fields.list.iter().enumerate().map(|(index, field)| (field.key.as_ref(), index)).collect();
    for (key, fate) in fates(list) {
        let index = places.get(key).copied();
        let found = index.and_then(|index| Some((gone.get_mut(index)?, fields.list.get(index)?)));
        match (found, fate) {
            (Some((gone, _)), Fate::Gone) => *gone = true,
            (None, Fate::Gone) => {}
            (Some((_, field)), Fate::Set(value)) => splice.replace(field.value, value.to_owned()),
            (None, Fate::Set(value)) => added.push(member(key, value)),
            (found, Fate::Inside(inner)) => match (found, fields.object(key)?) {
                (_, Some(object)) => apply(&inner, &object, splice)?,
                (Some((_, field)), None) => made(&inner).into_iter().for_each(|made| splice.replace(field.value, made)),
                (None, None) => added.extend(made(&inner).map(|made| member(key, &made))),
            },
        }
    }
    let wholes: Vec<Span> = fields.list.iter().map(|field| field.whole).collect();
    let is_gone = |index: usize| gone.get(index).copied().unwrap_or(false);
    blocks::remove(splice, &wholes, is_gone);
    if !added.is_empty() {
        let kept = (0..wholes.len()).rev().find(|index| !is_gone(*index)).and_then(|index| wholes.get(index));
        match kept {
            Some(kept) => splice.insert(kept.end, format!(",{}", added.join(","))),
            None => splice.insert(fields.inside(), added.join(",")),
        }
    }
    Ok(())
}

/// The first keys of the paths in order, with what becomes of each. A value for a whole member goes before changes inside.
fn fates<'c>(list: &[Change<'c>]) -> Vec<(&'c str, Fate<'c>)> {
    let mut fates: Vec<(&str, Fate<'_>)> = vec![];
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (path, value) in list {
        let [key, rest @ ..] = path else { continue };
        let key = key.as_ref();
        let known = places.get(key).and_then(|index| fates.get_mut(*index));
        let whole = || value.map_or(Fate::Gone, Fate::Set);
        match (known, rest.is_empty()) {
            (Some((_, fate)), true) => *fate = whole(),
            (Some((_, Fate::Inside(inner))), false) => inner.push((rest, *value)),
            (Some(_), false) => {}
            (None, is_whole) => {
                places.insert(key, fates.len());
                fates.push((key, if is_whole { whole() } else { Fate::Inside(vec![(rest, *value)]) }));
            }
        }
    }
    fates
}

/// A new object of what the changes set; `None` where they set nothing.
fn made(list: &[Change<'_>]) -> Option<String> {
    let members = fates(list).into_iter().filter_map(|(key, fate)| match fate {
        Fate::Set(value) => Some(member(key, value)),
        Fate::Gone => None,
        Fate::Inside(inner) => made(&inner).map(|made| member(key, &made)),
    });
    let members: Vec<String> = members.collect();
    (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")))
}

fn member(key: &str, value: &str) -> String {
    format!("{}:{value}", raw::quote(key))
}

#[cfg(test)]
mod tests {
    use super::super::fields::Keys;
    use super::*;
    use crate::json::Doc;
    use bytes::Bytes;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn changed(body: &str, keys: Keys, changes: &Changes<'_>) -> String {
        let doc = Doc::parse(Bytes::copy_from_slice(body.as_bytes())).unwrap();
        let mut splice = Splice::new();
        changes.apply(&Fields::body(&doc, keys).unwrap(), &mut splice).unwrap();
        String::from_utf8(splice.apply(doc.bytes()).unwrap().to_bytes().to_vec()).unwrap()
    }

    #[test]
    fn members_are_changed_in_place_and_added_behind() {
        let mut changes = Changes::default();
        changes.set(&["a"], 1);
        changes.remove(&["b"]);
        changes.set(&["c", "d"], 2);
        changes.set(&["c", "e"], 3);
        changes.remove(&["f", "g"]);
        let cases = [
            (r#" {"x":1.0 , "b":2}"#, r#" {"x":1.0,"a":1,"c":{"d":2,"e":3}}"#),
            ("\n{ }", "\n{\"a\":1,\"c\":{\"d\":2,\"e\":3} }"),
            (r#"{"b":1}"#, r#"{"a":1,"c":{"d":2,"e":3}}"#),
            (r#"{"a":0,"b":1,"c":{"e":0,"x":1}}"#, r#"{"a":1,"c":{"e":3,"x":1,"d":2}}"#),
            (r#"{"b":1,"c":null,"a" : 0}"#, r#"{"c":{"d":2,"e":3},"a" : 1}"#),
            (r#"{"a":1,"c":"s","f":{"g":1,"h":2}}"#, r#"{"a":1,"c":{"d":2,"e":3},"f":{"h":2}}"#),
        ];
        for (body, expected) in cases {
            assert_eq!(changed(body, Keys::Exact, &changes), expected, "{body}");
        }
    }

    #[test]
    fn both_spellings_are_one_member() {
        let mut changes = Changes::default();
        changes.set(&["generationConfig", "maxOutputTokens"], 1);
        let body = r#"{"generation_config":{"max_output_tokens":9}}"#;
        assert_eq!(changed(body, Keys::Proto, &changes), r#"{"generation_config":{"max_output_tokens":1}}"#);
        let exact = r#"{"generation_config":{"max_output_tokens":9},"generationConfig":{"maxOutputTokens":1}}"#;
        assert_eq!(changed(body, Keys::Exact, &changes), exact);
        changes.set(&["generation_config", "max_output_tokens"], 2);
        assert_eq!(changed(body, Keys::Proto, &changes), r#"{"generation_config":{"max_output_tokens":2}}"#);
    }

    proptest! {
        #[test]
        fn changes_do_what_they_do_to_values(
            list in prop::collection::vec((prop::sample::select(vec!["a", "b", "c"]), prop::option::of(0..9u8)), 0..6),
            body in prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c", "d"]), 0..9u8, 0..5),
        ) {
            let mut value = json!(body);
            let mut changes = Changes::default();
            let members = value.as_object_mut().unwrap();
            for (key, new) in &list {
                match new {
                    Some(new) => { changes.set(&[key], new); members.insert((*key).to_owned(), json!(new)); }
                    None => { changes.remove(&[key]); members.shift_remove(*key); }
                }
            }
            let got: Value = serde_json::from_str(&changed(&json!(body).to_string(), Keys::Exact, &changes)).unwrap();
            prop_assert_eq!(got, value);
        }
    }
}
