//! Request ids: unique across restarts, without a system call per request.
use http::header::{HeaderName, HeaderValue};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Carries the id to the client.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-hookgate-request-id");

const PREFIX: &[u8; 3] = b"hg_";
/// Hex digits of the process' part and of the number.
const DIGITS: usize = 24;
/// Bits of the number; what goes beyond counts on in the process' part.
const NUMBER_BITS: u32 = 32;

/// Names one request in answers and logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId {
    process: u64,
    number: u64,
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.text()).unwrap_or("unknown"))
    }
}

impl RequestId {
    /// As a header value.
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_bytes(&self.text()).unwrap_or(const { HeaderValue::from_static("unknown") })
    }

    /// Written digit by digit: every request has one, and formatting costs ten times as much.
    fn text(&self) -> [u8; PREFIX.len() + DIGITS] {
        let process = self.process.wrapping_add(self.number >> NUMBER_BITS);
        let mut rest = u128::from(process) << NUMBER_BITS | u128::from(self.number & u64::from(u32::MAX));
        let mut text = [0; PREFIX.len() + DIGITS];
        for place in text.iter_mut().rev().take(DIGITS) {
            *place = b"0123456789abcdef"[(rest & 0xf) as usize];
            rest >>= 4;
        }
        text.iter_mut().zip(PREFIX).for_each(|(place, byte)| *place = *byte);
        text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_hex_digits_of_process_and_number() {
        let id = RequestId { process: 0xff, number: 0x1_0000_002a };
        assert_eq!(id.to_string(), "hg_00000000000001000000002a");
        assert_eq!(id.header(), "hg_00000000000001000000002a");
    }
}
