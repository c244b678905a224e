//! A server-sent event, written anew.
use bytes::Bytes;

/// An event. Line ends, which JSON has only between its tokens, would end the field; and not every reader (Google's
/// Python SDK) joins several `data:` lines.
pub(super) fn event(name: Option<&str>, data: &str) -> Bytes {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {}\n\n", data.replace(['\n', '\r'], " ")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_several_lines_becomes_one() {
        assert_eq!(event(Some("ping"), "{\n}"), "event: ping\ndata: { }\n\n");
        assert_eq!(event(None, "{}"), "data: {}\n\n");
    }
}
