//! What several legs cost together.
use crate::dialect::object::{Object, slice};
use crate::json::{Splice, raw};
use bytes::Bytes;

/// A `usage` object, the last leg's, with the output of the legs before added. Its input stays: clients take it as the
/// size of the context. `output` is what the dialect calls it (`completion` in Chat).
pub(in crate::dialect) fn summed(last: &str, before: &[String], output: &str) -> String {
    let mut splice = Splice::new();
    add(&mut splice, last, before, output);
    let bytes = Bytes::copy_from_slice(last.as_bytes());
    // Members do not overlap, unless a key stands twice: then the last leg's own figures are good enough.
    let text = splice.apply(&bytes).ok().and_then(|rope| String::from_utf8(rope.to_bytes().to_vec()).ok());
    text.unwrap_or_else(|| last.to_owned())
}

fn add(splice: &mut Splice, last: &str, before: &[String], output: &str) {
    let [tokens, details] = ["tokens", "tokens_details"].map(|end| format!("{output}_{end}"));
    let sum = |path: &[&str]| before.iter().filter_map(|u| number(u, path)).fold(0, u64::saturating_add);
    let mut increase = |path: &[&str], more: u64| {
        if let Some(span) = find(last, path)
            && let Ok(figure) = slice(last, span).parse::<u64>()
            && more > 0
        {
            splice.replace(span, figure.saturating_add(more).to_string());
        }
    };
    let spent = sum(&[&tokens]);
    increase(&[&tokens], spent);
    increase(&["total_tokens"], spent);
    let inner = raw::get(last, &details).and_then(|span| Object::parse(slice(last, span)).ok());
    for (key, _) in inner.iter().flat_map(Object::entries) {
        increase(&[&details, key], sum(&[&details, key]));
    }
}

fn find(raw: &str, path: &[&str]) -> Option<crate::json::Span> {
    path.iter().try_fold(crate::json::Span::new(0, raw.len()), |outer, key| {
        Some(raw::get(slice(raw, outer), key)?.offset(outer.start))
    })
}

fn number(raw: &str, path: &[&str]) -> Option<u64> {
    slice(raw, find(raw, path)?).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_summed_and_input_is_the_last_legs() {
        let before = [
            r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":3,"x":"y"}}"#,
            r#"{"prompt_tokens":11,"completion_tokens":1,"total_tokens":12}"#,
        ];
        let last = r#"{"total_tokens": 22, "prompt_tokens":20,"prompt_tokens_details":{"cached_tokens":7},"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":1,"x":"z","audio_tokens":null},"cost":0.10}"#;
        assert_eq!(
            summed(last, &before.map(str::to_owned), "completion"),
            r#"{"total_tokens": 28, "prompt_tokens":20,"prompt_tokens_details":{"cached_tokens":7},"completion_tokens":8,"completion_tokens_details":{"reasoning_tokens":4,"x":"z","audio_tokens":null},"cost":0.10}"#
        );
        assert_eq!(summed(last, &[], "completion"), last);
        assert_eq!(summed("null", &before.map(str::to_owned), "completion"), "null");
    }
}
