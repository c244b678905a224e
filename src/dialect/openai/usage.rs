//! What several legs cost together.
use crate::dialect::rewrite::Rewrite;

/// A `usage` object, the last leg's, with the output of the legs before added. Its input stays: clients take it as the
/// size of the context. `output` is what the dialect calls it (`completion` in Chat).
pub(in crate::dialect) fn summed(last: &str, before: &[String], output: &str) -> String {
    let [tokens, details] = ["tokens", "tokens_details"].map(|end| format!("{output}_{end}"));
    let before: Vec<Rewrite<'_>> = before.iter().map(|usage| Rewrite::of_any(Some(usage))).collect();
    let mut usage = Rewrite::of_any(Some(last));
    for key in [tokens.as_str(), "total_tokens"] {
        add(&mut usage, key, before.iter().map(|usage| usage.number(&tokens)));
    }
    if let Some(own) = usage.get(&details).map(str::to_owned) {
        let before: Vec<Rewrite<'_>> = before.iter().map(|usage| Rewrite::of_any(usage.get(&details))).collect();
        let last = Rewrite::of_any(Some(&own));
        let mut sums = last.clone();
        for key in last.keys() {
            add(&mut sums, key, before.iter().map(|details| details.number(key)));
        }
        usage.set(&details, sums.finish());
    }
    usage.finish()
}

/// Adds to a figure, if it is one.
fn add<'a>(figures: &mut Rewrite<'a>, key: &'a str, more: impl Iterator<Item = u64>) {
    if let Some(Ok(figure)) = figures.get(key).map(str::parse::<u64>) {
        figures.set(key, more.fold(figure, u64::saturating_add).to_string());
    }
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
        let last = r#"{"total_tokens":22,"prompt_tokens":20,"prompt_tokens_details":{"cached_tokens":7},"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":1,"x":"z","audio_tokens":null},"cost":0.10}"#;
        assert_eq!(
            summed(last, &before.map(str::to_owned), "completion"),
            r#"{"total_tokens":28,"prompt_tokens":20,"prompt_tokens_details":{"cached_tokens":7},"completion_tokens":8,"completion_tokens_details":{"reasoning_tokens":4,"x":"z","audio_tokens":null},"cost":0.10}"#
        );
        assert_eq!(summed(last, &[], "completion"), last);
    }
}
