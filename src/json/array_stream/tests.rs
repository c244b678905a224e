use super::*;
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;

fn elements<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut framer = ArrayFramer::new();
    let mut seen = Vec::new();
    let mut see = |element: &[u8]| seen.push(String::from_utf8_lossy(element).into_owned());
    for chunk in chunks {
        framer.push(chunk, &mut see);
    }
    framer.finish(&mut see);
    seen
}

fn assert_same_at_every_cut(stream: &[u8]) {
    let whole = elements([stream]);
    for cut in 0..=stream.len() {
        let (left, right) = stream.split_at(cut);
        assert_eq!(elements([left, right]), whole, "cut at {cut}");
    }
    assert_eq!(elements(stream.chunks(1)), whole, "byte by byte");
}

#[test]
fn elements_are_cut_out_whole() {
    let cases: [(&str, &[&str]); 12] = [
        ("", &[]),
        ("[]", &[]),
        ("[{\"a\":1}\n,\n{\"b\":[{}]}\n]", &["{\"a\":1}", "{\"b\":[{}]}"]),
        ("[{\"a\":\"}]\\\"{[\\\\\"},{}]", &["{\"a\":\"}]\\\"{[\\\\\"}", "{}"]),
        ("[[1],[[2]]]", &["[1]", "[[2]]"]),
        ("[1, true ,\"a,b\",null]", &["1", "true", "\"a,b\"", "null"]),
        // An error object behind the array, before its end, and in its place.
        ("[{}]{\"error\":{}}", &["{}", "{\"error\":{}}"]),
        ("[{}\n{\"error\":{}}\n", &["{}", "{\"error\":{}}"]),
        ("{\n\"error\": {}\n}\n", &["{\n\"error\": {}\n}"]),
        // Cut streams.
        ("[{\"a\":1},{\"b\":", &["{\"a\":1}", "{\"b\":"]),
        ("[{\"a\":1},", &["{\"a\":1}"]),
        ("[}}", &["}}"]),
    ];
    for (stream, expected) in cases {
        assert_eq!(elements([stream.as_bytes()]), expected, "{stream}");
        assert_same_at_every_cut(stream.as_bytes());
    }
}

#[test]
fn the_wire_samples_are_cut_alike_at_every_byte() {
    for name in ["gemini-json-array.json", "gemini-json-array-error.json"] {
        let stream =
            std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire-samples").join(name)).unwrap();
        let expected: Vec<Value> = serde_json::from_slice(&stream).unwrap();
        let seen: Vec<Value> = elements([&stream[..]]).iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_eq!(seen, expected);
        assert_same_at_every_cut(&stream);
    }
}

#[test]
fn an_element_is_reported_with_its_last_byte() {
    let mut framer = ArrayFramer::new();
    let mut seen = 0;
    framer.push(b"[{\"a\":", |_| seen += 1);
    assert!(!framer.is_between_elements());
    framer.push(b"1}", |_| seen += 1);
    assert!(framer.is_between_elements());
    assert_eq!(seen, 1);
}

#[test]
fn an_element_beyond_the_limit_is_dropped_and_the_stream_goes_on() {
    let mut framer = ArrayFramer::new();
    let mut seen = Vec::new();
    let filler = vec![b'x'; MAX_ELEMENT / 4];
    framer.push(b"[{\"a\":\"", |_| {});
    for _ in 0..5 {
        framer.push(&filler, |_| seen.push(0));
    }
    assert!(framer.overflowed());
    framer.push(b"\"},{}]", |element| seen.push(element.len()));
    assert_eq!(seen, [2]);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(chunks in proptest::collection::vec(r#"[\[\]{}",\\ a1]{0,6}"#, 0..8)) {
        let whole = chunks.concat();
        prop_assert_eq!(elements(chunks.iter().map(String::as_bytes)), elements([whole.as_bytes()]));
    }
}
