//! Pieces with other data.
use super::Piece;
use bytes::Bytes;
use memchr::memmem;

/// What stands before and behind the data in a piece; `None` where the data is not one run of its bytes (several `data:`
/// lines).
pub(super) fn around<'p>(piece: &'p Piece<'_>) -> Option<(&'p [u8], &'p [u8])> {
    let data = piece.data.filter(|data| !data.is_empty())?;
    let at = memmem::find(&piece.raw, data)?;
    Some((piece.raw.get(..at)?, piece.raw.get(at + data.len()..)?))
}

/// A new event. Line ends, which JSON has only between its tokens, would end the field.
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
        let raw = Bytes::from_static(b"data: {\ndata: }\n\n");
        assert_eq!(around(&Piece { raw, event: None, data: Some(b"{\n}") }), None);
        let raw = Bytes::from_static(b"id: 1\r\ndata:{}\r\n\r\n");
        let piece = Piece { raw, event: None, data: Some(b"{}") };
        assert_eq!(around(&piece), Some((&b"id: 1\r\ndata:"[..], &b"\r\n\r\n"[..])));
    }
}
