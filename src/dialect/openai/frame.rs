//! One server-sent event, written anew after edits of what it says.
use crate::dialect::held::around;
use crate::dialect::{JoinError, Piece};
use crate::json::Splice;
use bytes::Bytes;

/// The JSON text of a piece.
///
/// # Errors
/// [`JoinError::Unreadable`] if it is not UTF-8.
pub(in crate::dialect) fn text(data: &[u8]) -> Result<&str, JoinError> {
    std::str::from_utf8(data).map_err(|error| JoinError::Unreadable(error.to_string()))
}

/// `text` after these edits.
///
/// # Errors
/// [`JoinError::Unreadable`] if they overlap, as when a key stands twice.
pub(in crate::dialect) fn edited(text: &str, splice: Splice) -> Result<String, JoinError> {
    let unreadable = |error: String| JoinError::Unreadable(error);
    let rope = splice.apply(&Bytes::copy_from_slice(text.as_bytes())).map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(rope.to_bytes().to_vec()).map_err(|error| unreadable(error.to_string()))
}

/// The piece with these edits of what it says; as it came where there are none.
///
/// # Errors
/// Those of [`text`] and [`edited`].
pub(in crate::dialect) fn respoken(piece: &Piece<'_>, data: &[u8], splice: Splice) -> Result<Bytes, JoinError> {
    if splice.is_empty() {
        return Ok(piece.raw.clone());
    }
    let data = edited(text(data)?, splice)?;
    Ok(match around(piece) {
        Some((before, behind)) => [before, data.as_bytes(), behind].concat().into(),
        None => written(piece.event, &data),
    })
}

/// An event. `data: ` with the space is the form that every SDK takes; a line break, which is white space in JSON, takes
/// a field of its own.
pub(in crate::dialect) fn written(event: Option<&[u8]>, data: &str) -> Bytes {
    let mut frame = Vec::with_capacity(data.len() + 64);
    if let Some(event) = event {
        frame.extend_from_slice(b"event: ");
        frame.extend_from_slice(event);
        frame.push(b'\n');
    }
    for line in data.split('\n') {
        frame.extend_from_slice(b"data: ");
        frame.extend_from_slice(line.as_bytes());
        frame.push(b'\n');
    }
    frame.push(b'\n');
    frame.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_written_line_by_line() {
        assert_eq!(written(Some(b"e"), "{\n}"), "event: e\ndata: {\ndata: }\n\n");
        assert_eq!(written(None, "{}"), "data: {}\n\n");
    }
}
