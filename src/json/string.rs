//! Where a JSON string ends: the first word, then sixty-four bytes at a time.
//!
//! This is where a body's time goes. Text from tools has an escape every few bytes, and a step per escape would be
//! mispredicted about once a block: so escapes are found and judged in bit masks, a block at a time.
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
        let bytes = block(text.get(at..).unwrap_or_default());
        let backslashes = bits(&bytes, |byte| byte == b'\\');
        let escaped = if backslashes == 0 { 0 } else { escaped(backslashes) };
        let ends = bits(&bytes, |byte| (byte == b'"') | (byte < b' ')) & !escaped;
        let inside = ends.wrapping_sub(1) & !ends;
        let wrong = wrong_escapes(&bytes, escaped & inside);
        if wrong != 0 {
            // Wrong, or cut off by the end of the block: that shows when its backslash is the first byte of one.
            match wrong.trailing_zeros() {
                1 => return Err((at, Fault::Escape)),
                behind => at += behind as usize - 1,
            }
        } else if ends != 0 {
            return end_at(text, at + ends.trailing_zeros() as usize);
        } else {
            // A backslash in the last place is looked at again together with what it escapes.
            at += BLOCK - usize::from((backslashes & !escaped) >> (BLOCK - 1) != 0);
        }
    }
}

/// The string ends at `here`: with its quote, a byte that may not stand in it, or the text.
#[inline(always)]
fn end_at(text: &[u8], here: usize) -> Result<usize, (usize, Fault)> {
    match text.get(here) {
        Some(b'"') => Ok(here + 1),
        Some(_) => Err((here, Fault::Control)),
        None => Err((text.len(), Fault::Unterminated)),
    }
}

/// The bits of bytes that a backslash escapes, for a block that begins outside of an escape: those at an odd distance from
/// the first backslash of a run, found for all runs by one addition (Langdale and Lemire, Parsing Gigabytes of JSON per
/// Second, section 3.1.1).
#[inline(always)]
const fn escaped(backslashes: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let behind = backslashes << 1;
    let runs_from_odd = backslashes & !EVEN & !behind;
    let carried = runs_from_odd.wrapping_add(backslashes);
    (EVEN ^ (carried << 1)) & behind
}

/// Those of the `escaped` bytes that are no escape, or one that the block does not hold to its end. A lone surrogate is
/// legal syntax (RFC 8259, section 8.2), so the digits are not interpreted.
#[inline(always)]
fn wrong_escapes(bytes: &[u8; BLOCK], escaped: u64) -> u64 {
    if escaped == 0 {
        return 0;
    }
    let long = escaped & !bits(bytes, is_short_escape);
    if long == 0 {
        return 0;
    }
    let digits = bits(bytes, |byte| (byte.wrapping_sub(b'0') < 10) | ((byte | 0x20).wrapping_sub(b'a') < 6));
    let unicode = bits(bytes, |byte| byte == b'u') & digits >> 1 & digits >> 2 & digits >> 3 & digits >> 4;
    long & !unicode
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

/// What may stand behind a backslash alone. Tests without branches, so that a block is tested at once.
#[inline(always)]
fn is_short_escape(byte: u8) -> bool {
    let is_sign = (byte == b'"') | (byte == b'\\') | (byte == b'/');
    is_sign | (byte == b'b') | (byte == b'f') | (byte == b'n') | (byte == b'r') | (byte == b't')
}

/// The next bytes of a text; behind its end stand zeros, which look like control characters.
#[inline(always)]
fn block(text: &[u8]) -> [u8; BLOCK] {
    text.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0; BLOCK];
        padded.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        padded
    })
}

/// One bit for each byte that is what `is` says, lowest first. A test without branches for all bytes, and a multiplication
/// per word: compilers make vector code of it.
#[inline(always)]
fn bits(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u64 {
    let mut flags = [0_u8; BLOCK];
    for (flag, byte) in flags.iter_mut().zip(block) {
        *flag = u8::from(is(*byte));
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
            // Over the end of a block, and of the text.
            (format!("{}\\x\"", "x".repeat(BLOCK - 1)), BLOCK - 1, Fault::Escape),
            (format!("{}\\u12g4\"", "x".repeat(BLOCK - 4)), BLOCK - 4, Fault::Escape),
            (format!("{}\\", "x".repeat(BLOCK - 1)), BLOCK - 1, Fault::Escape),
            (format!("{}\\u00e9\n", "x".repeat(BLOCK - 3)), BLOCK + 3, Fault::Control),
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
