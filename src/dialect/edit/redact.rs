//! Redaction of JSON strings: matched on what they say, changed where they say it.
use super::EditError;
use crate::json::{Doc, Span, Splice, raw};
use regex::Regex;

/// Stands where nothing would be left of a text: no provider takes a blank one.
const NOTHING_LEFT: &str = "[redacted]";

/// Bytes that one edit may write. What hooks say is far below; a pattern that matches everywhere could write a long text
/// behind every character of a body.
const MAX_WRITTEN: usize = 16 << 20;

/// `messages.redact`, on its way through the texts of a body.
#[derive(Debug)]
pub(in crate::dialect) struct Redactor<'e> {
    pattern: &'e Regex,
    with: &'e str,
    /// What may still be written.
    room: usize,
}

impl<'e> Redactor<'e> {
    /// Writes `with` for what `pattern` matches; `$1` in it is the first group.
    pub(in crate::dialect) fn new(pattern: &'e Regex, with: &'e str) -> Self {
        Self { pattern, with, room: MAX_WRITTEN }
    }

    /// Redacts the JSON string at `span`: only what was matched changes, escapes beside it stay. Anything else than a
    /// string stays as it is.
    ///
    /// # Errors
    /// [`EditError::TooLong`]
    pub(in crate::dialect) fn string(&mut self, doc: &Doc, span: Span, splice: &mut Splice) -> Result<(), EditError> {
        let written = doc.text(span);
        let Some(text) = raw::string(written) else { return Ok(()) };
        let mut place_of = places(written);
        let mut rewritten: Option<Rewritten> = None;
        let (mut left_blank, mut behind) = (true, 0);
        let mut new = String::new();
        for found in self.pattern.captures_iter(&text) {
            new.clear();
            found.expand(self.with, &mut new);
            let (start, end) = found.get(0).map_or((0, 0), |whole| (whole.start(), whole.end()));
            left_blank &= is_blank(&text, behind, start) && new.trim().is_empty();
            behind = end;
            if text.get(start..end) != Some(new.as_str()) {
                let (start, end) = (place_of(start), place_of(end));
                let new = raw::escape(&new);
                self.room = self.room.checked_sub(new.len()).ok_or(EditError::TooLong { max: MAX_WRITTEN })?;
                rewritten.get_or_insert_with(|| Rewritten::from(start)).go_on(written, start, &new, end);
            }
        }
        left_blank &= is_blank(&text, behind, text.len());
        let Some(rewritten) = rewritten else { return Ok(()) };
        if left_blank && !text.trim().is_empty() {
            splice.replace(span, raw::quote(NOTHING_LEFT));
        } else {
            splice.replace(Span::new(rewritten.start, rewritten.end).offset(span.start), rewritten.text);
        }
        Ok(())
    }
}

/// The part of a string from the first change to the last, as it is to be written: one edit, however many matches there are,
/// since a match may be a single byte of a long text.
struct Rewritten {
    start: usize,
    end: usize,
    text: String,
}

impl Rewritten {
    fn from(start: usize) -> Self {
        Self { start, end: start, text: String::new() }
    }

    /// What is `written` up to `start` stays, then `new` stands for what is there up to `end`.
    fn go_on(&mut self, written: &str, start: usize, new: &str, end: usize) {
        self.text.push_str(written.get(self.end..start).unwrap_or_default());
        self.text.push_str(new);
        self.end = end;
    }
}

fn is_blank(text: &str, start: usize, end: usize) -> bool {
    text.get(start..end).unwrap_or_default().trim().is_empty()
}

/// Tells where places of a text stand in the string as it is `written`, escapes and all. Asked in ascending order, as
/// matches are.
fn places(written: &str) -> impl FnMut(usize) -> usize {
    let mut chars = raw::chars(written).peekable();
    let close = written.len().saturating_sub(1);
    let mut said = 0;
    move |place| {
        while said < place
            && let Some((_, character)) = chars.next()
        {
            said += character.len_utf8();
        }
        chars.peek().map_or(close, |(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn redact(string: &str, pattern: &str, with: &str) -> Result<String, EditError> {
        let doc = Doc::parse(Bytes::from(format!(r#"{{"t":{string}}}"#))).unwrap();
        let mut splice = Splice::new();
        let pattern = Regex::new(pattern).unwrap();
        Redactor::new(&pattern, with).string(&doc, doc.get("t").unwrap().value, &mut splice)?;
        let text = String::from_utf8(splice.apply(doc.bytes()).unwrap().to_bytes().to_vec()).unwrap();
        Ok(text[5..text.len() - 1].to_owned())
    }

    #[test]
    fn what_is_matched_changes_and_escapes_beside_it_stay() {
        let cases = [
            (r#""a \u00e9 sk-1 \/ b""#, "sk-[0-9]", "***", r#""a \u00e9 *** \/ b""#),
            (r#""\u0073k-1 end""#, "sk-[0-9]", "x", r#""x end""#),
            (r#""a\nb""#, r"a\nb", "\"q\"\n", r#""\"q\"\n""#),
            (r#""key=abc""#, "key=(.)(.*)", "key=$1…", r#""key=a…""#),
            (r#""none""#, "sk", "x", r#""none""#),
            (r#""same""#, "same", "same", r#""same""#),
            (r#""\ud83d\ude80x""#, "x", "y", r#""\ud83d\ude80y""#),
            (r#""all""#, ".*", "", r#""[redacted]""#),
            (r#"" all ""#, "all", " ", r#""[redacted]""#),
            (r#""""#, "^", "", r#""""#),
            (r#""ab""#, "", "-", r#""-a-b-""#),
            ("7", "7", "8", "7"),
        ];
        for (string, pattern, with, expected) in cases {
            assert_eq!(redact(string, pattern, with).as_deref(), Ok(expected), "{string} {pattern}");
        }
    }

    #[test]
    fn however_many_matches_a_text_has_it_is_one_edit() {
        let doc = Doc::parse(Bytes::from(format!(r#"{{"t":"a{}b"}}"#, r"1\t".repeat(1 << 10)))).unwrap();
        let pattern = Regex::new("[0-9]").unwrap();
        for with in ["#", ""] {
            let mut splice = Splice::new();
            Redactor::new(&pattern, with).string(&doc, doc.get("t").unwrap().value, &mut splice).unwrap();
            assert_eq!(splice.places().count(), 1);
            let expected = format!(r#"{{"t":"a{}b"}}"#, format!(r"{with}\t").repeat(1 << 10));
            assert_eq!(splice.apply(doc.bytes()).unwrap().to_bytes(), expected);
        }
    }

    #[test]
    fn what_is_written_is_bounded() {
        let string = raw::quote(&"x".repeat(1 << 10));
        let long = "y".repeat(MAX_WRITTEN >> 9);
        assert_eq!(redact(&string, "x", &long), Err(EditError::TooLong { max: MAX_WRITTEN }));
    }

    proptest! {
        #[test]
        fn strings_say_what_the_text_says(text in "[ab\"\\\\é\u{1f680}\n]{0,12}", pattern in "[ab]|a?b|b*|(a)", with in "[x$1\"\\\\é]{1,4}") {
            let pattern_regex = Regex::new(&pattern).unwrap();
            let expected = pattern_regex.replace_all(&text, with.as_str());
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            for string in [raw::quote(&text), format!("\"{escaped}\"")] {
                let redacted = redact(&string, &pattern, &with).unwrap();
                let said = raw::string(&redacted).unwrap().into_owned();
                let is_kept = expected.trim().is_empty() && !text.trim().is_empty();
                prop_assert_eq!(said.as_str(), if is_kept { NOTHING_LEFT } else { expected.as_ref() });
            }
        }
    }
}
