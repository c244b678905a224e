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
        Self::take(&hasher)
    }

    /// The next link of a chain: what came before, and what follows it.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self::of(&[&self.0, &next.0])
    }

    fn take(hasher: &blake3::Hasher) -> Self {
        let mut out = [0; 16];
        out.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(out)
    }
}

/// Bytes that are hashed together: BLAKE3 takes a chunk of this size at a time, and single words at a fraction of its speed.
const GATHERED: usize = 1024;

/// Words on their way into a hash.
struct Gathered {
    bytes: [u8; GATHERED],
    len: usize,
}

impl Gathered {
    fn push(&mut self, word: &[u8], hasher: &mut blake3::Hasher) {
        if self.len + word.len() > GATHERED {
            self.flush(hasher);
        }
        match self.bytes.get_mut(self.len..self.len + word.len()) {
            Some(room) => {
                room.copy_from_slice(word);
                self.len += word.len();
            }
            None => {
                hasher.update(word);
            }
        }
    }

    fn flush(&mut self, hasher: &mut blake3::Hasher) {
        hasher.update(self.bytes.get(..self.len).unwrap_or_default());
        self.len = 0;
    }
}

/// Collects the normal form of one message, item or answer.
#[derive(Debug, Default)]
pub struct NormalForm {
    text: blake3::Hasher,
    has_text: bool,
    /// Call ids, result ids and digests of blocks that are not text, in order.
    rest: blake3::Hasher,
    has_rest: bool,
}

impl NormalForm {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text; its white space does not count.
    pub fn text(&mut self, text: &str) {
        let mut words = Gathered { bytes: [0; GATHERED], len: 0 };
        for word in text.split_whitespace() {
            self.has_text = true;
            words.push(word.as_bytes(), &mut self.text);
        }
        words.flush(&mut self.text);
    }

    /// Adds something that is not text: a call (`"call"`, its id), a result (`"result"`, its id), an image (`"block"`, its raw text).
    pub fn part(&mut self, kind: &str, value: &str) {
        self.has_rest = true;
        self.rest.update(&(kind.len() as u64).to_le_bytes());
        self.rest.update(kind.as_bytes());
        self.rest.update(&(value.len() as u64).to_le_bytes());
        self.rest.update(value.as_bytes());
    }

    /// The digest; `None` when nothing was added.
    pub fn digest(&self) -> Option<Digest> {
        (self.has_text || self.has_rest)
            .then(|| Digest::of(&[self.text.finalize().as_bytes(), self.rest.finalize().as_bytes()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_same_however_it_is_cut() {
        let long = "x".repeat(GATHERED + 1);
        for text in ["", "a b", &"word ".repeat(GATHERED), &long, &format!("a {long} b"), &format!("a {}", &long[2..])]
        {
            let (mut whole, mut words) = (NormalForm::new(), NormalForm::new());
            whole.text(text);
            text.split_whitespace().for_each(|word| words.text(word));
            assert_eq!(whole.digest(), words.digest(), "{} bytes", text.len());
        }
    }

    #[test]
    fn a_digest_prints_as_lower_case_hex() {
        assert_eq!(Digest([0x0f; 16]).to_string(), "0f".repeat(16));
    }
}
