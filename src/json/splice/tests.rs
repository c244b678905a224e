use super::*;
use proptest::prelude::*;

/// Start, end, new text.
type Edit = (usize, usize, &'static str);

const BODY: &str = "0123456789";

fn body() -> Bytes {
    Bytes::from_static(BODY.as_bytes())
}

fn applied(edits: &[Edit]) -> Result<String, SpliceError> {
    let mut splice = Splice::new();
    for (start, end, text) in edits {
        splice.replace(Span::new(*start, *end), *text);
    }
    let rope = splice.apply(&body())?;
    assert_eq!(rope.len(), rope.to_bytes().len());
    Ok(String::from_utf8(rope.to_bytes().to_vec()).unwrap())
}

#[test]
fn edits_are_applied_in_the_order_of_the_body() {
    let cases: [(&[Edit], &str); 7] = [
        (&[], "0123456789"),
        (&[(5, 5, "b"), (0, 0, "a"), (10, 10, "c")], "a01234b56789c"),
        (&[(3, 3, "a"), (3, 3, "b"), (3, 3, "c")], "012abc3456789"),
        (&[(3, 5, "R"), (3, 3, "a"), (3, 3, "b")], "012abR56789"),
        (&[(3, 5, "R"), (5, 5, "a")], "012Ra56789"),
        (&[(3, 5, ""), (5, 7, "")], "012789"),
        (&[(0, 10, "")], ""),
    ];
    for (edits, expected) in cases {
        assert_eq!(applied(edits).as_deref(), Ok(expected), "{edits:?}");
    }
}

#[test]
fn edits_that_touch_the_same_bytes_are_refused() {
    assert_eq!(applied(&[(2, 5, "a"), (4, 6, "b")]), Err(SpliceError::Overlap { at: 4 }));
    assert_eq!(applied(&[(2, 5, "a"), (2, 5, "b")]), Err(SpliceError::Overlap { at: 2 }));
    assert_eq!(applied(&[(2, 5, "a"), (3, 3, "b")]), Err(SpliceError::Overlap { at: 3 }));
}

#[test]
fn edits_outside_of_the_body_are_refused() {
    assert_eq!(applied(&[(8, 11, "")]), Err(SpliceError::Outside { at: 11 }));
    assert_eq!(applied(&[(11, 11, "a")]), Err(SpliceError::Outside { at: 11 }));
    assert_eq!(applied(&[(5, 3, "a")]), Err(SpliceError::Outside { at: 3 }));
}

#[test]
fn without_edits_the_body_is_one_part() {
    let body = body();
    let rope = Splice::new().apply(&body).unwrap();
    assert_eq!(rope.parts().len(), 1);
    assert_eq!(rope.parts()[0].as_ptr(), body.as_ptr());
}

/// Edits that don't overlap, ascending: gaps and lengths laid end to end.
fn edits() -> impl Strategy<Value = (String, Vec<(Span, String)>)> {
    let piece = ("[a-z]{0,6}", "[a-z]{0,4}", "[A-Z]{0,4}");
    (proptest::collection::vec(piece, 0..8), "[a-z]{0,6}").prop_map(|(pieces, tail)| {
        let mut body = String::new();
        let mut edits = Vec::new();
        for (kept, replaced, text) in pieces {
            body.push_str(&kept);
            let start = body.len();
            body.push_str(&replaced);
            edits.push((Span::new(start, body.len()), text));
        }
        (body + &tail, edits)
    })
}

proptest! {
    #[test]
    fn taking_the_insertions_out_gives_the_body_back((body, edits) in edits()) {
        let body = Bytes::from(body);
        let mut splice = Splice::new();
        for (span, text) in &edits {
            splice.insert(span.start, text.clone());
        }
        let edited = splice.apply(&body).unwrap().to_bytes();
        prop_assert_eq!(edited.len(), body.len() + edits.iter().map(|(_, text)| text.len()).sum::<usize>());
        let without: Vec<u8> = edited.iter().copied().filter(|byte| !byte.is_ascii_uppercase()).collect();
        prop_assert_eq!(without, body);
    }

    #[test]
    fn every_byte_outside_of_the_edits_is_a_slice_of_the_body((body, edits) in edits()) {
        let body = Bytes::from(body);
        let mut splice = Splice::new();
        let mut expected = body.to_vec();
        for (span, text) in edits.iter().rev() {
            expected.splice(span.start..span.end, text.bytes());
        }
        for (span, text) in &edits {
            splice.replace(*span, text.clone());
        }
        let rope = splice.apply(&body).unwrap();
        prop_assert_eq!(rope.to_bytes(), expected);
        let original = body.as_ptr_range();
        for part in rope.parts() {
            prop_assert!(!part.is_empty());
            let is_inserted = part.iter().all(u8::is_ascii_uppercase);
            prop_assert!(is_inserted || original.contains(&part.as_ptr()));
        }
    }
}
