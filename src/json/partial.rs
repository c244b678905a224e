//! What has come of a unit of a stream (an event, an element) that is not complete yet.

/// Room that is kept for the next unit. One long unit must not make every idle stream carry its memory.
const KEPT_CAPACITY: usize = 8 << 10;

/// Collects a unit over the chunks that it was cut into, up to a limit. A unit that lies wholly in one chunk is never
/// copied here.
#[derive(Debug)]
pub(crate) struct Partial {
    bytes: Vec<u8>,
    limit: usize,
    dropping: bool,
    overflowed: bool,
}

impl Partial {
    /// Nothing yet; a unit is dropped once more than `limit` bytes of it would have to be kept.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, dropping: false, overflowed: false }
    }

    /// Whether no unit has begun.
    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !self.dropping
    }

    /// Whether a unit was dropped since the start of the stream.
    pub(crate) const fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// The chunk ends with `start` of a unit, or with some more of one.
    pub(crate) fn keep(&mut self, start: &[u8]) {
        if self.dropping || start.is_empty() {
            return;
        }
        if self.bytes.len() + start.len() > self.limit {
            self.bytes = Vec::new();
            self.dropping = true;
            self.overflowed = true;
        } else {
            self.bytes.extend_from_slice(start);
        }
    }

    /// The unit ends with `end`: gives it whole to `take`, unless it was dropped.
    pub(crate) fn complete(&mut self, end: &[u8], take: impl FnOnce(&[u8])) {
        if self.is_empty() {
            take(end);
            return;
        }
        self.keep(end);
        if !self.dropping {
            take(&self.bytes);
        }
        self.dropping = false;
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_CAPACITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(partial: &mut Partial, end: &[u8]) -> Option<Vec<u8>> {
        let mut taken = None;
        partial.complete(end, |unit| taken = Some(unit.to_vec()));
        taken
    }

    #[test]
    fn a_unit_is_joined_from_its_pieces() {
        let mut partial = Partial::new(8);
        partial.keep(b"ab");
        partial.keep(b"");
        assert!(!partial.is_empty());
        assert_eq!(completed(&mut partial, b"cd").as_deref(), Some(&b"abcd"[..]));
        assert!(partial.is_empty());
        assert_eq!(completed(&mut partial, b"e").as_deref(), Some(&b"e"[..]));
    }

    #[test]
    fn a_unit_beyond_the_limit_is_dropped_and_the_next_one_is_not() {
        let mut partial = Partial::new(4);
        partial.keep(b"abcd");
        partial.keep(b"e");
        assert!(partial.overflowed() && !partial.is_empty());
        partial.keep(b"f");
        assert_eq!(completed(&mut partial, b"g"), None);
        assert!(partial.is_empty());
        assert_eq!(completed(&mut partial, b"next").as_deref(), Some(&b"next"[..]));
        assert!(partial.overflowed());
    }

    #[test]
    fn memory_of_a_long_unit_is_given_back() {
        let mut partial = Partial::new(1 << 20);
        partial.keep(&[0; 1 << 19]);
        completed(&mut partial, b"");
        assert!(partial.bytes.capacity() <= KEPT_CAPACITY);
    }
}
