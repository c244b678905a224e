//! The end of a request path, which names the endpoint whatever prefix stands before it.
use percent_encoding::percent_decode_str;

/// The last three segments, percent-decoded; those that are missing are empty. Decoded before it is split, without slashes
/// and blanks at the end and without parameters behind a semicolon, as an upstream might: an endpoint must not hide behind
/// a spelling.
pub(super) fn tail(path: &str) -> [String; 3] {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let plain = |segment: &str| segment.split(';').next().unwrap_or_default().trim_end().to_owned();
    let mut segments = decoded.trim_end_matches(['/', ' ']).rsplit('/').map(plain);
    let mut next = || segments.next().unwrap_or_default();
    let (last, second, third) = (next(), next(), next());
    [third, second, last]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_hides_nothing() {
        assert_eq!(tail("/p/v1/mess%61ges"), ["p", "v1", "messages"]);
        assert_eq!(tail("/v1%2Fmessages"), ["", "v1", "messages"]);
        assert_eq!(tail("messages"), ["", "", "messages"]);
        for spelling in ["/v1/messages/", "/v1/messages//", "/v1/messages%2f", "/v1/messages%20", "/v1/messages;x=1/"] {
            assert_eq!(tail(spelling), ["", "v1", "messages"], "{spelling}");
        }
    }
}
