//! The request of a turn, to be sent again with more in it.
use super::Gateway;
use super::admission::Share;
use super::tap::Cut;
use crate::json::Rope;
use crate::upstream::{Answer, Call, LanePlace, RequestBody, UpstreamError};
use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::response::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Sends the legs of one answer up the way that the first one went.
pub struct LegRequest {
    gateway: Arc<Gateway>,
    /// Index into the gateway's upstreams.
    upstream: usize,
    method: Method,
    line: PathAndQuery,
    headers: HeaderMap,
    _share: Arc<Share>,
}

impl LegRequest {
    /// As `first` goes to the upstream with this index. `share`: the kept body's part of the budget.
    pub fn new(gateway: Arc<Gateway>, upstream: usize, first: &Call, share: Arc<Share>) -> Self {
        let mut headers = copied(&first.headers);
        // The next body is written here, and not compressed.
        headers.remove(CONTENT_ENCODING);
        let line = PathAndQuery::try_from(first.line.as_str()).unwrap_or_else(|_| first.line.clone());
        Self { gateway, upstream, method: first.method.clone(), line, headers, _share: share }
    }

    /// Sends `body` and waits for the answer's head.
    ///
    /// # Errors
    /// [`UpstreamError`] when none arrives.
    pub async fn send(&self, body: Rope) -> Result<(Parts, LegBody), UpstreamError> {
        let upstream =
            self.gateway.upstreams.get(self.upstream).ok_or(UpstreamError::Config("the upstream is gone"))?;
        let call = Call {
            method: self.method.clone(),
            line: self.line.clone(),
            headers: self.headers.clone(),
            body: RequestBody::rope(body),
        };
        let Answer { response, place } = upstream.send(call).await?;
        let (head, body) = response.into_parts();
        Ok((head, LegBody::new(body, place)))
    }
}

/// The same headers in memory of their own: those that a client sent are slices of its connection's read buffer, and would
/// keep all of it for as long as the answer lasts.
fn copied(headers: &HeaderMap) -> HeaderMap {
    let mut own = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let name_copy = HeaderName::from_bytes(name.as_str().as_bytes()).unwrap_or_else(|_| name.clone());
        let mut value_copy = HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| value.clone());
        value_copy.set_sensitive(value.is_sensitive());
        own.append(name_copy, value_copy);
    }
    own
}

/// The body of one leg, with its place on the way to the upstream.
#[derive(Debug)]
pub struct LegBody {
    body: Incoming,
    _place: LanePlace,
}

impl LegBody {
    /// A body that keeps `place` until it is over.
    pub fn new(body: Incoming, place: LanePlace) -> Self {
        Self { body, _place: place }
    }
}

impl Body for LegBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        Pin::new(&mut self.body).poll_frame(cx).map_err(Cut::from)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
