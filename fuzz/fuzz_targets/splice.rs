//! Edits give what they say, or an error.
#![no_main]
use bytes::Bytes;
use hookgate::json::{Span, Splice};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, Vec<(u8, u8, Vec<u8>)>)| {
    let (body, edits) = input;
    let body = Bytes::from(body);
    let mut splice = Splice::new();
    let (mut added, mut removed) = (0, 0);
    for (start, end, text) in edits {
        added += text.len();
        removed += usize::from(end).saturating_sub(start.into());
        splice.replace(Span::new(start.into(), end.into()), text);
    }
    if let Ok(rope) = splice.apply(&body) {
        assert_eq!(rope.len(), body.len() + added - removed);
        assert_eq!(rope.len(), rope.to_bytes().len());
        assert!(rope.parts().iter().all(|part| !part.is_empty()));
    }
});
