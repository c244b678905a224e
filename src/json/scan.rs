//! The one scanner that all reading of JSON goes through: it validates while it skips (RFC 8259), so that nobody can
//! be made to see another structure than the next reader does.
use super::{Kind, ScanError, Span};

/// Deepest nesting that is accepted. Agents stay below 30 (tool schemas); serde_json itself stops at 128 when an
/// element is parsed further.
pub const MAX_DEPTH: usize = 512;

type Result<T> = std::result::Result<T, ScanError>;

/// A cursor on JSON text. The text must be UTF-8: bytes from 0x80 on are not looked at.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// A cursor on the first byte of `text` that is not white space.
    pub(super) fn new(text: &'a str) -> Self {
        let mut scanner = Self { text: text.as_bytes(), at: 0 };
        scanner.skip_white();
        scanner
    }

    /// Where the cursor stands.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The byte under the cursor.
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The kind of the value that begins under the cursor.
    pub(super) fn kind(&self) -> Option<Kind> {
        self.peek().and_then(Kind::from_first_byte)
    }

    /// Steps over `byte` if it stands under the cursor.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Result<()> {
        self.skip_white();
        if self.at == self.text.len() { Ok(()) } else { Err(self.error("trailing characters")) }
    }

    /// Inside an object: steps over the next key and its colon, or over the end of the object. `first` is true right
    /// behind the opening brace.
    pub(super) fn next_key(&mut self, first: bool) -> Result<Option<Span>> {
        self.skip_white();
        if self.eat(b'}') {
            return Ok(None);
        }
        if !first {
            self.expect(b',', "expected ',' or '}'")?;
            self.skip_white();
        }
        let key = self.string()?;
        self.skip_white();
        self.expect(b':', "expected ':'")?;
        self.skip_white();
        Ok(Some(key))
    }

    /// Inside an array: goes to the next element (true), or over the end of the array (false). `first` is true right
    /// behind the opening bracket.
    pub(super) fn next_element(&mut self, first: bool) -> Result<bool> {
        self.skip_white();
        if self.eat(b']') {
            return Ok(false);
        }
        if !first {
            self.expect(b',', "expected ',' or ']'")?;
            self.skip_white();
        }
        Ok(true)
    }

    /// Steps over one value; `around` containers are open around it.
    pub(super) fn value(&mut self, around: usize) -> Result<Span> {
        let start = self.at;
        let mut open = Nesting::new(around);
        let mut first = self.begin(&mut open)?;
        while let Some(container) = open.innermost() {
            let more = match container {
                Container::Object => self.next_key(first)?.is_some(),
                Container::Array => self.next_element(first)?,
            };
            if more {
                first = self.begin(&mut open)?;
            } else {
                open.pop();
                first = false;
            }
        }
        Ok(Span::new(start, self.at))
    }

    /// Steps over a scalar (false), or into a container (true).
    fn begin(&mut self, open: &mut Nesting) -> Result<bool> {
        match self.kind() {
            Some(Kind::String) => self.string().map(|_| false),
            Some(Kind::Object) => self.step_into(open, Container::Object),
            Some(Kind::Array) => self.step_into(open, Container::Array),
            Some(Kind::Number) => self.number().map(|()| false),
            Some(Kind::Bool | Kind::Null) => self.literal().map(|()| false),
            None => Err(self.error("expected a value")),
        }
    }

    fn step_into(&mut self, open: &mut Nesting, container: Container) -> Result<bool> {
        open.push(container)?;
        self.at += 1;
        Ok(true)
    }

    /// Steps over a string; the span includes the quotes.
    pub(super) fn string(&mut self) -> Result<Span> {
        let start = self.at;
        self.expect(b'"', "expected a string")?;
        loop {
            self.at += plain_run(self.rest());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Span::new(start, self.at));
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.error("control character in a string")),
                None => return Err(self.error("unterminated string")),
            }
        }
    }

    /// Steps over an escape. A lone surrogate is legal syntax (RFC 8259, section 8.2), so the digits are not interpreted.
    fn escape(&mut self) -> Result<()> {
        match self.rest() {
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
            [b'\\', b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => self.at += 6,
            _ => return Err(self.error("invalid escape")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<()> {
        let run = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += run;
        if run == 0 { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    fn literal(&mut self) -> Result<()> {
        let length = match self.rest() {
            [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..] => 4,
            [b'f', b'a', b'l', b's', b'e', ..] => 5,
            _ => return Err(self.error("expected a value")),
        };
        self.at += length;
        Ok(())
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<()> {
        if self.eat(byte) { Ok(()) } else { Err(self.error(what)) }
    }

    fn skip_white(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, what: &'static str) -> ScanError {
        ScanError::NotJson { at: self.at, what }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Array,
    Object,
}

const WORD_BITS: usize = u64::BITS as usize;

/// The open containers, one bit each: hostile nesting costs neither stack nor heap.
struct Nesting {
    /// A set bit is an object.
    objects: [u64; MAX_DEPTH / WORD_BITS],
    around: usize,
    depth: usize,
}

impl Nesting {
    fn new(around: usize) -> Self {
        Self { objects: [0; MAX_DEPTH / WORD_BITS], around, depth: 0 }
    }

    fn push(&mut self, container: Container) -> Result<()> {
        if self.around + self.depth >= MAX_DEPTH {
            return Err(ScanError::TooDeep);
        }
        let word = self.objects.get_mut(self.depth / WORD_BITS).ok_or(ScanError::TooDeep)?;
        let bit = 1 << (self.depth % WORD_BITS);
        match container {
            Container::Object => *word |= bit,
            Container::Array => *word &= !bit,
        }
        self.depth += 1;
        Ok(())
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn innermost(&self) -> Option<Container> {
        let index = self.depth.checked_sub(1)?;
        let word = self.objects.get(index / WORD_BITS)?;
        Some(if (word >> (index % WORD_BITS)) & 1 == 1 { Container::Object } else { Container::Array })
    }
}

/// Bytes at the start of `text` that mean themselves in a string: no quote, no backslash, no control character.
fn plain_run(text: &[u8]) -> usize {
    let (words, tail) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return index * 8 + (special.trailing_zeros() / 8) as usize;
        }
    }
    let in_tail = tail.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
    words.len() * 8 + in_tail.unwrap_or(tail.len())
}

/// Eight bytes at once: the high bit of each byte that does not mean itself in a string. Borrows of the subtractions run
/// upwards only, so that the lowest set bit is exact (Warren, Hacker's Delight, section 6-1).
const fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
    let quote = (word ^ QUOTES).wrapping_sub(ONES);
    let backslash = (word ^ BACKSLASHES).wrapping_sub(ONES);
    let control = word.wrapping_sub(SPACES);
    (quote | backslash | control) & !word & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan(text: &str) -> Result<()> {
        let mut scanner = Scanner::new(text);
        scanner.value(0)?;
        scanner.end()
    }

    #[test]
    fn syntax_follows_rfc_8259() {
        let legal = [
            "0",
            "-0",
            "10",
            "1.50",
            "1e9",
            "-1.0E+22",
            "1e-0",
            "true",
            "false",
            "null",
            "\"\"",
            "[]",
            "{}",
            " [ ] ",
            "{ }",
            "[1 , 2]",
            "{\"a\" : [ { } , null ] }",
            r#""\"\\\/\b\f\n\r\t\u00Ff""#,
            r#""\ud800""#,
            "\"\u{7f}\u{e9}\u{1f680}\"",
            "\n\r\t 1 \n\r\t ",
        ];
        for text in legal {
            assert_eq!(scan(text), Ok(()), "{text}");
        }
        let broken = [
            "",
            " ",
            "-",
            "01",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "1 2",
            "0x1",
            "tru",
            "nul",
            "True",
            "NaN",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[",
            "]",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{1:2}",
            "{\"a\":1 \"b\":2}",
            "[1}",
            "{\"a\":1]",
            "\"",
            "\"a",
            r#""\""#,
            r#""\x""#,
            r#""\u12G4""#,
            r#""\u123""#,
            "\"\n\"",
            "\"\u{0}\"",
            "'a'",
            "\u{a0}1",
            "\u{feff}1",
            "1//c",
            "{} {}",
        ];
        for text in broken {
            assert!(matches!(scan(text), Err(ScanError::NotJson { .. })), "{text}");
        }
    }

    #[test]
    fn an_error_names_the_byte() {
        assert_eq!(scan(r#"{"a": x}"#), Err(ScanError::NotJson { at: 6, what: "expected a value" }));
        assert_eq!(scan("[1] 2"), Err(ScanError::NotJson { at: 4, what: "trailing characters" }));
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(scan(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(scan(&nested(MAX_DEPTH + 1)), Err(ScanError::TooDeep));
        assert_eq!(scan(&"[".repeat(1 << 20)), Err(ScanError::TooDeep));
        assert_eq!(scan(&r#"{"a":["#.repeat(1 << 18)), Err(ScanError::TooDeep));
        assert_eq!(Scanner::new("[[]]").value(MAX_DEPTH - 1), Err(ScanError::TooDeep));
    }

    proptest! {
        #[test]
        fn a_plain_run_ends_at_the_first_special_byte(text in proptest::collection::vec(any::<u8>(), 0..64)) {
            let expected = text.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\');
            prop_assert_eq!(plain_run(&text), expected.unwrap_or(text.len()));
        }
    }
}
