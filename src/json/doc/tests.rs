use super::*;
use proptest::prelude::*;
use serde_json::value::RawValue;
use std::collections::HashMap;

fn parse(text: &str) -> Result<Doc, ScanError> {
    Doc::parse(Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn members_and_elements_are_found() {
    let doc = parse(
        " {\"model\" : \"m\", \"t\\u006fols\": [ {\"a\":[1,2]} , \"b\" ],\n\"n\":1.0,\"e\":[],\"o\":{\"x\":[]}}\n",
    )
    .unwrap();
    let members: Vec<_> = doc
        .members()
        .iter()
        .map(|m| (m.key.as_str(), doc.text(m.key_span), m.kind, doc.text(m.value), m.elements.len()))
        .collect();
    assert_eq!(
        members,
        [
            ("model", "\"model\"", Kind::String, "\"m\"", 0),
            ("tools", "\"t\\u006fols\"", Kind::Array, "[ {\"a\":[1,2]} , \"b\" ]", 2),
            ("n", "\"n\"", Kind::Number, "1.0", 0),
            ("e", "\"e\"", Kind::Array, "[]", 0),
            ("o", "\"o\"", Kind::Object, "{\"x\":[]}", 0),
        ]
    );
    let elements: Vec<_> = doc.get("tools").unwrap().elements.iter().map(|span| doc.text(*span)).collect();
    assert_eq!(elements, ["{\"a\":[1,2]}", "\"b\""]);
    assert!(doc.get("missing").is_none());
}

#[test]
fn the_body_is_kept_as_it_is() {
    let body = Bytes::from_static(b"{ \"a\" : 1.0 }");
    let doc = Doc::parse(body.clone()).unwrap();
    assert_eq!(doc.bytes().as_ptr(), body.as_ptr());
    assert_eq!(doc.text(Span::new(5, 99)), "");
    assert_eq!(doc.text(Span::new(9, 2)), "");
}

#[test]
fn bodies_that_are_no_object_are_refused() {
    for text in ["[]", " \"a\"", "1", "true", "null", "[", "\"a"] {
        assert_eq!(parse(text).unwrap_err(), ScanError::NotAnObject, "{text}");
    }
    for (text, at) in [("", 0), ("  ", 2), ("\u{feff}{}", 0), ("x", 0), ("{}x", 2), ("{} {}", 3), ("{\"a\":}", 5)] {
        assert!(matches!(parse(text), Err(ScanError::NotJson { at: found, .. }) if found == at), "{text}");
    }
    let not_utf8 = Doc::parse(Bytes::from_static(b"{\"a\":\"\xff\"}"));
    assert_eq!(not_utf8.unwrap_err(), ScanError::NotUtf8 { at: 6 });
}

#[test]
fn a_key_that_stands_twice_is_refused_in_any_spelling() {
    for text in
        [r#"{"tools":1,"x":2,"tools":3}"#, r#"{"tools":1,"to\u006fls":2}"#, r#"{"t\u006fols":1,"\u0074ools":2}"#]
    {
        assert_eq!(parse(text).unwrap_err(), ScanError::DuplicateKey { key: "tools".to_owned() }, "{text}");
    }
    assert!(parse(r#"{"a":{"x":1},"b":{"x":1},"A":[{"a":1}]}"#).is_ok());
}

#[test]
fn depth_counts_from_the_top() {
    let nested = |arrays: usize| format!("{{\"a\":{}{}}}", "[".repeat(arrays), "]".repeat(arrays));
    assert!(parse(&nested(crate::json::MAX_DEPTH - 1)).is_ok());
    assert_eq!(parse(&nested(crate::json::MAX_DEPTH)).unwrap_err(), ScanError::TooDeep);
}

#[test]
fn values_are_bounded_wherever_they_stand() {
    let reading = |room| Reading { room, ..Reading::knowing(Known::default()) };
    for (text, values) in [
        (r#"{"a":1,"b":"c","d":null}"#, 3),
        (r#"{"a":[1,2,3]}"#, 4),
        (r#"{"a":[[1,2],{}],"b":[]}"#, 6),
        (r#"{"a":{"x":{"y":[1,{"z":2}]}}}"#, 6),
    ] {
        assert_eq!(reading(values).members(text).map(|_| ()), Ok(()), "{text}");
        assert_eq!(reading(values - 1).members(text).map(|_| ()), Err(ScanError::TooManyValues), "{text}");
    }
}

/// JSON text with free white space, odd numbers and escapes.
fn json() -> impl Strategy<Value = String> {
    let number = r"-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?";
    let string = r#""([a-z é🚀]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}){0,12}""#;
    let white = "[ \n\r\t]{0,2}";
    let leaf = prop_oneof![number, string, Just("true".to_owned()), Just("false".to_owned()), Just("null".to_owned())];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let member =
            (white, string, white, inner.clone()).prop_map(|(a, key, b, value)| format!("{a}{key}{b}:{a}{value}{b}"));
        let join = |parts: Vec<String>| parts.join(",");
        prop_oneof![
            proptest::collection::vec(inner, 0..5).prop_map(move |parts| format!("[{}]", join(parts))),
            proptest::collection::vec(member, 0..5).prop_map(move |parts| format!("{{{}}}", join(parts))),
        ]
    })
}

fn body() -> impl Strategy<Value = String> {
    proptest::collection::vec(("[a-z]{1,3}", json()), 0..6).prop_map(|members| {
        let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\" : {value}")).collect();
        format!("{{{}}}", members.join(" ,"))
    })
}

/// The same object read by serde_json, without the members' order. Bodies of other kinds and duplicate keys are the
/// documented differences.
fn assert_agrees(body: &[u8]) -> Result<(), TestCaseError> {
    let theirs: Result<&RawValue, _> = serde_json::from_slice(body);
    let doc = match Doc::parse(Bytes::copy_from_slice(body)) {
        Ok(doc) => doc,
        Err(ScanError::NotAnObject) => return Ok(()),
        Err(ScanError::DuplicateKey { .. }) => {
            prop_assert!(theirs.is_ok());
            return Ok(());
        }
        Err(error) => {
            prop_assert!(theirs.is_err(), "{error}");
            return Ok(());
        }
    };
    prop_assert!(theirs.is_ok(), "{theirs:?}");
    // serde_json can't decode a key with a lone surrogate.
    let Ok(members) = serde_json::from_slice::<HashMap<String, &RawValue>>(body) else { return Ok(()) };
    prop_assert_eq!(members.len(), doc.members().len());
    for (key, value) in members {
        let member = doc.get(&key).unwrap();
        prop_assert_eq!(doc.text(member.value), value.get());
        if member.kind == Kind::Array {
            let elements: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap();
            let theirs: Vec<_> = elements.iter().map(|element| element.get()).collect();
            let ours: Vec<_> = member.elements.iter().map(|span| doc.text(*span)).collect();
            prop_assert_eq!(ours, theirs);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn serde_json_sees_the_same_spans(body in body()) {
        assert_agrees(body.as_bytes())?;
    }

    #[test]
    fn serde_json_refuses_the_same_mutations(
        body in body(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0_u8..3, any::<u8>()), 1..4),
        syntax in any::<bool>(),
    ) {
        const SYNTAX: &[u8] = b"{}[]\",:\\u0123456789eE+-. \n\ttrufalsn\x1f\xc3";
        let mut body = body.into_bytes();
        for (place, action, byte) in edits {
            let at = place.index(body.len() + 1);
            let byte = if syntax { SYNTAX[usize::from(byte) % SYNTAX.len()] } else { byte };
            match action {
                0 => body.insert(at, byte),
                1 if at < body.len() => body[at] = byte,
                _ if at < body.len() => drop(body.remove(at)),
                _ => {}
            }
        }
        assert_agrees(&body)?;
    }
}
