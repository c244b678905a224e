//! The strings in a value, whatever stands around them.
use super::Span;
use super::string::string_end;
use memchr::memchr;
use std::iter;

/// The strings that stand as values at any depth of `raw`, with their quotes; keys are not among them. One pass, so that
/// deep nesting costs no more than a flat list.
pub fn string_values(raw: &str) -> impl Iterator<Item = Span> {
    let bytes = raw.as_bytes();
    let mut at = 0;
    iter::from_fn(move || {
        loop {
            let start = at + memchr(b'"', bytes.get(at..)?)?;
            let end = string_end(bytes, start + 1).ok()?;
            at = end;
            if !is_key(bytes.get(end..)?) {
                return Some(Span::new(start, end));
            }
        }
    })
}

/// Whether the string that ends before `behind` is a key: in JSON only those are followed by a colon.
fn is_key(behind: &[u8]) -> bool {
    behind.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strings(raw: &str) -> Vec<&str> {
        string_values(raw).map(|span| &raw[span.start..span.end]).collect()
    }

    #[test]
    fn keys_are_no_values() {
        let cases = [
            (r#""a""#, vec![r#""a""#]),
            (r#"{"k":"a","l" : {"m":["b\":",1,"c"]}}"#, vec![r#""a""#, r#""b\":""#, r#""c""#]),
            (r#"{"k":1}"#, vec![]),
            ("", vec![]),
            (r#"["cut"#, vec![]),
        ];
        for (raw, expected) in cases {
            assert_eq!(strings(raw), expected, "{raw}");
        }
    }

    #[test]
    fn deep_nesting_is_read_once() {
        const DEPTH: usize = 100_000;
        let raw = format!(r#"{}"a"{}"#, "[".repeat(DEPTH), "]".repeat(DEPTH));
        assert_eq!(strings(&raw), [r#""a""#]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(raw in r#"[{}\[\]",:\\a ]{0,30}"#) {
            let _ = string_values(&raw).count();
        }
    }
}
