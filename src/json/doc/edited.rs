//! A body that was made of another by edits: read again only where they stand, since the values between them are known to
//! be whole. What a hook changes is a small part of a long body.
use super::{Doc, Reading};
use crate::json::outline::Outline;
use crate::json::scan::Scanner;
use crate::json::{ScanError, Span, Splice, SpliceError};
use bytes::Bytes;
use bytestring::ByteString;
use std::collections::HashMap;
use std::sync::Arc;

/// Why an edited body can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditedError {
    /// The edits can't be applied.
    #[error(transparent)]
    Splice(#[from] SpliceError),
    /// The result can't be read.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// A value that no edit touched.
#[derive(Debug, Clone, Copy)]
struct Kept {
    /// Where it stands now.
    span: Span,
    /// Where it stood.
    was: usize,
}

/// The values of a text that need no scan, in its order.
#[derive(Debug, Default)]
pub(super) struct Known {
    kept: Vec<Kept>,
    next: usize,
}

impl Known {
    /// Steps over the value under the cursor if it is known. The cursor only ever goes forward.
    pub(super) fn skip(&mut self, scanner: &mut Scanner<'_>) -> bool {
        let at = scanner.position();
        while let Some(kept) = self.kept.get(self.next).filter(|kept| kept.span.start <= at) {
            self.next += 1;
            if kept.span.start == at {
                scanner.jump(kept.span.end);
                return true;
            }
        }
        false
    }
}

impl Doc {
    /// The body with `edits` made.
    ///
    /// # Errors
    /// [`EditedError`] when the edits can't be made together, or as [`Doc::parse`] does of the result.
    pub fn edited(&self, edits: Splice) -> Result<Self, EditedError> {
        let (text, kept) = self.joined(&edits.ordered(self.text.len())?)?;
        let outlines = self.kept_outlines(&kept);
        Ok(Self::of(ByteString::from(text), Reading::knowing(Known { kept, next: 0 }), outlines)?)
    }

    /// The text with edits made that are in its order, and what is kept in it.
    fn joined(&self, edits: &[(Span, Bytes)]) -> Result<(String, Vec<Kept>), ScanError> {
        let growth: usize = edits.iter().map(|(_, new)| new.len()).sum();
        let mut text = String::with_capacity(self.text.len() + growth);
        let mut kept = Vec::new();
        let mut parts = self.parts().peekable();
        let mut done = 0;
        let end = (Span::at(self.text.len()), Bytes::new());
        for (place, new) in edits.iter().chain([&end]) {
            let base = text.len();
            // A value right beside an edit may go on in it, as a number does.
            while let Some(part) = parts.next_if(|part| part.end < place.start) {
                let span = part.from(done).filter(|part| part.start > 0);
                kept.extend(span.map(|span| Kept { span: span.offset(base), was: part.start }));
            }
            text.push_str(self.text.get(done..place.start).ok_or(ScanError::NotUtf8 { at: base })?);
            let new = std::str::from_utf8(new)
                .map_err(|error| ScanError::NotUtf8 { at: text.len() + error.valid_up_to() })?;
            text.push_str(new);
            done = place.end;
        }
        Ok((text, kept))
    }

    /// The top-level values that are no arrays, and the elements of those that are, in the order of the text.
    fn parts(&self) -> impl Iterator<Item = Span> {
        self.members.iter().flat_map(|member| {
            let whole = member.elements.is_empty().then_some(member.value);
            whole.into_iter().chain(member.elements.iter().copied())
        })
    }

    fn kept_outlines(&self, kept: &[Kept]) -> HashMap<usize, Option<Arc<Outline>>> {
        let outlines = self.outlines.lock();
        kept.iter().filter_map(|kept| Some((kept.span.start, outlines.get(&kept.was)?.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn doc(text: &str) -> Doc {
        Doc::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    /// What both readings find, for comparison.
    fn found(doc: &Doc) -> Vec<(String, Span, Span, Vec<Span>)> {
        let members = doc.members().iter();
        members.map(|member| (member.key.clone(), member.key_span, member.value, member.elements.clone())).collect()
    }

    /// Reads the edited body in both ways.
    fn both(before: &Doc, edits: &[(Span, &str)]) -> (Result<Doc, EditedError>, Result<Doc, ScanError>) {
        let mut splice = Splice::new();
        edits.iter().for_each(|(span, text)| splice.replace(*span, text.to_string()));
        let whole = Doc::parse(splice.clone().apply(before.bytes()).unwrap().to_bytes());
        (before.edited(splice), whole)
    }

    #[test]
    fn what_no_edit_touches_needs_no_scan() {
        let text = r#"{"a":[{"x":1},{"y":2},3],"b":"text","c":4}"#;
        let all = [r#"{"x":1}"#, r#"{"y":2}"#, "3", r#""text""#, "4"];
        for (at, touched) in [("1}", 0), (",{\"y", 0), ("{\"y", 1), ("]", 2), ("ext", 3), ("}", 0)] {
            let place = Span::at(text.find(at).unwrap());
            let (edited, kept) = doc(text).joined(&[(place, Bytes::from_static(b"0"))]).unwrap();
            let kept: Vec<&str> = kept.iter().map(|kept| &edited[kept.span.start..kept.span.end]).collect();
            let expected: Vec<&str> =
                all.iter().enumerate().filter(|(index, _)| *index != touched).map(|(_, part)| *part).collect();
            assert_eq!(kept, expected, "{at}");
        }
    }

    #[test]
    fn what_an_edit_breaks_is_found() {
        let before = doc(r#"{"a":[1,{"b":2}],"c":"d"}"#);
        for (span, text) in [
            (Span::at(6), "x"),
            (Span::new(6, 7), ""),
            (Span::at(7), "x"),
            (Span::at(8), "]"),
            (Span::at(24), r#","a":1"#),
            (Span::at(22), "\""),
            (Span::new(15, 16), ""),
        ] {
            let (edited, whole) = both(&before, &[(span, text)]);
            assert_eq!(edited.unwrap_err(), EditedError::Scan(whole.unwrap_err()), "{span:?} {text:?}");
        }
    }

    const PIECES: [&str; 12] = ["", "1", ",", "{}", "[", "]", "\"", "\"a\":", "null", ",{\"z\":[]}", " ", "é"];

    proptest! {
        #[test]
        fn a_body_that_is_edited_reads_as_one_that_is_read_whole(
            values in proptest::collection::vec(prop_oneof!["[0-9]", r#""[a-zé]{0,3}""#, Just(r#"{"k":[1,{}]}"#.to_owned()), Just(r#"[1,"b",{"c":2}]"#.to_owned()), Just("[]".to_owned())], 0..5),
            edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..4usize, 0..PIECES.len()), 0..4),
        ) {
            let members: Vec<String> = values.iter().enumerate().map(|(at, value)| format!(r#""k{at}": {value}"#)).collect();
            let text = format!("{{{}}}", members.join(" ,"));
            let before = doc(&text);
            let mut starts: Vec<(usize, usize, usize)> =
                edits.iter().map(|(at, len, piece)| (at.index(text.len()), *len, *piece)).collect();
            starts.sort_unstable();
            let mut done = 0;
            let mut made = Vec::new();
            for (start, len, piece) in starts {
                let end = (start + len).min(text.len());
                if start >= done && text.is_char_boundary(start) && text.is_char_boundary(end) {
                    made.push((Span::new(start, end), PIECES[piece]));
                    done = end + 1;
                }
            }
            let (edited, whole) = both(&before, &made);
            match whole {
                Ok(whole) => {
                    let edited = edited.unwrap();
                    prop_assert_eq!(edited.bytes(), whole.bytes());
                    prop_assert_eq!(found(&edited), found(&whole));
                }
                Err(error) => prop_assert_eq!(edited.unwrap_err(), EditedError::Scan(error)),
            }
        }
    }
}
