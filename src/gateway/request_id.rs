//! Request ids: unique across restarts, without a system call per request.
use http::header::{HeaderName, HeaderValue};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Carries the id to the client.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-hookgate-request-id");

/// Names one request in answers and logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId {
    process: u64,
    number: u64,
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hg_{:016x}{:08x}", self.process, self.number)
    }
}

impl RequestId {
    /// As a header value.
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_maybe_shared(bytes::Bytes::from(self.to_string()))
            .unwrap_or_else(|_| HeaderValue::from_static("unknown"))
    }

    #[cfg(test)]
    pub(super) const fn for_tests() -> Self {
        Self { process: 0, number: 1 }
    }
}

/// Makes ids.
#[derive(Debug)]
pub struct RequestIds {
    process: u64,
    next: AtomicU64,
}

impl RequestIds {
    /// A sequence with a random start of its own.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn new() -> Result<Self, getrandom::Error> {
        Ok(Self { process: getrandom::u64()?, next: AtomicU64::new(1) })
    }

    /// The next id.
    pub fn next(&self) -> RequestId {
        RequestId { process: self.process, number: self.next.fetch_add(1, Ordering::Relaxed) }
    }
}
