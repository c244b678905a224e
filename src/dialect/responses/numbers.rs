//! Sequence numbers of a stream that leaves events out.

/// The sequence numbers that go down.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) last: Option<u64>,
    /// They are not the upstream's any more.
    pub(super) own: bool,
}

impl Numbers {
    /// The number of an event that has this one.
    pub(super) fn next(&mut self, number: u64) -> u64 {
        let next = self.last.filter(|_| self.own).map_or(number, |last| last.saturating_add(1));
        self.last = Some(next);
        next
    }
}
