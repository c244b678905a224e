//! Sixty-four bytes that are compared at once.
use wide::u8x16;

/// Bytes that are looked at together: as many as a mask has bits.
pub(super) const BLOCK: usize = 64;
/// Bytes of one vector: the widest that every x86-64 and ARM64 processor has.
const LANE: usize = 16;

/// The next bytes of a text. Each test gives one bit for each byte, lowest first. Fields and no array: the vectors then stay
/// in registers.
pub(super) struct Block {
    a: u8x16,
    b: u8x16,
    c: u8x16,
    d: u8x16,
}

impl Block {
    /// The first bytes of `text`; `None` where it has fewer.
    #[inline(always)]
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        let ([a, b, c, d, ..], _) = text.as_chunks::<LANE>() else { return None };
        Some(Self { a: u8x16::new(*a), b: u8x16::new(*b), c: u8x16::new(*c), d: u8x16::new(*d) })
    }

    /// Bytes that are one of these.
    #[inline(always)]
    pub(super) fn any_of<const N: usize>(&self, bytes: [u8; N]) -> u64 {
        self.bits(|lane| bytes.iter().fold(u8x16::ZERO, |found, byte| found | lane.simd_eq(u8x16::splat(*byte))))
    }

    /// Bytes between the two, both included.
    #[inline(always)]
    pub(super) fn within(&self, low: u8, high: u8) -> u64 {
        self.bits(|lane| at_most(lane - u8x16::splat(low), high - low))
    }

    /// Quotes, and control characters, which may not stand in a string.
    #[inline(always)]
    pub(super) fn ends_string(&self) -> u64 {
        self.bits(ends_string)
    }

    #[inline(always)]
    fn bits(&self, test: impl Fn(u8x16) -> u8x16) -> u64 {
        let bits = |lane| u64::from(test(lane).to_bitmask());
        bits(self.a) | bits(self.b) << LANE | bits(self.c) << (2 * LANE) | bits(self.d) << (3 * LANE)
    }
}

/// Unsigned, which vectors have no comparison for: what the lesser of two leaves as it is, is at most the other.
#[inline(always)]
fn at_most(lane: u8x16, limit: u8) -> u8x16 {
    lane.min(u8x16::splat(limit)).simd_eq(lane)
}

/// The first byte among one vector's worth of `text` that is a quote, a backslash or a control character.
#[inline(always)]
pub(super) fn first_special(text: &[u8]) -> Option<usize> {
    let lane = u8x16::new(*text.first_chunk()?);
    let special = ends_string(lane) | lane.simd_eq(u8x16::splat(b'\\'));
    let bits = special.to_bitmask();
    (bits != 0).then(|| bits.trailing_zeros() as usize)
}

#[inline(always)]
fn ends_string(lane: u8x16) -> u8x16 {
    lane.simd_eq(u8x16::splat(b'"')) | at_most(lane, b' ' - 1)
}
