//! What is kept of texts: their beginning.

/// Longest text that is kept whole, in bytes: a persistent slot of the usual size, and what fits a screen.
const MAX_TEXT: usize = 4 * 1024;
/// What is kept of all texts of one request, in bytes: several hooks' texts at their usual size.
const MAX_TEXTS: usize = 32 * 1024;
/// Words of an upstream's error or of a name, in bytes.
pub(super) const MAX_WORDS: usize = 512;
/// Stands behind a text that was cut.
const CUT: char = '…';

/// Room for the texts of one request.
#[derive(Debug, Clone)]
pub struct Clip {
    left: usize,
}

impl Default for Clip {
    fn default() -> Self {
        Self { left: MAX_TEXTS }
    }
}

impl Clip {
    /// As much of `text` as there is room for.
    pub fn take(&mut self, text: &str) -> Box<str> {
        let kept = clip(text, self.left.min(MAX_TEXT));
        self.left = self.left.saturating_sub(kept.len());
        kept
    }
}

/// At most `limit` bytes of `text`, with a mark where it was cut.
pub fn clip(text: &str, limit: usize) -> Box<str> {
    if text.len() <= limit {
        return text.into();
    }
    let end = text.floor_char_boundary(limit);
    let mut kept = String::with_capacity(end + CUT.len_utf8());
    kept.push_str(&text[..end]);
    kept.push(CUT);
    kept.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_marked() {
        for (text, limit, kept) in [("abc", 3, "abc"), ("abcd", 3, "abc…"), ("aé", 2, "a…"), ("é", 0, "…"), ("", 0, "")]
        {
            assert_eq!(&*clip(text, limit), kept, "{text} {limit}");
        }
    }

    #[test]
    fn all_texts_of_a_request_share_their_room() {
        let mut room = Clip::default();
        let kept: usize = (0..100).map(|_| room.take(&"x".repeat(5000)).len()).sum();
        assert!(kept <= MAX_TEXTS + 100 * CUT.len_utf8(), "{kept}");
    }
}
