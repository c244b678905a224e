//! Where a JSON string ends: the first word, then sixty-four bytes at a time.
//!
//! This is where a body's time goes. Text from tools has an escape every few bytes, so that a block is turned into one bit
//! mask and the stops are taken from the mask; everything is inlined into the scanner's loop to stay in registers.
use super::scan::Fault;

/// Bytes that are looked at together: as many as a mask has bits.
const BLOCK: usize = 64;

/// The end of the string whose first byte behind the opening quote is `text[start]`: one past the closing quote.
///
/// # Errors
/// The offset of the byte that is wrong, and what is wrong there.
#[inline(always)]
pub(super) fn string_end(text: &[u8], start: usize) -> Result<usize, (usize, Fault)> {
    if let Some(end) = short_string_end(text, start) {
        return Ok(end);
    }
    let mut at = start;
    loop {
        let begin = at;
        let mut special = special_bytes(&block(text.get(at..).unwrap_or_default()));
        at += BLOCK;
        while special != 0 {
            let bit = special.trailing_zeros();
            let here = begin + bit as usize;
            let length = match text.get(here) {
                Some(b'"') => return Ok(here + 1),
                Some(b'\\') => escape_length(text, here)?,
                Some(_) => return Err((here, Fault::Control)),
                None => return Err((text.len(), Fault::Unterminated)),
            };
            // Nothing within the escape counts; it may reach into the next block.
            special &= !(((1_u64 << length) - 1) << bit);
            at = at.max(here + length);
        }
    }
}

/// The end of a string that ends within one word and has no escapes, as most keys and many values do.
#[inline(always)]
fn short_string_end(text: &[u8], start: usize) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
    let word = u64::from_le_bytes(*text.get(start..)?.first_chunk()?);
    // The high bit of each byte that ends the run. Borrows run upwards only, so that the lowest one is exact (Warren,
    // Hacker's Delight, section 6-1).
    let quote = (word ^ QUOTES).wrapping_sub(ONES);
    let backslash = (word ^ BACKSLASHES).wrapping_sub(ONES);
    let control = word.wrapping_sub(SPACES);
    let special = (quote | backslash | control) & !word & HIGH_BITS;
    let place = start + (special.trailing_zeros() / u8::BITS) as usize;
    (text.get(place) == Some(&b'"')).then_some(place + 1)
}

/// Length of the escape whose backslash stands at `at`. A lone surrogate is legal syntax (RFC 8259, section 8.2), so the
/// digits are not interpreted.
#[inline(always)]
fn escape_length(text: &[u8], at: usize) -> Result<usize, (usize, Fault)> {
    let escaped = text.get(at + 1).copied().unwrap_or_default();
    if SHORT_ESCAPES[usize::from(escaped)] {
        return Ok(2);
    }
    match text.get(at + 1..) {
        Some([b'u', a, b, c, d, ..]) if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => Ok(6),
        _ => Err((at, Fault::Escape)),
    }
}

/// What may stand behind a backslash alone. A table, because a `match` becomes an indirect jump that text mispredicts.
const SHORT_ESCAPES: [bool; 256] = {
    let mut table = [false; 256];
    let mut escapes: &[u8] = b"\"\\/bfnrt";
    while let [byte, rest @ ..] = escapes {
        table[*byte as usize] = true;
        escapes = rest;
    }
    table
};

/// The next bytes of a text; behind its end stand zeros, which look like control characters.
#[inline(always)]
fn block(text: &[u8]) -> [u8; BLOCK] {
    text.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0; BLOCK];
        padded.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        padded
    })
}

/// One bit for each byte that does not mean itself in a string (quote, backslash, control character), lowest first. A
/// test without branches for all bytes, and a multiplication per word: compilers make vector code of it.
#[inline(always)]
fn special_bytes(block: &[u8; BLOCK]) -> u64 {
    let mut flags = [0_u8; BLOCK];
    for (flag, byte) in flags.iter_mut().zip(block) {
        *flag = u8::from((*byte < b' ') | (*byte == b'"') | (*byte == b'\\'));
    }
    let (words, _) = flags.as_chunks::<8>();
    words.iter().rev().fold(0, |bits, word| bits << 8 | gather(*word))
}

/// Eight flags of 0 or 1 as one bit each: the product moves flag `i` from bit `8 * i` to bit `56 + i`, and no two of its
/// terms meet.
const fn gather(flags: [u8; 8]) -> u64 {
    u64::from_le_bytes(flags).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The grammar of RFC 8259, section 7, one byte at a time.
    fn model(text: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            at += match text.get(at..)? {
                [b'"', ..] => return Some(at + 1),
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
                [b'\\', b'u', digits @ ..] if digits.len() >= 4 && digits[..4].iter().all(u8::is_ascii_hexdigit) => 6,
                [0x20..=0x5b | 0x5d..=0xff, ..] => 1,
                _ => return None,
            };
        }
    }

    #[test]
    fn escapes_are_followed_over_block_ends() {
        for before in 0..70 {
            for backslashes in 0..70 {
                let text = format!("{}{}\" \"", "x".repeat(before), "\\".repeat(backslashes));
                assert_eq!(string_end(text.as_bytes(), 0).ok(), model(text.as_bytes()), "{before} {backslashes}");
            }
        }
    }

    #[test]
    fn a_fault_has_a_place() {
        let long = "x".repeat(40);
        let cases = [
            (format!("{long}\n\""), 40, Fault::Control),
            (long.clone(), 40, Fault::Unterminated),
            (format!("{long}\\x\""), 40, Fault::Escape),
            (format!("{long}\\u12\"4"), 40, Fault::Escape),
            (String::new(), 0, Fault::Unterminated),
        ];
        for (text, place, fault) in cases {
            assert_eq!(string_end(text.as_bytes(), 0), Err((place, fault)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn strings_end_where_the_grammar_says(text in r#"([a-z é]{0,20}|\\{1,3}["\\/bfnrtux\n]?|\\u[0-9a-f]{3,4}|"|\n){0,12}"#) {
            prop_assert_eq!(string_end(text.as_bytes(), 0).ok(), model(text.as_bytes()));
        }

        #[test]
        fn any_bytes_are_survived(text in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(string_end(&text, 0).ok(), model(&text));
        }
    }
}
