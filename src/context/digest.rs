//! Digests of the normal form of messages and answers.
//!
//! The normal form forgets what clients change when they send their history back: cache markers, the difference between
//! a string and a single text block, how text is cut into blocks, white space, item ids, and (for answers) where text
//! stands relative to calls. It keeps the text without white space, the call ids and the results.
use std::fmt;

/// 128 bits of BLAKE3: wide enough that two histories never meet by accident.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Digest(pub [u8; 16]);

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in &self.0[..6] {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// All of it, in hex.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
        let hex: String = self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0f)]).collect();
        f.write_str(&hex)
    }
}

impl Digest {
    /// The digest of these parts, each with its length, so that no two different lists meet.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self::take(hasher.finalize())
    }

    /// The next link of a chain: what came before, and what follows it. The same as [`Self::of`] both, hashed in one step:
    /// a long history has a thousand links.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        const LENGTH: [u8; 8] = 16_u64.to_le_bytes();
        let mut parts = [0; 2 * (LENGTH.len() + size_of::<Self>())];
        for (part, digest) in parts.chunks_exact_mut(LENGTH.len() + size_of::<Self>()).zip([self, next]) {
            let (length, bytes) = part.split_at_mut(LENGTH.len());
            length.copy_from_slice(&LENGTH);
            bytes.copy_from_slice(&digest.0);
        }
        Self::take(blake3::hash(&parts))
    }

    fn take(hash: blake3::Hash) -> Self {
        let [taken @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = *hash.as_bytes();
        Self(taken)
    }
}

/// Bytes that are hashed together: BLAKE3 takes a chunk of this size at a time, and single words at a fraction of its speed.
const GATHERED: usize = 1024;

/// Text on its way into a hash, without its white space.
struct Gathered<'a> {
    bytes: [u8; GATHERED],
    len: usize,
    hasher: &'a mut blake3::Hasher,
}

impl Gathered<'_> {
    /// Adds text whose white space is all ASCII. It is written over by what follows: a branch per word would be
    /// mispredicted.
    fn push(&mut self, text: &[u8]) {
        let mut rest = text;
        while !rest.is_empty() {
            // As many as there is room for, whether white or not.
            let (now, later) = rest.split_at(rest.len().min(GATHERED - self.len));
            let mut len = self.len;
            for byte in now {
                self.bytes[len % GATHERED] = *byte;
                len += KEPT[usize::from(*byte)];
            }
            self.len = len;
            if len == GATHERED {
                self.flush();
            }
            rest = later;
        }
    }

    fn flush(&mut self) {
        self.hasher.update(self.bytes.get(..self.len).unwrap_or_default());
        self.len = 0;
    }
}

/// How many of each byte are kept: none of the white space of ASCII ([`char::is_whitespace`]), one of the others.
static KEPT: [usize; 256] = {
    let mut kept = [1; 256];
    let white = *b"\t\n\x0b\x0c\r ";
    let mut at = 0;
    while at < white.len() {
        kept[white[at] as usize] = 0;
        at += 1;
    }
    kept
};

/// Collects the normal form of one message, item or answer.
#[derive(Debug, Default)]
pub struct NormalForm {
    text: blake3::Hasher,
    /// Call ids, result ids and digests of blocks that are not text, in order.
    rest: blake3::Hasher,
}

impl NormalForm {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text; its white space does not count.
    pub fn text(&mut self, text: &str) {
        let mut words = Gathered { bytes: [0; GATHERED], len: 0, hasher: &mut self.text };
        if text.is_ascii() {
            words.push(text.as_bytes());
        } else {
            // Of white space beyond ASCII the library knows.
            text.split_whitespace().for_each(|word| words.push(word.as_bytes()));
        }
        words.flush();
    }

    /// Adds something that is not text: a call (`"call"`, its id), a result (`"result"`, its id), an image (`"block"`, its raw text).
    pub fn part(&mut self, kind: &str, value: &str) {
        self.rest.update(&(kind.len() as u64).to_le_bytes());
        self.rest.update(kind.as_bytes());
        self.rest.update(&(value.len() as u64).to_le_bytes());
        self.rest.update(value.as_bytes());
    }

    /// The digest; `None` when nothing was added.
    pub fn digest(&self) -> Option<Digest> {
        (self.text.count() > 0 || self.rest.count() > 0)
            .then(|| Digest::of(&[self.text.finalize().as_bytes(), self.rest.finalize().as_bytes()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_same_however_it_is_cut() {
        let long = "x".repeat(GATHERED + 1);
        for text in [
            "",
            "a b",
            " \t\n\u{b}\u{c}\r",
            "a\u{a0}b\u{2003}é c",
            &"word ".repeat(GATHERED),
            &long,
            &format!("a {long} b"),
            &format!("a {}", &long[2..]),
        ] {
            let (mut whole, mut words) = (NormalForm::new(), NormalForm::new());
            whole.text(text);
            text.split_whitespace().for_each(|word| words.text(word));
            assert_eq!(whole.digest(), words.digest(), "{} bytes", text.len());
        }
    }

    #[test]
    fn white_space_does_not_count() {
        for white in (0..=char::MAX as u32).filter_map(char::from_u32).filter(|c| c.is_whitespace()) {
            let (mut spaced, mut plain) = (NormalForm::new(), NormalForm::new());
            spaced.text(&format!("a{white}b"));
            plain.text("ab");
            assert_eq!(spaced.digest(), plain.digest(), "{white:?}");
        }
        let others = ('\0'..='\u{ff}').filter(|c| !c.is_whitespace());
        for other in others {
            let mut form = NormalForm::new();
            form.text(&other.to_string());
            assert_ne!(form.digest(), None, "{other:?}");
        }
    }

    #[test]
    fn a_link_is_the_digest_of_both_ends() {
        let (one, two) = (Digest([1; 16]), Digest([2; 16]));
        assert_eq!(one.then(two), Digest::of(&[&one.0, &two.0]));
    }

    #[test]
    fn a_digest_prints_as_lower_case_hex() {
        assert_eq!(Digest([0x0f; 16]).to_string(), "0f".repeat(16));
    }
}
