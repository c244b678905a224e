//! How long a request takes, and how much of it is the gateway's own time.
use crate::dialect::DialectId;
use crate::telemetry::names;
use http::{HeaderName, HeaderValue};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Tells the client the gateway's own time, in microseconds; only with `telemetry.overhead_header`.
pub const OVERHEAD_HEADER: HeaderName = HeaderName::from_static("x-hookgate-overhead-us");

/// One request's.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    dialect: DialectId,
    /// Time in which others were waited for: the client with its body, the upstream. In nanoseconds.
    elsewhere: AtomicU64,
}

impl Clock {
    /// From now on.
    pub fn start(dialect: DialectId) -> Self {
        Self { started: Instant::now(), dialect, elsewhere: AtomicU64::new(0) }
    }

    /// Waits for somebody else.
    pub async fn elsewhere<T>(&self, work: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let done = work.await;
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.elsewhere.fetch_add(took, Ordering::Relaxed);
        done
    }

    /// The answer's head is there: the gateway's own time until now, which is counted.
    pub fn answered(&self) -> Duration {
        let own = self.started.elapsed().saturating_sub(Duration::from_nanos(self.elsewhere.load(Ordering::Relaxed)));
        metrics::histogram!(names::OVERHEAD_SECONDS, "dialect" => self.dialect.name()).record(own);
        own
    }

    /// To be kept until the last byte of the answer.
    pub fn until_the_end(&self) -> Lifetime {
        Lifetime { started: self.started, dialect: self.dialect }
    }
}

/// A gateway's own time as the header says it.
pub fn overhead(own: Duration) -> HeaderValue {
    HeaderValue::from(u64::try_from(own.as_micros()).unwrap_or(u64::MAX))
}

/// Counts the whole time of a request when it is over.
#[derive(Debug)]
pub struct Lifetime {
    started: Instant,
    dialect: DialectId,
}

impl Drop for Lifetime {
    fn drop(&mut self) {
        metrics::histogram!(names::REQUEST_SECONDS, "dialect" => self.dialect.name()).record(self.started.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn time_in_which_others_are_waited_for_is_not_the_gateways_own() {
        let clock = Clock::start(DialectId::Chat);
        clock.elsewhere(async { std::thread::sleep(Duration::from_millis(50)) }).await;
        assert!(clock.answered() < clock.started.elapsed().saturating_sub(Duration::from_millis(49)));
    }

    #[test]
    fn the_header_counts_microseconds() {
        assert_eq!(overhead(Duration::from_micros(1500)), "1500");
    }
}
