//! Paths that two readers could read differently.
//!
//! A path with dot segments may be resolved by the upstream to another place than the one that was routed, checked and
//! logged here. It is refused in every spelling; nothing is resolved.

/// Whether any segment is `.` or `..`, with any part of it (separators too) percent-encoded, once or more often, with
/// backslashes as separators, or with path parameters behind it (`..;x`).
pub fn has_dot_segment(path: &str) -> bool {
    let plain = !path.bytes().any(|byte| matches!(byte, b'%' | b'\\' | b';'));
    if plain {
        return path.split('/').any(|segment| matches!(segment, "." | ".."));
    }
    let decoded = decode_fully(path.as_bytes());
    decoded.split(|byte| matches!(byte, b'/' | b'\\')).any(|segment| {
        let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
        matches!(name, b"." | b"..")
    })
}

/// Percent-decodes until nothing changes; each round shortens the text, so this ends.
fn decode_fully(path: &[u8]) -> Vec<u8> {
    let mut text = path.to_vec();
    loop {
        let decoded = decode(&text);
        if decoded.len() == text.len() {
            return decoded;
        }
        text = decoded;
    }
}

fn decode(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        match (byte, tail) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                decoded.push(hex(*high) << 4 | hex(*low));
                rest = after;
            }
            _ => {
                decoded.push(byte);
                rest = tail;
            }
        }
    }
    decoded
}

const fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'A').wrapping_add(10),
    }
}

#[cfg(test)]
mod tests {
    use super::has_dot_segment;

    #[test]
    fn dot_segments_are_found_in_every_spelling() {
        for path in [
            "/..",
            "/v1/../admin",
            "/v1/./messages",
            "/v1/.",
            "/v1/%2e%2e/x",
            "/v1/.%2E/x",
            "/v1/%2e/x",
            "/v1%2f..%2fx",
            "/v1/..%2fx",
            "/v1%5c..%5Cx",
            "/v1\\..\\x",
            "/v1/%252e%252e/x",
            "/v1/%25252e./x",
            "/v1/..;a=b/x",
            "/..%3b/x",
        ] {
            assert!(has_dot_segment(path), "{path}");
        }
    }

    #[test]
    fn other_dots_are_none() {
        for path in [
            "/",
            "",
            "/v1/messages",
            "/v1beta/models/gemini-2.5-pro:generateContent",
            "/v1/files/a..b",
            "/v1/.../x",
            "/.well-known/x",
            "/v1/%2ehidden",
            "/v1/a%2fb.txt",
            "/%",
            "/%2",
            "/%zz",
            "/a;..",
        ] {
            assert!(!has_dot_segment(path), "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_path_is_judged_without_panic(path: String) {
            let _ = has_dot_segment(&path);
        }
    }
}
