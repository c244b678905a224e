//! `model.family`: the maker's line of a model name.

/// Beginnings of a name's words and the family they tell, lower case. Fine-tuned and distilled models carry two; the word
/// that comes first in the name decides, because makers put their own line first (`DeepSeek-R1-Distill-Qwen-32B`).
const WORDS: [(&str, &str); 20] = [
    ("claude", "claude"),
    ("gpt", "gpt"),
    ("chatgpt", "gpt"),
    ("codex", "gpt"),
    ("gemini", "gemini"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("qvq", "qwen"),
    ("llama", "llama"),
    ("codellama", "llama"),
    ("mistral", "mistral"),
    ("mixtral", "mistral"),
    ("ministral", "mistral"),
    ("magistral", "mistral"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
    ("pixtral", "mistral"),
    ("voxtral", "mistral"),
    ("deepseek", "deepseek"),
    ("grok", "grok"),
];

/// The family when no word tells one.
pub(super) const OTHER: &str = "other";

/// The maker's line of a resolved model name (README, What a hook gets and says): `claude`, `gpt` (also the o-series and codex),
/// `gemini`, `qwen`, `llama`, `mistral`, `deepseek`, `grok`, else `other`.
///
/// Prefixes of providers and regions are seen through: `anthropic/claude-…`, `us.anthropic.claude-…`, `models/gemini-…`.
#[must_use]
pub fn family(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    // A router's own name can be that of another maker (`deepseek/…`), so what follows the last slash decides first.
    let last = name.rsplit('/').next().unwrap_or_default();
    of_words(last).or_else(|| of_words(&name)).unwrap_or(OTHER)
}

fn of_words(name: &str) -> Option<&'static str> {
    let mut before = None;
    let mut rest = name;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        if let Some((_, family)) = WORDS.iter().find(|(start, _)| word.starts_with(start)) {
            return Some(family);
        }
        // Inside a name an `o1` means something else (`marco-o1`).
        if !matches!(before, Some('-' | '_')) && is_o_series(word) {
            return Some("gpt");
        }
        let mut tail = tail.chars();
        before = tail.next();
        before?;
        rest = tail.as_str();
    }
}

/// `o1`, `o3`, `o4`: an `o` and a number.
fn is_o_series(word: &str) -> bool {
    word.strip_prefix('o').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::{OTHER, WORDS, family};
    use crate::config::FAMILIES;

    #[test]
    fn the_config_knows_every_family() {
        for (_, family) in WORDS.into_iter().chain([("", OTHER)]) {
            assert!(FAMILIES.contains(&family), "{family}");
        }
    }

    #[test]
    fn the_makers_line_is_told_by_the_name() {
        for (name, expected) in [
            ("claude-haiku-4-5", "claude"),
            ("anthropic/claude-opus-4.1", "claude"),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude"),
            ("claude-sonnet-4-5@20250929", "claude"),
            ("gpt-5.1-codex", "gpt"),
            ("chatgpt-4o-latest", "gpt"),
            ("codex-mini-latest", "gpt"),
            ("o1", "gpt"),
            ("o3-mini", "gpt"),
            ("openai/o4-mini", "gpt"),
            ("ft:gpt-4o-mini:org::id", "gpt"),
            ("openai/gpt-oss-120b", "gpt"),
            ("models/gemini-2.5-pro", "gemini"),
            ("google/gemini-3-pro-preview", "gemini"),
            ("Qwen/Qwen3-Coder-480B", "qwen"),
            ("qwq-32b", "qwen"),
            ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
            ("us.meta.llama3-1-70b-instruct-v1:0", "llama"),
            ("accounts/fireworks/models/llama-v3p1-8b", "llama"),
            ("mistral-large-latest", "mistral"),
            ("open-mixtral-8x22b", "mistral"),
            ("codestral-2501", "mistral"),
            ("deepseek-chat", "deepseek"),
            ("deepseek/deepseek-r1-distill-llama-70b", "deepseek"),
            ("deepseek/v3", "deepseek"),
            ("x-ai/grok-4", "grok"),
            ("groq/compound", "other"),
            ("marco-o1", "other"),
            ("command-r-plus", "other"),
            ("o", "other"),
            ("", "other"),
            ("ö/", "other"),
        ] {
            assert_eq!(family(name), expected, "{name}");
        }
    }
}
