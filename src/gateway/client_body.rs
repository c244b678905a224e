//! The client's body: bounded, and never left lying in the socket.
//!
//! A server that answers and closes while the client still sends makes the client's system discard the answer (RFC 9112
//! section 9.6: unread data turns the close into a reset). So a body that nobody reads to its end, because the request
//! was refused or the upstream could not be reached, is read away in the background within bounds, and the client gets to
//! see the 413 or 502.
use super::pace::Pace;
use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::BoxError;

/// How much of an unread body is read away, and for how long: a client on a home line sends a large agent body in a few
/// seconds; one that goes on beyond is cut off.
const LINGER_BYTES: u64 = 128 << 20;
const LINGER_TIME: Duration = Duration::from_secs(10);

/// The body is longer than `limits.request_body`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body is larger than {limit} bytes (limits.request_body)")]
pub struct TooLarge {
    /// The limit in bytes.
    pub limit: u64,
}

/// A client's body that ends with [`TooLarge`] at the limit.
pub struct ClientBody {
    body: Body,
    limit: u64,
    left: u64,
    pace: Pace,
    /// Whether to read away what nobody read. Not with `expect: 100-continue`, where the body was not sent yet and reading
    /// would ask for it, and not once the body is over.
    linger: bool,
}

impl ClientBody {
    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The body of a request with these headers, of at most `limit` bytes, and never silent for as long as `pause`.
    ///
    /// # Errors
    /// [`TooLarge`] when its length is announced and beyond the limit.
    pub fn new(headers: &HeaderMap, body: Body, limit: u64, pause: Duration) -> Result<Self, TooLarge> {
        let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        let linger = !headers.contains_key(EXPECT);
        let body = Self { body, limit, left: limit, pace: Pace::new(pause), linger };
        if announced.is_some_and(|length| length > limit) { Err(TooLarge { limit }) } else { Ok(body) }
    }
}

impl http_body::Body for ClientBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => return self.pace.poll_wait(cx).map(|slow| Some(Err(slow.into()))),
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Ready(over) => {
                self.linger = false;
                return Poll::Ready(over.map(|error| error.map_err(Into::into)));
            }
        };
        let length = frame.data_ref().map_or(0, |data| data.len() as u64);
        match self.left.checked_sub(length) {
            Some(left) => self.left = left,
            None => return Poll::Ready(Some(Err(TooLarge { limit: self.limit }.into()))),
        }
        Poll::Ready(Some(self.pace.came(length).map(|()| frame).map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ClientBody {
    fn drop(&mut self) {
        if !self.linger || self.body.is_end_stream() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(read_away(std::mem::take(&mut self.body)));
        }
    }
}

async fn read_away(mut body: Body) {
    let reading = async {
        let mut left = LINGER_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, |data| data.len() as u64);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // Whether it ended or time was up: the answer had its chance, and nobody is left to tell.
    let _ = tokio::time::timeout(LINGER_TIME, reading).await;
}
