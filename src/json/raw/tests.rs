use super::*;
use proptest::prelude::*;
use serde_json::Value;

fn text(raw: &str, span: Span) -> &str {
    &raw[span.start..span.end]
}

#[test]
fn an_object_gives_its_members_in_order() {
    let raw = " {\"b\" : [1, 2], \"\\u0061\":\"x\"} ";
    let fields = object(raw).unwrap();
    let seen: Vec<_> = fields.iter().map(|f| (f.key.as_ref(), text(raw, f.key_span), text(raw, f.value))).collect();
    assert_eq!(seen, [("b", "\"b\"", "[1, 2]"), ("a", "\"\\u0061\"", "\"x\"")]);
    assert!(matches!(fields[0].key, Cow::Borrowed(_)));
    assert!(object("{}").unwrap().is_empty());
}

#[test]
fn an_ambiguous_or_broken_object_is_an_error() {
    assert_eq!(object(r#"{"a":1,"\u0061":2}"#).unwrap_err(), ScanError::DuplicateKey { key: "a".to_owned() });
    for raw in ["[]", "1", "", "\"{}\""] {
        assert_eq!(object(raw).unwrap_err(), ScanError::NotAnObject, "{raw}");
    }
    for raw in ["{", "{\"a\":1", "{\"a\" 1}"] {
        assert!(matches!(object(raw), Err(ScanError::NotJson { .. })), "{raw}");
    }
}

#[test]
fn an_array_gives_its_elements() {
    let raw = " [ 1 , [2,3], \"a]\" ]";
    let elements: Vec<_> = array(raw).unwrap().into_iter().map(|span| text(raw, span)).collect();
    assert_eq!(elements, ["1", "[2,3]", "\"a]\""]);
    assert_eq!(array("[]"), Some(vec![]));
    for raw in ["{}", "\"[]\"", "", "[1", "[1,]"] {
        assert_eq!(array(raw), None, "{raw}");
    }
}

#[test]
fn a_kind_is_told_by_the_first_byte() {
    let cases = [
        ("null", Some(Kind::Null)),
        (" true", Some(Kind::Bool)),
        ("-1", Some(Kind::Number)),
        ("\n\"\"", Some(Kind::String)),
        ("[]", Some(Kind::Array)),
        ("{}", Some(Kind::Object)),
        ("", None),
        ("x", None),
    ];
    for (raw, expected) in cases {
        assert_eq!(kind(raw), expected, "{raw}");
    }
}

#[test]
fn a_string_is_decoded() {
    assert_eq!(string(" \"plain\" "), Some(Cow::Borrowed("plain")));
    assert_eq!(string(r#""a\n\u00e9\ud83d\ude80\ud83d""#).as_deref(), Some("a\né🚀\u{fffd}"));
    for raw in ["1", "", "\"", "\"a", "\"a\" b", r#""\""#] {
        assert_eq!(string(raw), None, "{raw}");
    }
}

#[test]
fn get_takes_the_first_member_of_that_name() {
    let raw = r#"{"a":{"type":"inner"},"t\u0079pe":"te\u0078t","type":2}"#;
    assert_eq!(get(raw, "type").map(|span| text(raw, span)), Some(r#""te\u0078t""#));
    assert_eq!(get_str(raw, "type").as_deref(), Some("text"));
    assert_eq!(get_str(raw, "a"), None);
    assert_eq!(get(raw, "b"), None);
    assert_eq!(get("[]", "b"), None);
    assert_eq!(get("{\"a\":1,broken", "b"), None);
}

/// The examples of RFC 6901, section 5, and what must not be found.
#[test]
fn pointers_follow_rfc_6901() {
    let raw = r#"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}"#;
    let cases = [
        ("", Some(raw)),
        ("/foo", Some(r#"["bar", "baz"]"#)),
        ("/foo/0", Some("\"bar\"")),
        ("/", Some("0")),
        ("/a~1b", Some("1")),
        ("/c%d", Some("2")),
        ("/e^f", Some("3")),
        ("/g|h", Some("4")),
        ("/i\\j", Some("5")),
        ("/k\"l", Some("6")),
        ("/ ", Some("7")),
        ("/m~0n", Some("8")),
        ("foo", None),
        ("/foo/2", None),
        ("/foo/-", None),
        ("/foo/01", None),
        ("/foo/+1", None),
        ("/foo/", None),
        ("/foo/0/0", None),
        ("/foo/99999999999999999999", None),
        ("/x", None),
    ];
    for (path, expected) in cases {
        assert_eq!(pointer(raw, path).map(|span| text(raw, span)), expected, "{path}");
    }
}

#[test]
fn pointers_go_deep() {
    let raw = r#"{"a":[{"b":[10,{"c":"x"}]}]}"#;
    assert_eq!(pointer(raw, "/a/0/b/1/c").map(|span| text(raw, span)), Some("\"x\""));
}

proptest! {
    #[test]
    fn quoted_text_is_read_back(text in any::<String>()) {
        let quoted = quote(&text);
        prop_assert_eq!(string(&quoted), Some(Cow::Owned(text.clone())));
        prop_assert_eq!(format!("\"{}\"", escape(&text)), quoted.as_str());
        prop_assert_eq!(chars(&quoted).map(|(_, c)| c).collect::<String>(), text);
        for (at, c) in chars(&quoted) {
            let rest = format!("\"{}", &quoted[at..]);
            prop_assert!(string(&rest).unwrap().starts_with(c));
        }
    }

    #[test]
    fn broken_text_does_no_harm(raw in r#"[\[\]{}",:\\ua1é ]{0,24}"#) {
        let _ = (chars(&raw).count(), object(&raw), array(&raw), string(&raw), get_str(&raw, "a"), pointer(&raw, "/0/a"));
    }

    #[test]
    fn pointers_find_what_serde_json_finds(index in 0_usize..4, key in "[a-c~/]{0,2}") {
        let raw = r#"{"a":[0,{"a":1},{"~":2,"/":3,"b/":4}],"b":{"":5}}"#;
        let token = key.replace('~', "~0").replace('/', "~1");
        let value: Value = serde_json::from_str(raw).unwrap();
        for path in [format!("/a/{index}/{token}"), format!("/b/{token}"), format!("/{token}")] {
            let ours = pointer(raw, &path).map(|span| serde_json::from_str(text(raw, span)).unwrap());
            prop_assert_eq!(ours.as_ref(), value.pointer(&path), "{}", path);
        }
    }
}
