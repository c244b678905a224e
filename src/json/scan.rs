//! The one scanner that all reading of JSON goes through: it validates while it skips (RFC 8259), so that nobody can
//! be made to see another structure than the next reader does. The small steps are inlined by force: a cursor that stays
//! in a register makes the loop over a value a third faster.
use super::nesting::{Container, Nesting};
use super::string::string_end;
use super::{Kind, ScanError, Span};

/// Deepest nesting that is accepted. Agents stay below 30 (tool schemas); serde_json itself stops at 128 when an
/// element is parsed further.
pub const MAX_DEPTH: usize = 512;

/// What is wrong under the cursor. One byte: results of the inner loop stay in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Value,
    String,
    Colon,
    CommaOrBrace,
    CommaOrBracket,
    Digit,
    Escape,
    Control,
    Unterminated,
    Trailing,
    TooDeep,
}

impl Fault {
    const fn at(self, at: usize) -> ScanError {
        let what = match self {
            Self::TooDeep => return ScanError::TooDeep,
            Self::Value => "expected a value",
            Self::String => "expected a string",
            Self::Colon => "expected ':'",
            Self::CommaOrBrace => "expected ',' or '}'",
            Self::CommaOrBracket => "expected ',' or ']'",
            Self::Digit => "expected a digit",
            Self::Escape => "invalid escape",
            Self::Control => "control character in a string",
            Self::Unterminated => "unterminated string",
            Self::Trailing => "trailing characters",
        };
        ScanError::NotJson { at, what }
    }
}

/// A cursor on JSON text. The text must be UTF-8: bytes from 0x80 on are not looked at.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// Values inside of those that were stepped over.
    inner: usize,
}

impl<'a> Scanner<'a> {
    /// A cursor on the first byte of `text` that is not white space.
    pub(super) fn new(text: &'a str) -> Self {
        let mut scanner = Self { text: text.as_bytes(), at: 0, inner: 0 };
        scanner.skip_white();
        scanner
    }

    /// Where the cursor stands.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// How many values stand inside of those that were stepped over, at any depth.
    pub(super) fn inner(&self) -> usize {
        self.inner
    }

    /// Goes on at `position`, behind text that is known to be valid.
    pub(super) fn jump(&mut self, position: usize) {
        self.at = position;
    }

    /// The kind of the value that begins under the cursor.
    #[inline(always)]
    pub(super) fn kind(&self) -> Option<Kind> {
        self.peek().and_then(Kind::from_first_byte)
    }

    /// Steps over `byte` if it stands under the cursor.
    #[inline(always)]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Result<(), ScanError> {
        self.skip_white();
        if self.at == self.text.len() { Ok(()) } else { Err(Fault::Trailing.at(self.at)) }
    }

    /// Inside an object: steps over the next key and its colon, or over the end of the object. `first` is true right
    /// behind the opening brace.
    pub(super) fn next_key(&mut self, first: bool) -> Result<Option<Span>, ScanError> {
        let has_key = self.advance_to_key(first).map_err(|fault| fault.at(self.at))?;
        if !has_key {
            return Ok(None);
        }
        let start = self.at;
        let end = self.key().map_err(|fault| fault.at(self.at))?;
        Ok(Some(Span::new(start, end)))
    }

    /// Inside an array: goes to the next element (true), or over the end of the array (false). `first` is true right
    /// behind the opening bracket.
    pub(super) fn next_element(&mut self, first: bool) -> Result<bool, ScanError> {
        self.advance_to_element(first).map_err(|fault| fault.at(self.at))
    }

    /// Steps over one value; `around` containers are open around it.
    pub(super) fn value(&mut self, around: usize) -> Result<Span, ScanError> {
        let start = self.at;
        self.skip_value(around).map_err(|fault| fault.at(self.at))?;
        Ok(Span::new(start, self.at))
    }

    /// Steps over a string; the span includes the quotes.
    pub(super) fn string(&mut self) -> Result<Span, ScanError> {
        let start = self.at;
        self.skip_string().map_err(|fault| fault.at(self.at))?;
        Ok(Span::new(start, self.at))
    }

    fn skip_value(&mut self, around: usize) -> Result<(), Fault> {
        let mut open = Nesting::new(around);
        let mut first = self.begin(&mut open)?;
        let mut inner = 0;
        while let Some(container) = open.innermost() {
            let more = match container {
                Container::Object => self.advance_to_key(first)? && self.key().map(|_| true)?,
                Container::Array => self.advance_to_element(first)?,
            };
            if more {
                first = self.begin(&mut open)?;
                inner += 1;
            } else {
                open.pop();
                first = false;
            }
        }
        self.inner += inner;
        Ok(())
    }

    /// Steps over a scalar (false), or into a container (true).
    #[inline(always)]
    fn begin(&mut self, open: &mut Nesting) -> Result<bool, Fault> {
        match self.kind() {
            Some(Kind::String) => self.skip_string().map(|()| false),
            Some(Kind::Object) => self.step_into(open, Container::Object),
            Some(Kind::Array) => self.step_into(open, Container::Array),
            Some(Kind::Number) => self.skip_number().map(|()| false),
            Some(Kind::Bool | Kind::Null) => self.skip_literal().map(|()| false),
            None => Err(Fault::Value),
        }
    }

    fn step_into(&mut self, open: &mut Nesting, container: Container) -> Result<bool, Fault> {
        open.push(container)?;
        self.at += 1;
        Ok(true)
    }

    /// Goes to the next key (true), or over the end of the object (false).
    #[inline(always)]
    fn advance_to_key(&mut self, first: bool) -> Result<bool, Fault> {
        self.skip_white();
        if self.eat(b'}') {
            return Ok(false);
        }
        if !first {
            self.expect(b',', Fault::CommaOrBrace)?;
            self.skip_white();
        }
        Ok(true)
    }

    /// Steps over a key and its colon to the value; where the key ends.
    #[inline(always)]
    fn key(&mut self) -> Result<usize, Fault> {
        self.skip_string()?;
        let end = self.at;
        self.skip_white();
        self.expect(b':', Fault::Colon)?;
        self.skip_white();
        Ok(end)
    }

    #[inline(always)]
    fn advance_to_element(&mut self, first: bool) -> Result<bool, Fault> {
        self.skip_white();
        if self.eat(b']') {
            return Ok(false);
        }
        if !first {
            self.expect(b',', Fault::CommaOrBracket)?;
            self.skip_white();
        }
        Ok(true)
    }

    #[inline(always)]
    fn skip_string(&mut self) -> Result<(), Fault> {
        self.expect(b'"', Fault::String)?;
        match string_end(self.text, self.at) {
            Ok(end) => {
                self.at = end;
                Ok(())
            }
            Err((at, fault)) => {
                self.at = at;
                Err(fault)
            }
        }
    }

    fn skip_number(&mut self) -> Result<(), Fault> {
        self.eat(b'-');
        if !self.eat(b'0') {
            self.skip_digits()?;
        }
        if self.eat(b'.') {
            self.skip_digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.skip_digits()?;
        }
        Ok(())
    }

    fn skip_digits(&mut self) -> Result<(), Fault> {
        let run = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += run;
        if run == 0 { Err(Fault::Digit) } else { Ok(()) }
    }

    fn skip_literal(&mut self) -> Result<(), Fault> {
        let length = match self.rest() {
            [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..] => 4,
            [b'f', b'a', b'l', b's', b'e', ..] => 5,
            _ => return Err(Fault::Value),
        };
        self.at += length;
        Ok(())
    }

    #[inline(always)]
    fn expect(&mut self, byte: u8, fault: Fault) -> Result<(), Fault> {
        if self.eat(byte) { Ok(()) } else { Err(fault) }
    }

    #[inline(always)]
    fn skip_white(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline(always)]
    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
