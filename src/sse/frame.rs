//! The lines of one event.
use memchr::memchr2;
use std::borrow::Cow;

/// One complete event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The last `event:` field, if it is not empty.
    pub event: Option<&'a [u8]>,
    /// The `data:` lines, joined; borrowed when there is one.
    pub data: Cow<'a, [u8]>,
}

impl<'a> Frame<'a> {
    /// Reads the lines up to the blank one; `None` when they have no data, since such an event is not dispatched.
    ///
    /// Lines that begin with a bare JSON object are data as they are: in mid-stream Gemini reports an error without
    /// `data:` (llmgateway #3616), and no field name starts with a brace.
    pub(super) fn read(lines: &'a [u8]) -> Option<Self> {
        if lines.starts_with(b"{") {
            return Some(Self { event: None, data: Cow::Borrowed(lines.trim_ascii_end()) });
        }
        let mut event = None;
        let mut data: Option<Cow<'a, [u8]>> = None;
        let mut rest = lines;
        while !rest.is_empty() {
            let (line, behind) = split_line(rest);
            rest = behind;
            match field(line) {
                (b"event", value) => event = Some(value).filter(|value| !value.is_empty()),
                (b"data", value) => match &mut data {
                    None => data = Some(Cow::Borrowed(value)),
                    Some(joined) => {
                        let joined = joined.to_mut();
                        joined.push(b'\n');
                        joined.extend_from_slice(value);
                    }
                },
                _ => {}
            }
        }
        data.map(|data| Self { event, data })
    }
}

/// The first line, and what is behind its end.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr2(b'\n', b'\r', text).unwrap_or(text.len());
    let (line, end) = text.split_at(end);
    let behind = end.strip_prefix(b"\r\n").or_else(|| end.get(1..)).unwrap_or_default();
    (line, behind)
}

/// Name and value of a line; a comment has an empty name, a line without a colon an empty value.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
    let (name, value) = line.split_at(colon);
    let value = value.strip_prefix(b":").unwrap_or_default();
    (name, value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Option<(Option<String>, String)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Frame::read(lines.as_bytes()).map(|frame| (frame.event.map(text), text(&frame.data)))
    }

    #[test]
    fn fields_follow_the_specification() {
        let data = |text: &str| Some((None, text.to_owned()));
        let named = |event: &str, text: &str| Some((Some(event.to_owned()), text.to_owned()));
        let cases = [
            ("data: one\n", data("one")),
            ("data:one\n", data("one")),
            ("data:  two spaces\n", data(" two spaces")),
            ("data: a\ndata: b\r\ndata:\rdata: d", data("a\nb\n\nd")),
            ("data\n", data("")),
            ("data:\n", data("")),
            ("data: a:b\n", data("a:b")),
            ("event: ping\ndata: {}\n", named("ping", "{}")),
            ("data: {}\nevent:ping\nevent: pong\n", named("pong", "{}")),
            ("event: ping\nevent\ndata: x\n", data("x")),
            (": comment\nid: 7\nretry: 3\ndata: x\n", data("x")),
            ("event: ping\n", None),
            (": comment\n", None),
            (" data: x\nDATA: x\ndatax: x\n", None),
            ("", None),
        ];
        for (lines, expected) in cases {
            assert_eq!(read(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_bare_json_object_is_data() {
        assert_eq!(read("{\n  \"error\": {}\n}\n"), Some((None, "{\n  \"error\": {}\n}".to_owned())));
    }

    #[test]
    fn one_data_line_is_borrowed() {
        assert!(matches!(Frame::read(b"data: x\n"), Some(Frame { data: Cow::Borrowed(b"x"), .. })));
    }
}
