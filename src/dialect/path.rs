//! The end of a request path, which names the endpoint whatever prefix stands before it.
use percent_encoding::percent_decode_str;

/// The last three segments, percent-decoded; those that are missing are empty. Decoded before it is split, as an
/// upstream might: an endpoint must not hide behind an escape.
pub(super) fn tail(path: &str) -> [String; 3] {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let mut segments = decoded.rsplit('/').map(str::to_owned);
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
    }
}
