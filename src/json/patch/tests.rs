use super::*;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::json;

fn exact(_: &str, _: &str) -> bool {
    false
}

fn patched(text: &str, steps: &[Step<'_>]) -> Result<String, (usize, StepError)> {
    let rope = patch(text, steps, exact)?.apply(&Bytes::copy_from_slice(text.as_bytes())).unwrap();
    Ok(String::from_utf8(rope.to_bytes().to_vec()).unwrap())
}

#[test]
fn only_touched_spans_change() {
    let new = json!("N");
    let cases = [
        (r#"{ "a" : 1.0 }"#, Step::Add("/b", &new), r#"{ "a" : 1.0,"b":"N" }"#),
        (r#"{"a":1}"#, Step::Add("/a", &new), r#"{"a":"N"}"#),
        ("{ }", Step::Add("/a", &new), r#"{ "a":"N"}"#),
        (r#"{"a":[1, 2]}"#, Step::Add("/a/1", &new), r#"{"a":[1, "N",2]}"#),
        (r#"{"a":[1, 2]}"#, Step::Add("/a/2", &new), r#"{"a":[1, 2,"N"]}"#),
        (r#"{"a":[]}"#, Step::Add("/a/-", &new), r#"{"a":["N"]}"#),
        (r#"{"a/b":1,"c~d":2}"#, Step::Replace("/a~1b", &new), r#"{"a/b":"N","c~d":2}"#),
        (r#"{"a/b":1,"c~d":2}"#, Step::Replace("/c~0d", &new), r#"{"a/b":1,"c~d":"N"}"#),
        (r#"{"\u0061":1}"#, Step::Replace("/a", &new), r#"{"\u0061":"N"}"#),
        (r#"{"":1}"#, Step::Replace("/", &new), r#"{"":"N"}"#),
        (r#"{"a":1 , "b":2}"#, Step::Remove("/a"), r#"{"b":2}"#),
        (r#"{"a":1 , "b":2}"#, Step::Remove("/b"), r#"{"a":1}"#),
        (r#"{ "a":[ 1 ] }"#, Step::Remove("/a/0"), r#"{ "a":[  ] }"#),
        (r#"{"a":1e2,"b":[]}"#, Step::Move { from: "/a", to: "/b/0" }, r#"{"b":[1e2]}"#),
        (r#"{"a":[1,2,3]}"#, Step::Move { from: "/a/0", to: "/a/2" }, r#"{"a":[2,3,1]}"#),
        (r#"{"a":1e2}"#, Step::Copy { from: "/a", to: "/b" }, r#"{"a":1e2,"b":1e2}"#),
        (r#"{"a":1}"#, Step::Move { from: "/a", to: "/a" }, r#"{"a":1}"#),
    ];
    for (text, step, expected) in cases {
        assert_eq!(patched(text, &[step]).as_deref(), Ok(expected), "{text} {step:?}");
    }
}

#[test]
fn a_step_that_does_not_apply_is_named() {
    let new = json!("N");
    let nothing = |path: &str| StepError::Nothing(path.to_owned());
    let cases = [
        (Step::Remove("/x"), nothing("/x")),
        (Step::Replace("/x", &new), nothing("/x")),
        (Step::Replace("/b/-", &new), nothing("/b/-")),
        (Step::Add("/x/y", &new), nothing("/x/y")),
        (Step::Add("/a/y", &new), nothing("/a/y")),
        (Step::Add("/b/3", &new), nothing("/b/3")),
        (Step::Add("/b/01", &new), nothing("/b/01")),
        (Step::Add("/b/-1", &new), nothing("/b/-1")),
        (Step::Add("a", &new), StepError::NoPointer("a".to_owned())),
        (Step::Add("/~2", &new), StepError::NoPointer("/~2".to_owned())),
        (Step::Remove(""), StepError::NotAnObject),
        (Step::Add("", &new), StepError::NotAnObject),
        (Step::Move { from: "/b", to: "/b/0" }, StepError::IntoItself("/b".to_owned())),
        (Step::Test("/a", &new), StepError::Test("/a".to_owned())),
        (Step::Add("/twice/a", &new), StepError::Scan(ScanError::DuplicateKey { key: "a".to_owned() })),
    ];
    for (step, error) in cases {
        let text = r#"{"a":1,"b":[1,2],"twice":{"a":1,"\u0061":2}}"#;
        assert_eq!(patched(text, &[Step::Remove("/a"), Step::Copy { from: "/b/0", to: "/a" }, step]), Err((2, error)));
    }
}

#[test]
fn tests_compare_what_values_are_worth() {
    let equal = json!({"b": [1, "é"], "a": 1e2, "big": 9_007_199_254_740_993_u64});
    let text = r#"{"v":{"a":100,"b":[1.0,"\u00e9"],"big":9007199254740993}}"#;
    assert!(patched(text, &[Step::Test("/v", &equal)]).is_ok());
    let other = json!({"b": [1, "é"], "a": 100, "big": 9_007_199_254_740_992_u64});
    assert!(patched(text, &[Step::Test("/v", &other)]).is_err());
}

#[test]
fn a_whole_body_can_be_another_object() {
    let new = json!({"b": 2});
    assert_eq!(patched(r#"{"a":1}"#, &[Step::Replace("", &new)]).as_deref(), Ok(r#"{"b":2}"#));
}

#[test]
fn a_key_may_be_known_by_two_spellings() {
    let same: SameKey = |a, b| a.eq_ignore_ascii_case(b);
    let text = r#"{"A":1,"a":2,"B":3}"#;
    let apply = |step| {
        let rope = patch(text, &[step], same).unwrap().apply(&Bytes::from(text)).unwrap();
        String::from_utf8(rope.to_bytes().to_vec()).unwrap()
    };
    assert_eq!(apply(Step::Remove("/a")), r#"{"A":1,"B":3}"#);
    assert_eq!(apply(Step::Add("/b", &json!(4))), r#"{"A":1,"a":2,"B":4}"#);
}

#[test]
fn copies_do_not_grow_without_bound() {
    let text = format!(r#"{{"a":["{}"]}}"#, "x".repeat(1 << 20));
    let double = [Step::Copy { from: "/a", to: "/a/-" }; 40];
    assert!(matches!(patched(&text, &double), Err((_, StepError::TooMuch))));
    assert!(matches!(patched("{}", &[Step::Test("", &json!({})); MAX_STEPS + 1]), Err((_, StepError::TooMuch))));
}

#[test]
fn what_would_be_too_deep_is_refused() {
    let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let text = format!(r#"{{"a":{}}}"#, deep(450));
    let new: Value = serde_json::from_str(&deep(100)).unwrap();
    let inside = format!("/a{}/-", "/0".repeat(449));
    assert_eq!(patched(&text, &[Step::Add(&inside, &new)]), Err((0, StepError::Scan(ScanError::TooDeep))));
}

/// The same patch on values: a second implementation to compare with.
fn model(value: &mut Value, steps: &[Step<'_>]) -> Option<()> {
    for step in steps {
        match *step {
            Step::Add(path, new) => model_add(value, path, new.clone())?,
            Step::Remove(path) => drop(model_remove(value, path)?),
            Step::Replace(path, new) => *value.pointer_mut(path)? = new.clone(),
            Step::Copy { from, to } => {
                let copied = value.pointer(from)?.clone();
                model_add(value, to, copied)?;
            }
            Step::Move { from, to } => {
                if to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
                    return None;
                }
                value.pointer(from)?;
                if from != to {
                    let moved = model_remove(value, from)?;
                    model_add(value, to, moved)?;
                }
            }
            Step::Test(path, expected) => (value.pointer(path)? == expected).then_some(())?,
        }
    }
    Some(())
}

fn model_add(value: &mut Value, path: &str, new: Value) -> Option<()> {
    let (parent, token) = path.rsplit_once('/')?;
    match value.pointer_mut(parent)? {
        Value::Object(members) => drop(members.insert(token.to_owned(), new)),
        Value::Array(elements) => {
            let index = if token == "-" { elements.len() } else { token.parse().ok()? };
            (index <= elements.len()).then(|| elements.insert(index, new))?;
        }
        _ => return None,
    }
    Some(())
}

fn model_remove(value: &mut Value, path: &str) -> Option<Value> {
    let (parent, token) = path.rsplit_once('/')?;
    match value.pointer_mut(parent)? {
        Value::Object(members) => members.shift_remove(token),
        Value::Array(elements) => {
            let index = token.parse().ok().filter(|index| *index < elements.len())?;
            Some(elements.remove(index))
        }
        _ => None,
    }
}

proptest! {
    #[test]
    fn patches_do_what_they_do_to_values(
        raw in prop::collection::vec((0..6u8, 0..9usize, 0..9usize), 0..6),
    ) {
        const PATHS: [&str; 9] = ["/a", "/b", "/a/0", "/a/1", "/a/-", "/b/c", "/b/d", "/e", "/a/0/x"];
        let new = json!({"x": [1]});
        let steps: Vec<Step<'_>> = raw.iter().map(|(op, from, to)| {
            let (from, to) = (PATHS[*from], PATHS[*to]);
            match op {
                0 => Step::Add(to, &new),
                1 => Step::Remove(to),
                2 => Step::Replace(to, &new),
                3 => Step::Move { from, to },
                4 => Step::Copy { from, to },
                _ => Step::Test(to, &new),
            }
        }).collect();
        let text = r#"{ "a": [1, {"x":"é"} ], "b" : {"c":null , "d":"1"} }"#;
        let mut value: Value = serde_json::from_str(text).unwrap();
        let expected = model(&mut value, &steps).map(|()| value);
        let got = patched(text, &steps).ok().map(|text| serde_json::from_str::<Value>(&text).unwrap());
        prop_assert_eq!(got, expected);
    }
}
