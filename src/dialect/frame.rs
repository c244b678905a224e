//! Server-sent events, written anew.
use super::rewrite::edited;
use super::{JoinError, Piece};
use crate::json::Splice;
use bytes::Bytes;
use memchr::memmem;

/// An event. `data: ` with the space and one line is the form that every SDK takes: line ends, which JSON has only between
/// its tokens, would end the field, and not every reader (Google's Python SDK) joins several `data:` lines.
pub(super) fn event(name: Option<&str>, data: &str) -> String {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {}\n\n", data.replace(['\n', '\r'], " "))
}

/// The piece with other data; what else stands in its frame stays. An event that nothing ended, the last of a stream that
/// was cut short, is ended: something may follow what was its end.
pub(super) fn with_data(piece: &Piece<'_>, data: &str) -> Bytes {
    match around(piece) {
        Some((before, behind)) => [before, data.as_bytes(), behind, missing(before, behind)].concat().into(),
        None => event(piece.event.map(String::from_utf8_lossy).as_deref(), data).into(),
    }
}

/// The piece with these edits of `text`, which its data is; as it came where there are none.
///
/// # Errors
/// [`JoinError::Unreadable`] if they overlap, as when a key stands twice.
pub(super) fn with_edits(piece: &Piece<'_>, text: &str, edits: Splice) -> Result<Bytes, JoinError> {
    if edits.is_empty() {
        return Ok(piece.raw.clone());
    }
    Ok(with_data(piece, &edited(text, edits).map_err(JoinError::unreadable)?))
}

/// What stands before and behind the data in a piece; `None` where the data is not one run of its bytes.
pub(super) fn around<'p>(piece: &'p Piece<'_>) -> Option<(&'p [u8], &'p [u8])> {
    let data = piece.data.filter(|data| !data.is_empty())?;
    let at = memmem::find(&piece.raw, data)?;
    Some((piece.raw.get(..at)?, piece.raw.get(at + data.len()..)?))
}

/// What an event whose data stands between these lacks of its end. Elements of an array and whole bodies are no events.
fn missing(before: &[u8], behind: &[u8]) -> &'static [u8] {
    const ENDS: [&[u8]; 4] = [b"\n\n", b"\r\r", b"\r\n\r\n", b"\n\r\n"];
    let is_event = before.trim_ascii_end().ends_with(b"data:");
    if is_event && !ENDS.iter().any(|end| behind.ends_with(end)) { b"\n\n" } else { b"" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_nothing_ended_is_ended_when_it_is_written_anew() {
        for (behind, end) in [
            ("", "\n\n"),
            ("\n", "\n\n\n"),
            ("\r\n", "\r\n\n\n"),
            ("\r\n\r\n", "\r\n\r\n"),
            ("\nid: 1\n\n", "\nid: 1\n\n"),
        ] {
            let raw = format!("data: 1{behind}");
            let piece = Piece { raw: raw.into(), event: None, data: Some(b"1") };
            assert_eq!(with_data(&piece, "2"), format!("data: 2{end}"), "{behind:?}");
        }
        let element = Piece { raw: Bytes::from_static(b",\n1"), event: None, data: Some(b"1") };
        assert_eq!(with_data(&element, "2"), ",\n2");
    }

    #[test]
    fn data_of_several_lines_becomes_one() {
        assert_eq!(event(Some("ping"), "{\n}"), "event: ping\ndata: { }\n\n");
        assert_eq!(event(None, "{}"), "data: {}\n\n");
    }

    #[test]
    fn what_stands_around_the_data_stays() {
        let piece = |raw: &'static str, data| Piece { raw: raw.into(), event: Some(b"e"), data: Some(data) };
        assert_eq!(with_data(&piece("id: 7\r\ndata:1\r\n\r\n", b"1"), "2"), "id: 7\r\ndata:2\r\n\r\n");
        assert_eq!(with_data(&piece("data: {\ndata: }\n\n", b"{\n}"), "[]"), "event: e\ndata: []\n\n");
    }
}
