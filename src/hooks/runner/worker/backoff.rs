//! How long a process that ended stays down.
use std::time::Duration;

/// The first delay: a crash costs a few requests their hook, not a core.
const FIRST: Duration = Duration::from_millis(100);

/// The longest delay: what was repaired runs again before somebody has looked up how to restart it.
const LONGEST: Duration = Duration::from_secs(10);

/// Doubles with every end, until the process has answered once.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    ends: u32,
}

impl Backoff {
    /// The delay after one more end.
    pub(super) fn next(&mut self) -> Duration {
        let delay = FIRST.saturating_mul(1_u32.checked_shl(self.ends).unwrap_or(u32::MAX)).min(LONGEST);
        self.ends += 1;
        delay
    }

    /// The process works.
    pub(super) fn reset(&mut self) {
        self.ends = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_up_to_ten_seconds_and_begins_anew() {
        let mut backoff = Backoff::default();
        let delays: Vec<u128> = (0..9).map(|_| backoff.next().as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        backoff.ends = 40;
        assert_eq!(backoff.next(), LONGEST);
        backoff.reset();
        assert_eq!(backoff.next(), FIRST);
    }
}
