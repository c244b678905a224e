//! JSON string escapes, decoded.
use memchr::memchr;
use std::borrow::Cow;

/// The inside of a JSON string (without its quotes), decoded; borrowed where it has no escapes. Lone surrogates and
/// escapes that are none become U+FFFD.
pub(super) fn unescape(inside: &str) -> Cow<'_, str> {
    let Some((mut plain, mut rest)) = at_backslash(inside) else { return Cow::Borrowed(inside) };
    let mut decoded = String::with_capacity(inside.len());
    loop {
        decoded.push_str(plain);
        let (character, behind) = escape(rest);
        decoded.push(character);
        match at_backslash(behind) {
            Some(parts) => (plain, rest) = parts,
            None => {
                decoded.push_str(behind);
                return Cow::Owned(decoded);
            }
        }
    }
}

/// The text before the first backslash, and behind it.
fn at_backslash(text: &str) -> Option<(&str, &str)> {
    let at = memchr(b'\\', text.as_bytes())?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// The character of one escape and the text behind it; `text` starts behind the backslash.
pub(super) fn escape(text: &str) -> (char, &str) {
    let mut behind = text.chars();
    let character = match behind.next() {
        Some(plain @ ('"' | '\\' | '/')) => plain,
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => return unicode(behind.as_str()),
        _ => char::REPLACEMENT_CHARACTER,
    };
    (character, behind.as_str())
}

/// The character of a `\u` escape, or of two that form a surrogate pair (RFC 8259, section 7); `text` starts behind the
/// first `u`.
fn unicode(text: &str) -> (char, &str) {
    let Some((first, behind)) = code_unit(text) else { return (char::REPLACEMENT_CHARACTER, text) };
    let pair = behind.strip_prefix("\\u").and_then(code_unit);
    if let Some((second, behind_pair)) = pair
        && let Some(Ok(character)) = char::decode_utf16([first, second]).next()
        && character.len_utf16() == 2
    {
        return (character, behind_pair);
    }
    (char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER), behind)
}

fn code_unit(text: &str) -> Option<(u16, &str)> {
    let (digits, behind) = text.split_at_checked(4)?;
    // `from_str_radix` takes a sign, JSON does not.
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    Some((u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)?, behind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_decoded() {
        let cases = [
            ("", ""),
            ("plain é", "plain é"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"caf\u00e9 \u6771\u4eac", "café 東京"),
            (r"\ud83d\ude80 up", "🚀 up"),
            (r"\\u0041", "\\u0041"),
        ];
        for (inside, expected) in cases {
            assert_eq!(unescape(inside), expected, "{inside}");
        }
        assert!(matches!(unescape("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        let cases = [
            (r"\ud83d", "\u{fffd}"),
            (r"\ude80 b", "\u{fffd} b"),
            (r"\ud83dx", "\u{fffd}x"),
            (r"\ud83d\u0041", "\u{fffd}A"),
            (r"\ud83d\ud83d\ude80", "\u{fffd}🚀"),
        ];
        for (inside, expected) in cases {
            assert_eq!(unescape(inside), expected, "{inside}");
        }
    }

    proptest! {
        #[test]
        fn what_serde_json_writes_is_read_back(text in any::<String>()) {
            let quoted = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(unescape(&quoted[1..quoted.len() - 1]), text);
        }

        #[test]
        fn broken_escapes_do_no_harm(inside in r"(\\|u|[0-9a-fA-F]|é|\+){0,24}") {
            unescape(&inside);
        }
    }
}
