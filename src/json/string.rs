//! Where a JSON string ends: the first vector, then sixty-four bytes at a time.
//!
//! This is where a body's time goes. Text from tools has an escape every few bytes, and a step per escape would be
//! mispredicted about once a block: so escapes are found and judged in bit masks, a block at a time.
use super::block::{BLOCK, Block, first_special};
use super::scan::Fault;

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
        let Some(block) = Block::of(text.get(at..).unwrap_or_default()) else { return end_near_end(text, at) };
        let backslashes = block.any_of([b'\\']);
        let escaped = if backslashes == 0 { 0 } else { escaped(backslashes) };
        let ends = block.ends_string() & !escaped;
        let inside = ends.wrapping_sub(1) & !ends;
        let wrong = wrong_escapes(&block, escaped & inside);
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

/// Goes on at `at`, where the text has less than a block left: in a copy with zeros behind it, which end any string.
#[cold]
#[inline(never)]
fn end_near_end(text: &[u8], at: usize) -> Result<usize, (usize, Fault)> {
    let rest = text.get(at..).unwrap_or_default();
    let mut padded = [0; 2 * BLOCK];
    padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    match string_end(&padded, 0) {
        Ok(end) => Ok(at + end),
        Err((place, _)) if place >= rest.len() => Err((text.len(), Fault::Unterminated)),
        Err((place, fault)) => Err((at + place, fault)),
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
fn wrong_escapes(block: &Block, escaped: u64) -> u64 {
    // Line ends, tabs, quotes and backslashes are nearly all that texts have.
    let mut long = escaped & !block.any_of(*b"nt\"\\");
    if long != 0 {
        long &= !block.any_of(*b"/rbf");
    }
    if long == 0 {
        return 0;
    }
    let digits = block.within(b'0', b'9') | block.within(b'a', b'f') | block.within(b'A', b'F');
    let unicode = block.any_of([b'u']) & digits >> 1 & digits >> 2 & digits >> 3 & digits >> 4;
    long & !unicode
}

/// The end of a string that ends within one vector and has no escapes, as most keys and many values do.
#[inline(always)]
fn short_string_end(text: &[u8], start: usize) -> Option<usize> {
    let place = start + first_special(text.get(start..)?)?;
    (text.get(place) == Some(&b'"')).then_some(place + 1)
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
