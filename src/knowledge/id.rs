//! Ids of entries: the time, so that they sort by it, and chance.
use super::KnowledgeError;
use jiff::Timestamp;

/// Crockford's base32 in small letters: no i, l, o, u.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Characters of milliseconds: good until the year 10889.
const TIME: u32 = 10;
/// Characters of chance: within one millisecond one in 2^30.
const CHANCE: u32 = 6;
/// Longest id that a file may have.
pub(super) const MAX_ID: usize = 128;

/// A new id.
///
/// # Errors
/// [`KnowledgeError::Random`].
pub(super) fn new_id(now: Timestamp) -> Result<String, KnowledgeError> {
    let mut chance = [0; 4];
    getrandom::fill(&mut chance).map_err(|error| KnowledgeError::Random(error.to_string()))?;
    let time = u64::try_from(now.as_millisecond()).unwrap_or_default();
    Ok(digits(time, TIME).chain(digits(u32::from_le_bytes(chance).into(), CHANCE)).collect())
}

/// Whether an id can be a file's name and a segment of a path.
pub(super) fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=MAX_ID).contains(&text.len()) && !text.starts_with('.') && text.chars().all(plain)
}

fn digits(number: u64, count: u32) -> impl Iterator<Item = char> {
    let digit = move |place| char::from(ALPHABET[(number >> (5 * place)) as usize % ALPHABET.len()]);
    (0..count).rev().map(digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_can_name_files() {
        let id = |ms| new_id(Timestamp::from_millisecond(ms).unwrap()).unwrap();
        let ids: Vec<_> = [1, 2, 31, 32, 1_800_000_000_000, 1_800_000_000_001].map(id).into();
        assert!(ids.is_sorted(), "{ids:?}");
        assert!(ids.iter().all(|id| is_id(id) && id.len() == 16));
        assert_ne!(id(5), id(5));
        for bad in ["", ".", "..", ".x", "a/b", "a b", "ä", &"x".repeat(MAX_ID + 1)] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
