//! A leg's bytes, cut into the pieces that a joiner takes.
use crate::context::AnswerForm;
use crate::dialect::Piece;
use crate::gateway::answer_head::MAX_JSON;
use crate::json::array_stream::ArrayFramer;
use crate::sse::Framer;
use bytes::{Bytes, BytesMut};

/// Cuts a leg. Every byte of it is in exactly one piece.
pub(super) struct Pieces {
    source: Source,
    /// What has come of a piece that is not complete yet.
    begun: BytesMut,
    /// A piece was too long to be looked at.
    blind: bool,
}

enum Source {
    Sse(Framer),
    Array(ArrayFramer),
    Body,
}

impl Pieces {
    pub(super) fn new(form: AnswerForm) -> Self {
        let source = match form {
            AnswerForm::Sse => Source::Sse(Framer::new()),
            AnswerForm::JsonArray => Source::Array(ArrayFramer::new()),
            AnswerForm::Json => Source::Body,
        };
        Self { source, begun: BytesMut::new(), blind: false }
    }

    /// Whether something went by unread.
    pub(super) fn is_blind(&self) -> bool {
        self.blind
    }

    /// The next bytes, and the pieces that they complete. A piece that lies wholly in `chunk` is not copied.
    pub(super) fn push(&mut self, chunk: &Bytes, mut each: impl FnMut(Piece<'_>)) {
        let Self { source, begun, blind } = self;
        let mut from = 0;
        let mut take = |end: usize, event: Option<&[u8]>, data: Option<&[u8]>| {
            let raw = cut(begun, chunk.slice(from..end));
            from = end;
            each(Piece { raw, event, data });
        };
        let is_between = match source {
            Source::Sse(framer) => {
                framer.push_at(chunk, |frame, end| match frame {
                    Some(frame) => take(end, frame.event, Some(&frame.data)),
                    None => take(end, None, None),
                });
                *blind |= framer.overflowed();
                framer.is_between_frames()
            }
            Source::Array(framer) => {
                framer.push_at(chunk, |element, end| take(end, None, Some(element)));
                *blind |= framer.overflowed();
                framer.is_between_elements()
            }
            Source::Body => {
                *blind |= begun.len() + chunk.len() > MAX_JSON;
                false
            }
        };
        let rest = chunk.slice(from..);
        // What nobody can read any more is not held either.
        if is_between || *blind {
            let raw = cut(begun, rest);
            if !raw.is_empty() {
                each(Piece { raw, event: None, data: None });
            }
        } else {
            begun.extend_from_slice(&rest);
        }
    }

    /// The leg's bytes have ended: a last piece that nothing ended.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Piece<'_>)) {
        let raw = std::mem::take(&mut self.begun).freeze();
        if raw.is_empty() {
            return;
        }
        let mut read = false;
        let mut take = |event: Option<&[u8]>, data: &[u8]| {
            read = true;
            each(Piece { raw: raw.clone(), event, data: Some(data) });
        };
        match &mut self.source {
            Source::Sse(framer) => framer.finish(|frame| take(frame.event, &frame.data)),
            Source::Array(framer) => framer.finish(|element| take(None, element)),
            Source::Body => take(None, &raw),
        }
        if !read {
            each(Piece { raw, event: None, data: None });
        }
    }
}

/// What was kept of the piece, and its end.
fn cut(begun: &mut BytesMut, end: Bytes) -> Bytes {
    if begun.is_empty() {
        return end;
    }
    begun.extend_from_slice(&end);
    std::mem::take(begun).freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the pieces are, cut into chunks of this size: raw bytes, event, data.
    fn pieces(form: AnswerForm, text: &str, size: usize) -> Vec<(String, Option<String>, Option<String>)> {
        let utf8 = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut found = Vec::new();
        let mut each = |piece: Piece<'_>| found.push((utf8(&piece.raw), piece.event.map(utf8), piece.data.map(utf8)));
        let mut pieces = Pieces::new(form);
        for chunk in text.as_bytes().chunks(size.max(1)) {
            pieces.push(&Bytes::copy_from_slice(chunk), &mut each);
        }
        pieces.finish(&mut each);
        found
    }

    #[test]
    fn events_keep_their_blank_line_and_comments_are_pieces_too() {
        let text = ": ka\n\nevent: a\ndata: 1\n\ndata: 2\r\n\r\ndata: cut";
        let expected = [
            (": ka\n\n", None, None),
            ("event: a\ndata: 1\n\n", Some("a"), Some("1")),
            ("data: 2\r\n\r\n", None, Some("2")),
            ("data: cut", None, Some("cut")),
        ];
        let owned = |text: &str| text.to_owned();
        let expected: Vec<_> =
            expected.map(|(raw, event, data)| (owned(raw), event.map(owned), data.map(owned))).into();
        assert_eq!(pieces(AnswerForm::Sse, text, usize::MAX), expected);
    }

    #[test]
    fn elements_bring_the_commas_before_them_and_the_bracket_comes_last() {
        let found = pieces(AnswerForm::JsonArray, "[{\"a\":1}\n,\n{\"b\":2}]\n", usize::MAX);
        let raws: Vec<&str> = found.iter().map(|(raw, ..)| raw.as_str()).collect();
        assert_eq!(raws, ["[{\"a\":1}", "\n,\n{\"b\":2}", "]\n"]);
        assert_eq!(found[1].2.as_deref(), Some("{\"b\":2}"));
    }

    #[test]
    fn a_json_body_is_one_piece() {
        assert_eq!(pieces(AnswerForm::Json, "{\"a\": 1}", 3).len(), 1);
    }

    proptest! {
        /// However the bytes are cut: what is in them is the same, and none is lost.
        #[test]
        fn no_byte_is_lost_at_any_cut(
            lines in prop::collection::vec(prop::sample::select(vec![
                "data: x", "event: e", ": c", "", "", "data: {\"a\":[\"\\\"]\"]}", "[{}", ",{\"b\":\"]\"}", "]", "\r", "é",
            ]), 0..12),
            size in 1..9_usize,
        ) {
            let text = lines.join("\n");
            for form in [AnswerForm::Sse, AnswerForm::JsonArray, AnswerForm::Json] {
                let (whole, cut) = (pieces(form, &text, usize::MAX), pieces(form, &text, size));
                prop_assert_eq!(cut.iter().map(|piece| piece.0.as_str()).collect::<String>(), text.as_str());
                let said = |found: &[(String, Option<String>, Option<String>)]| {
                    found.iter().filter(|p| p.2.is_some()).map(|p| (p.1.clone(), p.2.clone())).collect::<Vec<_>>()
                };
                prop_assert_eq!(said(&whole), said(&cut));
            }
        }
    }
}
